package gateway

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/internal/mcp"
)

const noLook = `
p:
  default: allow
  hide_denied_tools: true
  rules:
    - {name: no-look, effect: deny, tools: [b__look]}
`

// B075: rules are about the name that the client sees; what they deny is not listed, and is
// refused by name as what they deny.
func TestB075HiddenIsRefusedAsDenied(t *testing.T) {
	a, b := toolServer("a", "look"), toolServer("b", "look", "other")
	r := newRig(t, Options{}, a, b)
	k := r.stdio(newCaller(t, "local", noLook, nil))
	k.initialize()
	list := k.call(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if strings.Contains(list, "b__look") || !strings.Contains(list, "b__other") || !strings.Contains(list, "a__look") {
		t.Errorf("got %s", list)
	}
	got := k.call(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"b__look"}}`)
	if text, _ := get(t, got, "result", "content", 0, "text").(string); !strings.HasPrefix(text, "[sallyport blocked]") || get(t, got, "result", "isError") != true {
		t.Errorf("got %s", got)
	}
	// B076: a variant of the name is another name.
	got = k.call(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"b__LOOK"}}`)
	if get(t, got, "result", "isError") != true {
		t.Errorf("got %s", got)
	}
	k.close()
	if b.saw("tools/call") {
		t.Error("a denied call reached the server")
	}
}

// Where a policy hides what it denies, calling does not tell what exists: neither a tool, nor
// an upstream, nor a prompt.
func TestRefusalsDoNotTellWhatIsHidden(t *testing.T) {
	r := newRig(t, Options{}, toolServer("a", "look", "secret"), library("b", nil, nil, ""))
	k := r.stdio(newCaller(t, "local", `
p:
  hide_denied_tools: true
  hide_denied_prompts: true
  rules: [{name: looks, effect: allow, tools: [a__look]}]
`, nil))
	k.initialize()
	for method, names := range map[string][]string{
		"tools/call":  {"a__secret", "a__absent", "b__show", "b__absent", "absent", "c__show"},
		"prompts/get": {"b__p", "b__absent", "a__absent", "absent"},
	} {
		first := ""
		for _, name := range names {
			got := k.call(`{"jsonrpc":"2.0","id":2,"method":"` + method + `","params":{"name":"` + name + `"}}`)
			got = strings.ReplaceAll(got, "'"+name+"'", "'NAME'")
			got = regexp.MustCompile(`"call":\d+`).ReplaceAllString(got, `"call":0`)
			if first == "" {
				first = got
			}
			if got != first || !strings.Contains(got, "[sallyport blocked]") {
				t.Errorf("%s %s: %s\nand %s: %s", method, names[0], first, name, got)
			}
		}
	}
	k.close()
}

// What nobody has is an error of the protocol, and on record.
func TestUnknownNamesAreRecorded(t *testing.T) {
	at := filepath.Join(t.TempDir(), "audit.jsonl")
	log, err := audit.Open(at, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	r := newRig(t, Options{Audit: log}, toolServer("a", "look"), toolServer("b", "look"))
	k := r.stdio(newCaller(t, "local", everything, nil))
	k.initialize()
	for i, c := range []struct{ method, params, code string }{
		{"tools/call", `"name":"nobody"`, "-32602"},
		{"prompts/get", `"name":"nobody"`, "-32602"},
		{"resources/read", `"uri":"x://nobody"`, "-32002"},
		{"tasks/get", `"taskId":"strange"`, "-32602"},
		{"server/discover", ``, "-32601"},
		{"made/up", ``, "-32601"},
	} {
		got := k.call(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`, i, c.method, c.params))
		if code := fmt.Sprint(get(t, got, "error", "code")); code != c.code {
			t.Errorf("%s: %s", c.method, got)
		}
	}
	k.close()
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	text := readFile(t, at)
	for _, target := range []string{"nobody", "x://nobody", "strange", "server/discover", "made/up"} {
		if !strings.Contains(text, `"target":"`+target+`"`) {
			t.Errorf("the refusal of %s is not on record", target)
		}
	}
	if strings.Count(text, `"outcome":"denied"`) < 6 {
		t.Errorf("got %s", text)
	}
}

func TestReload(t *testing.T) {
	doubts := sallyport.NewDoubts(sallyport.DoubtOptions{})
	a, b, c := toolServer("a", "look"), toolServer("b", "look", "slow"), toolServer("c", "look")
	serve := b.serve
	started, go_ := make(chan struct{}), make(chan struct{})
	b.serve = func(ctx context.Context, k *conn, m mcp.Message, about func(string)) (string, error) {
		if m.Method == "tools/call" && strings.Contains(string(m.Params), "slow") {
			close(started)
			<-go_
		}
		return serve(ctx, k, m, about)
	}
	r := newRig(t, Options{}, a, b)
	ann, bob := r.stdio(newCaller(t, "ann", everything, doubts)), r.stdio(newCaller(t, "bob", everything, doubts))
	ann.initialize()
	bob.initialize()
	ann.send(`{"jsonrpc":"2.0","id":"open","method":"tools/call","params":{"name":"b__slow"}}`)
	<-started

	// b goes, c comes, bob may not call any more, ann may not look at a.
	o := r.setup.Load().Options
	o.Upstreams = append(o.Upstreams[:1:1], r.upstreams(c)...)
	narrow := newCaller(t, "ann", strings.ReplaceAll(noLook, "b__look", "a__look"), doubts)
	r.servers = append(r.servers, c)
	if err := r.Reload(t.Context(), o, func(name string) (Caller, bool) { return narrow, name == "ann" }); err != nil {
		t.Fatal(err)
	}
	eventually(t, "bob's session ends", func() bool { return b.closedConns() >= 1 })
	ann.wants(ann.next(), `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	close(go_)
	for done := false; !done; {
		line := ann.next()
		if strings.Contains(line, `"id":"open"`) {
			if !strings.Contains(line, "b ran") {
				t.Errorf("a call that was accepted lost its answer: %s", line)
			}
			done = true
		}
	}
	list := ann.call(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if strings.Contains(list, "a__look") || strings.Contains(list, "b__") || !strings.Contains(list, "c__look") {
		t.Errorf("got %s", list)
	}
	if got := ann.call(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a__look"}}`); get(t, got, "result", "isError") != true {
		t.Errorf("got %s", got)
	}
	if got := ann.call(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"c__look"}}`); !strings.Contains(got, "c ran") {
		t.Errorf("got %s", got)
	}
	eventually(t, "what was removed is closed", func() bool { return b.closedConns() == 2 })
	ann.close()
}
