package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/upstream"
)

// toolNames are the names of a tools/list answer, in order.
func toolNames(t *testing.T, answer string) string {
	t.Helper()
	list, ok := get(t, answer, "result", "tools").([]any)
	if !ok {
		t.Fatalf("no list: %s", answer)
	}
	var all []string
	for _, e := range list {
		name, _ := e.(map[string]any)["name"].(string)
		all = append(all, name)
	}
	return strings.Join(all, " ")
}

// B024: a tool whose schema clients stumble over is passed on as it is, and hides no other.
func TestB024OddSchemasHideNothing(t *testing.T) {
	for _, schema := range []string{`{"anyOf":[{"type":"object"},{"type":"object"}]}`, `{"$schema":"https://json-schema.org/draft/2020-12/schema"}`, `true`, `null`} {
		odd := `{"name":"odd","inputSchema":` + schema + `}`
		elements := []string{`{"name":"x","inputSchema":{"type":"object"}}`, odd, `{"name":"y","inputSchema":{"type":"object"}}`, `{"name":"z","inputSchema":{"type":"object"}}`}
		a := toolServer("a")
		serve := a.serve
		a.serve = func(ctx context.Context, c *conn, m mcp.Message, about func(string)) (string, error) {
			if m.Method == "tools/list" {
				return `{"tools":[` + strings.Join(elements, ",") + `]}`, nil
			}
			return serve(ctx, c, m, about)
		}
		k := newRig(t, Options{}, a).stdio(newCaller(t, "local", everything, nil))
		k.initialize()
		k.wants(k.call(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`), `{"jsonrpc":"2.0","id":1,"result":{"tools":[`+strings.Join(elements, ",")+`]}}`)
		k.close()

		k = newRig(t, Options{}, a, toolServer("b", "look")).stdio(newCaller(t, "local", everything, nil))
		k.initialize()
		list := k.call(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		if got := toolNames(t, list); got != "a__x a__odd a__y a__z b__look" || !strings.Contains(list, `"inputSchema":`+schema+`}`) {
			t.Errorf("%s: %s", schema, list)
		}
		if got := k.call(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a__z","arguments":{}}}`); !strings.Contains(got, "a ran") {
			t.Errorf("%s: %s", schema, got)
		}
		k.close()
	}
}

// pagedServer lists n tools in pages.
func pagedServer(name string, n, page int) *server {
	s := toolServer(name)
	serve := s.serve
	s.serve = func(ctx context.Context, c *conn, m mcp.Message, about func(string)) (string, error) {
		if m.Method != "tools/list" {
			return serve(ctx, c, m, about)
		}
		from := 0
		if cursor, ok := param(m, "cursor"); ok {
			if _, err := fmt.Sscanf(cursor, "from %d", &from); err != nil {
				return "", rpcError{mcp.CodeInvalidParams, "no such cursor"}
			}
		}
		var list []string
		for i := from; i < min(n, from+page); i++ {
			list = append(list, fmt.Sprintf(`{"name":"t%d","inputSchema":{"type":"object"}}`, i))
		}
		next, more := "", ""
		if from+page < n {
			next = fmt.Sprintf(`,"nextCursor":"from\u0020%d"`, from+page)
		}
		if s.era == upstream.Stateless {
			more = `"resultType":"complete","ttlMs":60000,"cacheScope":"public",`
		}
		return `{` + more + `"tools":[` + strings.Join(list, ",") + `]` + next + `}`, nil
	}
	return s
}

