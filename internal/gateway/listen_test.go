package gateway

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// listening makes a stateless server honour what is listened for. Its changes are sent with
// change, to all that listen.
func listening(name string, more string) (s *server, change func(raw string)) {
	s = toolServer(name, "look")
	s.hello = strings.Replace(s.hello, `"tools":{"listChanged":true}`, `"tools":{"listChanged":true},"resources":{"subscribe":true}`, 1)
	s.stateless()
	type listener struct {
		id    string
		about func(string)
	}
	var all []listener
	serve := s.serve
	s.serve = func(ctx context.Context, c *conn, m mcp.Message, about func(string)) (string, error) {
		switch m.Method {
		case "resources/list":
			return `{"resources":[{"uri":"` + name + `://one","name":"one"}]}`, nil
		case "resources/templates/list":
			return `{"resourceTemplates":[]}`, nil
		case methodListen:
			f, _ := mcp.Fields(m.Params, "notifications")
			s.mu.Lock()
			all = append(all, listener{m.ID.Raw(), about})
			s.mu.Unlock()
			about(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":%s}}`, m.ID.Raw(), f[0]))
			<-ctx.Done()
			return "", ctx.Err()
		}
		return serve(ctx, c, m, about)
	}
	return s, func(raw string) {
		s.mu.Lock()
		to := append([]listener(nil), all...)
		s.mu.Unlock()
		for _, l := range to {
			l.about(fmt.Sprintf(raw, l.id))
		}
	}
}

// listen opens a subscription and returns its events.
func listen(t *testing.T, url, caller, id, filter string) (next func() string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	q, _ := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"subscriptions/listen","params":{%s,"notifications":%s}}`, id, modernMeta, filter)))
	for k, v := range map[string]string{"Authorization": "Bearer " + caller, "Content-Type": "application/json", "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": mcp.V20260728, "Mcp-Method": methodListen} {
		q.Header.Set(k, v)
	}
	p, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	s := bufio.NewScanner(p.Body)
	return func() string {
			for s.Scan() {
				if data, ok := strings.CutPrefix(s.Text(), "data: "); ok {
					return data
				}
			}
			return ""
		}, func() {
			cancel()
			p.Body.Close()
		}
}

func TestSubscriptionsOfOneUpstream(t *testing.T) {
	up, change := listening("a", "")
	r := newRig(t, Options{}, up)
	s := r.overHTTP(newCaller(t, "ann", everything, nil))
	next, stop := listen(t, s.URL, "ann", `"sub"`, `{"toolsListChanged":true}`)
	defer stop()
	want := `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"sub"},"notifications":{"toolsListChanged":true}}}`
	if got := next(); got != want {
		t.Fatalf("got %s", got)
	}
	change(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s,"x":1}}}`)
	if got := next(); got != `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"sub","x":1}}}` {
		t.Fatalf("got %s", got)
	}
	r.Quiet()
	if got := next(); got != `{"jsonrpc":"2.0","id":"sub","result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":"sub"}}}` {
		t.Fatalf("got %s", got)
	}
	eventually(t, "the server hears of the end", func() bool { return up.saw(methodCancelled) })
}

func TestSubscriptionsOfManyUpstreamsAreOne(t *testing.T) {
	a, changeA := listening("a", "")
	b, changeB := listening("b", "")
	r := newRig(t, Options{}, a, b)
	s := r.overHTTP(newCaller(t, "ann", everything, nil))
	next, stop := listen(t, s.URL, "ann", `3`, `{"toolsListChanged":true,"promptsListChanged":false,"resourceSubscriptions":["b://one","c://none"]}`)
	want := `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":3},"notifications":{"toolsListChanged":true,"resourceSubscriptions":["b://one"]}}}`
	if got := next(); got != want {
		t.Fatalf("got %s", got)
	}
	for i, change := range []func(string){changeA, changeB} {
		change(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`)
		if got := next(); got != `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":3}}}` {
			t.Fatalf("%d: got %s", i, got)
		}
	}
	changeB(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"uri":"b://one"}}`)
	if got := next(); got != `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":3},"uri":"b://one"}}` {
		t.Fatalf("got %s", got)
	}
	if a.saw("b://one") {
		t.Error("an upstream hears of another one's resource")
	}
	stop()
	for _, up := range []*server{a, b} {
		eventually(t, "the server hears of the end", func() bool { return up.saw(methodCancelled) })
	}
}
