package gateway

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// library is a server with resources, templates, prompts, logs and completions; it answers
// each request with its own name. Its tool shows a link.
func library(name string, uris, templates []string, link string) *server {
	s := &server{name: name}
	s.era = toolServer(name).era
	s.hello = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{"subscribe":true},"prompts":{},"logging":{},"completions":{}},"serverInfo":{"name":"` + name + `","version":"1"}}`
	elements := func(member string, all []string) string {
		var list []string
		for _, u := range all {
			list = append(list, fmt.Sprintf(`{%q:%q,"name":"n"}`, member, u))
		}
		return strings.Join(list, ",")
	}
	s.serve = func(_ context.Context, _ *conn, m mcp.Message, _ func(string)) (string, error) {
		switch m.Method {
		case "resources/list":
			return `{"resources":[` + elements("uri", uris) + `]}`, nil
		case "resources/templates/list":
			return `{"resourceTemplates":[` + elements("uriTemplate", templates) + `]}`, nil
		case "prompts/list":
			return `{"prompts":[{"name":"p"}]}`, nil
		case "tools/list":
			return `{"tools":[{"name":"show","inputSchema":{"type":"object"}}]}`, nil
		case "tools/call":
			return `{"content":[{"type":"resource_link","uri":"` + link + `","name":"l"}]}`, nil
		}
		return fmt.Sprintf(`{"by":%q}`, name), nil
	}
	return s
}

func TestResourcesLeadToTheirUpstream(t *testing.T) {
	a := library("a", []string{"x://a", "x://both"}, []string{"t://a/{id}", "t://{+any}"}, "l://a")
	b := library("b", []string{"x://b", "x://both"}, []string{"t://b/{id}", "u://b{?q}"}, "l://b")
	r := newRig(t, Options{}, a, b)
	k := r.stdio(newCaller(t, "local", everything, nil))
	k.initialize()
	by := func(method, params string) string {
		t.Helper()
		got := k.call(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s}}`, method, params))
		if who, ok := get(t, got, "result", "by").(string); ok {
			return who
		}
		return fmt.Sprint(get(t, got, "error", "code"))
	}
	list := k.call(`{"jsonrpc":"2.0","id":1,"method":"resources/list"}`)
	if strings.Contains(list, "both") || !strings.Contains(list, "x://a") || !strings.Contains(list, "x://b") {
		t.Errorf("got %s", list)
	}
	for uri, want := range map[string]string{
		"x://a": "a", "x://b": "b", "x://both": "-32002", "t://a/1": "a", "u://b?q=1": "b", "u://b": "b",
		"t://b/1": "-32002", // two templates fit
		"l://a":   "-32002", // not seen yet
		"z://z":   "-32002",
	} {
		if got := by("resources/read", fmt.Sprintf(`"uri":%q`, uri)); got != want {
			t.Errorf("%s leads to %s, want %s", uri, got, want)
		}
	}
	for _, u := range []string{"a", "b"} {
		k.call(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s__show","arguments":{}}}`, u))
		if got := by("resources/read", `"uri":"l://`+u+`"`); got != u {
			t.Errorf("a link of %s leads to %s", u, got)
		}
	}
	for params, want := range map[string]string{
		`"ref":{"type":"ref/prompt","name":"b__p"},"argument":{"name":"x","value":"y"}`:         "b",
		`"ref":{"type":"ref/resource","uri":"t://b/{id}"},"argument":{"name":"id","value":"y"}`: "b", // B046
		`"ref":{"type":"ref/resource","uri":"x://a"},"argument":{"name":"id","value":"y"}`:      "a",
		`"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"x","value":"y"}`:            "-32602",
	} {
		if got := by("completion/complete", params); got != want {
			t.Errorf("completion of %s by %s, want %s", params, got, want)
		}
	}
	if !b.saw(`"ref":{"type":"ref/prompt","name":"p"}`) {
		t.Error("the prompt's own name did not reach its server")
	}
	if got := by("prompts/get", `"name":"b__p"`); got != "b" {
		t.Errorf("got %s", got)
	}

	// What was said to all, and what was subscribed to, is said again to one that comes back.
	if got := k.call(`{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"warning"}}`); !strings.Contains(got, `"result":{}`) {
		t.Errorf("got %s", got)
	}
	if got := by("resources/subscribe", `"uri":"x://b"`); got != "b" {
		t.Errorf("got %s", got)
	}
	before := len(b.received())
	b.last(t).die(nil)
	if got := by("resources/read", `"uri":"x://b"`); got != "b" && got != "-32603" {
		t.Errorf("got %s", got)
	}
	eventually(t, "it is told again", func() bool {
		again := strings.Join(b.received()[before:], "\n")
		return strings.Contains(again, `"level":"warning"`) && strings.Contains(again, methodSubscribe) && strings.Contains(again, methodInitialized)
	})
	b.last(t).tell(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x://b"}}`)
	for k.next() != `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x://b"}}` {
	}
	if got := by("resources/unsubscribe", `"uri":"x://b"`); got != "b" {
		t.Errorf("got %s", got)
	}
	k.close()
}

// B036: all pages of an upstream are seen; one that gives the same cursor again is not
// followed for ever, and its entries are absent.
func TestB036PagesAreFollowed(t *testing.T) {
	a, b := toolServer("a"), toolServer("b")
	paged := func(next func(cursor string) string) func(context.Context, *conn, mcp.Message, func(string)) (string, error) {
		return func(_ context.Context, _ *conn, m mcp.Message, _ func(string)) (string, error) {
			cursor, _ := param(m, "cursor")
			return fmt.Sprintf(`{"tools":[{"name":"t%s","inputSchema":{"type":"object"}}],"nextCursor":%s}`, cursor, next(cursor)), nil
		}
	}
	a.serve = paged(func(cursor string) string {
		return map[string]string{"": `"1"`, "1": `"2"`, "2": `""`}[cursor]
	})
	b.serve = paged(func(string) string { return `"1"` })
	r := newRig(t, Options{}, a, b)
	k := r.stdio(newCaller(t, "local", everything, nil))
	k.initialize()
	k.wants(k.call(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`),
		`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a__t","inputSchema":{"type":"object"}},{"name":"a__t1","inputSchema":{"type":"object"}},{"name":"a__t2","inputSchema":{"type":"object"}}]}}`)
	k.close()
	if n := strings.Count(strings.Join(b.received(), "\n"), "tools/list"); n > 3 {
		t.Errorf("%d pages were asked for", n)
	}
}

// A task's requests go to the upstream that began it, and its progress goes on under the
// client's token.
func TestTasksLeadToTheirUpstream(t *testing.T) {
	a, b := toolServer("a", "long"), toolServer("b", "long")
	for _, s := range []*server{a, b} {
		s.hello = strings.Replace(s.hello, `"tools":{"listChanged":true}`, `"tools":{"listChanged":true},"tasks":{"list":{},"requests":{"tools":{"call":{}}}}`, 1)
		serve := s.serve
		s.serve = func(ctx context.Context, c *conn, m mcp.Message, about func(string)) (string, error) {
			task := fmt.Sprintf(`"taskId":"of-%s","status":"working","createdAt":"2025-11-25T10:30:00Z","lastUpdatedAt":"2025-11-25T10:30:00Z","ttl":60000`, s.name)
			switch m.Method {
			case "tools/call":
				return `{"task":{` + task + `}}`, nil
			case "tasks/get":
				return `{` + task + `}`, nil
			case "tasks/list":
				return `{"tasks":[{` + task + `},{"taskId":"of another client","status":"working"}]}`, nil
			}
			return serve(ctx, c, m, about)
		}
	}
	r := newRig(t, Options{}, a, b)
	k := r.stdio(newCaller(t, "local", everything, nil))
	k.initialize()
	for _, u := range []string{"a", "b"} {
		got := k.call(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s__long","arguments":{},"task":{"ttl":60000},"_meta":{"progressToken":"for %s"}}}`, u, u))
		if get(t, got, "result", "task", "taskId") != "of-"+u {
			t.Fatalf("got %s", got)
		}
		got = k.call(`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"of-` + u + `"}}`)
		if get(t, got, "result", "taskId") != "of-"+u {
			t.Errorf("got %s", got)
		}
	}
	list := k.call(`{"jsonrpc":"2.0","id":1,"method":"tasks/list"}`)
	if get(t, list, "result", "tasks", 0, "taskId") != "of-a" || get(t, list, "result", "tasks", 1, "taskId") != "of-b" || get(t, list, "result", "tasks", 2) != nil {
		t.Errorf("got %s", list)
	}
	var token string
	for _, m := range b.received() {
		if strings.Contains(m, "tools/call") {
			token = string(progressToken(message(m)))
		}
	}
	b.last(t).tell(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + token + `,"progress":1}}`)
	k.wants(k.next(), `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"for b","progress":1}}`)
	other := r.stdio(newCaller(t, "other", everything, nil))
	other.initialize()
	if got := other.call(`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"of-a"}}`); fmt.Sprint(get(t, got, "error", "code")) != "-32602" {
		t.Errorf("another client's task: %s", got)
	}
	other.close()
	k.close()
}

// What two upstreams have shown leads to neither.
func TestALinkOfTwoUpstreamsIsInDoubt(t *testing.T) {
	a, b := library("a", nil, nil, "l://same"), library("b", nil, nil, "l://same")
	r := newRig(t, Options{}, a, b)
	k := r.stdio(newCaller(t, "local", everything, nil))
	k.initialize()
	for _, u := range []string{"a", "b"} {
		k.call(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s__show","arguments":{}}}`, u))
	}
	if got := k.call(`{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"l://same"}}`); fmt.Sprint(get(t, got, "error", "code")) != "-32002" {
		t.Errorf("got %s", got)
	}
	k.close()
	if a.saw("resources/read") || b.saw("resources/read") {
		t.Error("a server was asked")
	}
}

// A list that changed while it was read is read again by the next who needs it.
func TestAListThatChangesMeanwhileIsNotKept(t *testing.T) {
	a, b := library("a", []string{"x://a"}, nil, ""), library("b", nil, nil, "")
	serve := a.serve
	var lists int
	a.serve = func(ctx context.Context, c *conn, m mcp.Message, about func(string)) (string, error) {
		if m.Method == "resources/list" {
			if lists++; lists == 1 {
				c.tell(`{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}`)
			}
		}
		return serve(ctx, c, m, about)
	}
	r := newRig(t, Options{}, a, b)
	k := r.stdio(newCaller(t, "local", everything, nil))
	k.initialize()
	for range 3 {
		k.call(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"x://a"}}`)
	}
	k.close()
	if lists != 2 {
		t.Errorf("the list was read %d times, want twice", lists)
	}
}

// What a session remembers of URIs is bounded, in number and in bytes.
func TestWhatIsRememberedOfURIsIsBounded(t *testing.T) {
	long := "l://" + strings.Repeat("x", maxKept)
	a, b := library("a", []string{"x://a"}, []string{"t://a/{id}"}, long), library("b", nil, nil, "l://b")
	r := newRig(t, Options{}, a, b)
	k := r.stdio(newCaller(t, "local", everything, nil))
	k.initialize()
	subscribe := func(uri string) string {
		return fmt.Sprint(get(t, k.call(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":%q}}`, uri)), "error", "code"))
	}
	for i := range maxSubscribed {
		if got := subscribe(fmt.Sprintf("t://a/%d", i)); got != "<nil>" {
			t.Fatalf("subscription %d got %s", i, got)
		}
	}
	if got := subscribe("t://a/more"); got != "-32602" {
		t.Errorf("one more got %s", got)
	}
	if got := subscribe("t://a/1"); got != "<nil>" {
		t.Errorf("one that is there got %s", got)
	}
	k.call(`{"jsonrpc":"2.0","id":1,"method":"resources/unsubscribe","params":{"uri":"t://a/1"}}`)
	if got := subscribe("t://a/" + strings.Repeat("y", maxKept)); got != "-32602" {
		t.Errorf("a long one got %s", got)
	}
	if got := subscribe("t://a/more"); got != "<nil>" {
		t.Errorf("one in the place of another got %s", got)
	}
	k.call(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a__show","arguments":{}}}`)
	s := r.only()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.catalogue.links) != 0 {
		t.Error("a URI of any length is remembered")
	}
}