// B036: three pages of thirty, with one upstream and two, in both eras: nothing is cut off,
// and the last tool can be called.
func TestB036EveryPageIsReached(t *testing.T) {
	for _, ups := range []int{1, 2} {
		want, last := 90, "t89"
		if ups == 2 {
			want, last = 91, "a__t89"
		}
		t.Run(fmt.Sprintf("handshake, %d", ups), func(t *testing.T) {
			servers := []*server{pagedServer("a", 90, 30), toolServer("b", "look")}[:ups]
			k := newRig(t, Options{}, servers...).stdio(newCaller(t, "local", everything, nil))
			k.initialize()
			names, cursor := 0, ""
			for range 9 {
				list := k.call(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + cursor + `}}`)
				names += len(strings.Fields(toolNames(t, list)))
				next, more := get(t, list, "result", "nextCursor").(string)
				if !more {
					break
				}
				cursor = fmt.Sprintf(`"cursor":%q`, next)
			}
			if names != want {
				t.Errorf("%d tools, want %d", names, want)
			}
			if got := k.call(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"` + last + `"}}`); !strings.Contains(got, "a ran") {
				t.Errorf("a tool of the last page: %s", got)
			}
			k.close()
		})
		t.Run(fmt.Sprintf("stateless, %d", ups), func(t *testing.T) {
			servers := []*server{pagedServer("a", 90, 30).stateless(), toolServer("b", "look").stateless()}[:ups]
			s := newRig(t, Options{}, servers...).overHTTP(newCaller(t, "ann", everything, nil))
			names, cursor := 0, ""
			for range 9 {
				list := modern(t, s.URL, "ann", `1`, "tools/list", cursor).body
				names += len(strings.Fields(toolNames(t, list)))
				if get(t, list, "result", "cacheScope") != "private" {
					t.Errorf("a page that others may keep: %s", list)
				}
				next, more := get(t, list, "result", "nextCursor").(string)
				if !more {
					break
				}
				cursor = fmt.Sprintf(`"cursor":%q`, next)
			}
			if names != want {
				t.Errorf("%d tools, want %d", names, want)
			}
			if got := modern(t, s.URL, "ann", `2`, "tools/call", `"name":"`+last+`"`, "Mcp-Name", last); !strings.Contains(got.body, "a ran") {
				t.Errorf("a tool of the last page: %s", got.body)
			}
		})
	}
}

// B038: clients that read one page see all that several upstreams have.
func TestB038MergedListsAreOnePage(t *testing.T) {
	r := newRig(t, Options{}, pagedServer("a", 80, 30), pagedServer("b", 40, 30))
	k := r.stdio(newCaller(t, "local", everything, nil))
	k.initialize()
	list := k.call(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if n := len(strings.Fields(toolNames(t, list))); n != 120 || get(t, list, "result", "nextCursor") != nil {
		t.Errorf("%d tools on the first page: %v", n, get(t, list, "result", "nextCursor"))
	}
	k.close()
}

// B040: a name that is too long with its prefix is listed shorter, and called by that or in
// full. Rules are about the full one, and the log says both. Without a prefix nothing is too
// long.
func TestB040LongNames(t *testing.T) {
	alias, long, denied := strings.Repeat("u", 30), strings.Repeat("n", 40), strings.Repeat("n", 39)+"d"
	a := toolServer(alias, long, denied, "short")
	r := newRig(t, Options{}, a, toolServer("b", "look"))
	k := r.stdio(newCaller(t, "local", `
p:
  rules:
    - {name: not-this, effect: deny, tools: ["`+alias+`__`+denied+`"]}
    - {name: this, effect: allow, tools: ["`+alias+`__`+long+`"]}
`, nil))
	k.initialize()
	names := strings.Fields(toolNames(t, k.call(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)))
	if len(names) != 4 || names[2] != alias+"__short" {
		t.Fatalf("got %s", names)
	}
	for _, n := range names {
		if len(n) > 64 || !strings.HasPrefix(n, alias+"__n") && n != names[2] && n != "b__look" {
			t.Errorf("%s is listed", n)
		}
	}
	call := func(name string) string {
		return k.call(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"` + name + `","arguments":{}}}`)
	}
	for name, want := range map[string]string{
		names[0]:                         `"tool":"` + long + `"`,
		alias + "__" + long:              `"tool":"` + long + `"`,
		names[1]:                         "rule 'not-this'",
		alias + "__" + denied:            "rule 'not-this'",
		names[0][:50]:                    "[sallyport blocked]", // no other spelling
		names[0][:len(names[0])-1] + "v": "[sallyport blocked]",
	} {
		if got := call(name); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	for _, m := range a.received() {
		if m := message(m); m.Method == "tools/call" {
			if name, _ := param(m, "name"); name != long {
				t.Errorf("%s reached the server", name)
			}
		}
	}
	if log := r.log.String(); !strings.Contains(log, alias+"__"+long) || !strings.Contains(log, names[0]) || !strings.Contains(log, "a shorter name for the upstream") {
		t.Error("the log does not say so")
	}
	k.close()

	k = newRig(t, Options{}, a).stdio(newCaller(t, "local", everything, nil))
	k.initialize()
	if got := toolNames(t, k.call(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)); got != long+" "+denied+" short" {
		t.Errorf("got %s", got)
	}
	k.close()
}

// B041: a name leads to the same tool in whatever order things are listed; names are not
// made alike, so those that differ never collide.
func TestB041NamesDoNotDependOnOrder(t *testing.T) {
	prefix := strings.Repeat("p", 60)
	names := []string{"get-user", "get_user", prefix + "1", prefix + "2"}
	var back atomic.Bool
	a := toolServer("a")
	serve := a.serve
	a.serve = func(ctx context.Context, c *conn, m mcp.Message, about func(string)) (string, error) {
		if m.Method != "tools/list" {
			return serve(ctx, c, m, about)
		}
		var list []string
		for i := range names {
			n := names[i]
			if back.Load() {
				n = names[len(names)-1-i]
			}
			list = append(list, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, n))
		}
		return `{"tools":[` + strings.Join(list, ",") + `]}`, nil
	}
	r := newRig(t, Options{}, a, toolServer("b", "get_user"))
	k := r.stdio(newCaller(t, "local", everything, nil))
	k.initialize()
	check := func(want string) {
		t.Helper()
		if got := toolNames(t, k.call(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		for _, n := range names {
			got := k.call(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a__` + n + `","arguments":{}}}`)
			if get(t, got, "result", "structuredContent", "tool") != n {
				t.Errorf("a__%s leads to %s", n, got)
			}
		}
	}
	check("a__" + strings.Join(names, " a__") + " b__get_user")
	back.Store(true)
	a.last(t).tell(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	k.wants(k.next(), `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	check("a__" + names[3] + " a__" + names[2] + " a__get_user a__get-user b__get_user")
	k.close()
}

// B042: a list that failed is no empty list: the next who asks gets what is there then.
func TestB042AFailedListIsAskedForAgain(t *testing.T) {
	fails, a := true, toolServer("a", "look")
	serve := a.serve
	a.serve = func(ctx context.Context, c *conn, m mcp.Message, about func(string)) (string, error) {
		if m.Method == "tools/list" && fails {
			fails = false
			return "", errors.New("it hangs")
		}
		return serve(ctx, c, m, about)
	}
	r := newRig(t, Options{}, a, toolServer("b", "look"))
	k := r.stdio(newCaller(t, "local", everything, nil))
	k.initialize()
	if got := toolNames(t, k.call(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)); got != "b__look" {
		t.Errorf("got %s", got)
	}
	if !strings.Contains(r.log.String(), "an upstream's entries are absent") {
		t.Error("the log does not say that something is missing")
	}
	if got := toolNames(t, k.call(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)); got != "a__look b__look" {
		t.Errorf("got %s", got)
	}

	// It comes back with other tools: those are listed.
	a.serve = toolServer("a", "other").serve
	a.last(t).die(nil)
	eventually(t, "the new tools are listed", func() bool {
		return toolNames(t, k.call(`{"jsonrpc":"2.0","id":3,"method":"tools/list"}`)) == "a__other b__look"
	})
	k.close()
}

// B043: upstreams are opened at once, the client is answered in time whatever hangs, and
// what is late is announced.
func TestB043SlowUpstreamsKeepNobodyWaiting(t *testing.T) {
	come, all := make(chan struct{}), []*server{toolServer("a", "x"), toolServer("b", "x"), toolServer("c", "x"), toolServer("late", "x"), toolServer("dead", "x")}
	all[3].greet = func(ctx context.Context) error {
		select {
		case <-come:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	all[4].greet = func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	r := newRig(t, Options{StartTimeout: 300 * time.Millisecond}, all...)
	k := r.stdio(newCaller(t, "local", everything, nil))
	start := time.Now()
	k.initialize()
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("the client waited %v", took)
	}
	if got := toolNames(t, k.call(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)); got != "a__x b__x c__x" {
		t.Errorf("got %s", got)
	}
	close(come)
	k.wants(k.next(), `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	if got := toolNames(t, k.call(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)); got != "a__x b__x c__x late__x" {
		t.Errorf("got %s", got)
	}
	k.close()
}
