package gateway

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// clock is a time that the test moves.
type clock struct{ atomic.Int64 }

func (c *clock) now() time.Time { return time.Unix(1_000_000, c.Load()) }

func (c *clock) move(d time.Duration) { c.Add(int64(d)) }

// A list that cannot be had is not waited for by every read: it is asked for again after a
// while, when the server says that it changed, and when the client itself asks.
func TestAFailedListIsRemembered(t *testing.T) {
	a, b := library("a", []string{"x://a"}, nil, ""), library("b", []string{"x://b"}, nil, "")
	var asked atomic.Int64
	serve := b.serve
	b.serve = func(ctx context.Context, c *conn, m mcp.Message, about func(string)) (string, error) {
		if m.Method == "resources/list" || m.Method == "resources/templates/list" {
			asked.Add(1)
			return "", rpcError{-32000, "not now"}
		}
		return serve(ctx, c, m, about)
	}
	var at clock
	r := newRig(t, Options{}, a, b)
	r.now = at.now
	k := r.stdio(newCaller(t, "local", everything, nil))
	k.initialize()
	read := func(uri string) {
		t.Helper()
		k.call(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":%q}}`, uri))
	}
	wants := func(want int64, when string) {
		t.Helper()
		if got := asked.Swap(0); got != want {
			t.Errorf("%s: %d lists were asked for, want %d", when, got, want)
		}
	}
	read("x://a")
	wants(1, "the first read")
	read("x://unknown")
	wants(1, "one that needs templates")
	for range 3 {
		at.move(9 * time.Second)
		read("x://a")
		read("x://unknown")
	}
	wants(0, "reads within the time")
	at.move(3 * time.Second)
	read("x://a")
	read("x://unknown")
	wants(2, "after it")
	b.last(t).tell(`{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}`)
	k.wants(k.next(), `{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}`)
	read("x://a")
	wants(1, "after a change")
	k.call(`{"jsonrpc":"2.0","id":1,"method":"resources/list"}`)
	wants(1, "the client's own request")
	k.close()
}

// The lists that sessions keep are bounded together: one that does not fit is absent, with a
// line in the log, and there is room again when a session ends.
func TestListsAreBoundedTogether(t *testing.T) {
	a, b := toolServer("a", "look"), toolServer("b", "look", strings.Repeat("x", 50))
	r := newRig(t, Options{}, a, b)
	r.maxListBytes = 700 // those of one session have less, those of two more
	clients := []*client{r.stdio(newCaller(t, "ann", everything, nil)), r.stdio(newCaller(t, "bob", everything, nil))}
	list := func(k *client) string {
		return toolNames(t, k.call(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	}
	const all = "a__look b__look b__"
	for i, k := range clients {
		k.initialize()
		for range 3 { // again takes no more room
			if got := list(k); strings.HasPrefix(got, all) != (i == 0) {
				t.Errorf("client %d sees %s", i, got)
			}
		}
	}
	if !strings.Contains(r.log.String(), errNoRoom.Error()) {
		t.Error("the log does not say so")
	}
	clients[0].close()
	eventually(t, "there is room", func() bool { return strings.HasPrefix(list(clients[1]), all) })
	clients[1].close()
	eventually(t, "nothing is kept", func() bool { return r.listBytes.Load() == 0 })
}

// Where one server alone has resources, a read waits for no list; a link that another has
// shown still leads there.
func TestAReadAtTheOnlyServerWithResourcesAsksForNoList(t *testing.T) {
	a, b := library("a", nil, nil, ""), library("b", nil, nil, "l://b")
	b.hello = strings.Replace(b.hello, `"resources":{"subscribe":true},`, "", 1)
	r := newRig(t, Options{}, a, b)
	k := r.stdio(newCaller(t, "local", everything, nil))
	k.initialize()
	if got := k.call(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"x://a"}}`); get(t, got, "result", "by") != "a" {
		t.Errorf("got %s", got)
	}
	if a.saw("resources/list") || a.saw("resources/templates/list") || b.saw("resources/") {
		t.Error("a list was asked for")
	}
	k.call(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"b__show","arguments":{}}}`)
	if got := k.call(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"l://b"}}`); get(t, got, "result", "by") != "b" {
		t.Errorf("got %s", got)
	}
	k.close()
}

// Lists that were had at the same time have to fit together: another upstream that is slow keeps
// each from being counted until then.
func TestListsThatComeTogetherFitTogether(t *testing.T) {
	a, b := toolServer("a", "one", "two"), toolServer("b", "other")
	serve, slow := b.serve, make(chan struct{})
	b.serve = func(ctx context.Context, c *conn, m mcp.Message, about func(string)) (string, error) {
		if m.Method == "resources/list" {
			<-slow
			return `{"resources":[]}`, nil
		}
		return serve(ctx, c, m, about)
	}
	b.hello = strings.Replace(b.hello, `"tools":{"listChanged":true}`, `"resources":{}`, 1)
	a.hello = strings.Replace(a.hello, `"tools":{"listChanged":true}`, `"resources":{}`, 1)
	page := `{"resources":[{"uri":"x:1","name":"` + strings.Repeat("x", 600) + `"}]}`
	a.serve = func(_ context.Context, _ *conn, m mcp.Message, _ func(string)) (string, error) {
		return page, nil
	}
	r := newRig(t, Options{}, a, b)
	r.maxListBytes = 1000 // one session's fits
	var all []*client
	for range 4 {
		k := r.stdio(newCaller(t, "local", everything, nil))
		k.initialize()
		k.send(`{"jsonrpc":"2.0","id":7,"method":"resources/list"}`)
		all = append(all, k)
	}
	eventually(t, "each has asked both", func() bool {
		n := 0
		for _, m := range append(a.received(), b.received()...) {
			if message(m).Method == "resources/list" {
				n++
			}
		}
		return n == 2*len(all)
	})
	close(slow)
	for _, k := range all {
		if got := k.next(); !strings.Contains(got, `"id":7,"result"`) {
			t.Errorf("got %s", got)
		}
	}
	if n := r.listBytes.Load(); n > r.maxListBytes {
		t.Errorf("%d bytes are kept, and %d may be", n, r.maxListBytes)
	}
	for _, k := range all {
		k.close()
	}
	eventually(t, "nothing is kept", func() bool { return r.listBytes.Load() == 0 })
}
