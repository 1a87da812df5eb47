package gateway

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/upstream"
)

// chatty tells progress about each call, and asks its client who it is, before it answers
// with what it was sent.
func chatty(name string) *server {
	s := toolServer(name, "echo")
	serve := s.serve
	s.serve = func(ctx context.Context, c *conn, m mcp.Message, about func(string)) (string, error) {
		if m.Method != "tools/call" {
			return serve(ctx, c, m, about)
		}
		f, _ := mcp.Fields(m.Params, "arguments")
		if token := progressToken(m); token != nil {
			about(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1,"message":"for %s"}}`, token, name))
		}
		who := []byte(`null`)
		if c.s.era == upstream.Handshake && strings.Contains(string(c.client.Params), "elicitation") {
			a, err := c.ask(ctx, "elicitation/create", fmt.Sprintf(`{"message":"who sent %s?","requestedSchema":{"type":"object","properties":{}}}`, strings.ReplaceAll(string(f[0]), `"`, `'`)), about)
			if err != nil {
				return "", err
			}
			who = a.Result
		}
		return fmt.Sprintf(`{"content":[],"structuredContent":{"sent":%s,"who":%s}}`, f[0], who), nil
	}
	return s
}

// 64 clients of four callers at once, all with the same ids and tokens: each gets its own
// answers, questions and progress, once, and nobody else's.
func TestB071SessionsDoNotMix(t *testing.T) {
	a, b := chatty("a"), chatty("b")
	r := newRig(t, Options{}, a, b)
	doubts := sallyport.NewDoubts(sallyport.DoubtOptions{})
	var callers []Caller
	for i := range 4 {
		callers = append(callers, newCaller(t, fmt.Sprintf("caller%d", i), everything, doubts))
	}
	var wait sync.WaitGroup
	for n := range 64 {
		k := r.stdio(callers[n%len(callers)])
		wait.Go(func() { k.converse(fmt.Sprintf("client-%d", n)) })
	}
	wait.Wait()
	eventually(t, "nothing is left", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.sessions) == 0
	})
}

// converse makes calls to both servers and checks that all that comes is this client's.
func (k *client) converse(me string) {
	const calls = 6
	k.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"` + me + `","version":"0"}}}`)
	if line := k.next(); !strings.Contains(line, `"id":0`) {
		k.t.Errorf("%s: got %s", me, line)
	}
	k.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for i := range calls {
		k.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s__echo","arguments":{"n":"%s/%d"},"_meta":{"progressToken":"p%d"}}}`, i+1, []string{"a", "b"}[i%2], me, i+1, i+1))
	}
	answered, progress := map[string]int{}, map[string]int{}
	for len(answered) < calls {
		line := k.next()
		m := message(line)
		switch {
		case m.Kind == mcp.Request:
			if !strings.Contains(line, me+"/") {
				k.t.Errorf("%s is asked about another's call: %s", me, line)
			}
			k.send(`{"jsonrpc":"2.0","id":` + m.ID.Raw() + `,"result":{"action":"accept","content":{"who":"` + me + `"}}}`)
		case m.Kind == mcp.Notification:
			token := fmt.Sprint(get(k.t, line, "params", "progressToken"))
			if progress[token]++; progress[token] > 1 || answered[strings.TrimPrefix(token, "p")] > 0 {
				k.t.Errorf("%s: progress that is another's, or late: %s", me, line)
			}
		default:
			id := m.ID.Raw()
			if answered[id]++; answered[id] > 1 {
				k.t.Errorf("%s: two answers to %s", me, id)
			}
			want := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[],"structuredContent":{"sent":{"n":"%s/%s"},"who":{"action":"accept","content":{"who":"%s"}}}}}`, id, me, id, me)
			if line != want {
				k.t.Errorf("%s: got %s, want %s", me, line, want)
			}
		}
	}
	k.close()
}

// Whatever a client sends, in whatever order: each request has one answer, or none if it
// was cancelled, and what was not asked for does not come.
func TestEveryRequestIsAnsweredOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a, b := toolServer("a", "look"), toolServer("b", "look")
		die := rapid.IntRange(0, 20).Draw(rt, "dies after")
		var mu sync.Mutex
		seen := 0
		serve := a.serve
		a.serve = func(ctx context.Context, c *conn, m mcp.Message, about func(string)) (string, error) {
			mu.Lock()
			seen++
			now := seen == die
			mu.Unlock()
			if now {
				c.die(upstream.ErrDied)
			}
			return serve(ctx, c, m, about)
		}
		r := newRig(t, Options{}, a, b)
		k := r.stdio(newCaller(t, "local", everything, nil))
		k.initialize()
		var ids []string
		cancelled := map[string]bool{}
		for i := range rapid.IntRange(1, 15).Draw(rt, "requests") {
			id := fmt.Sprint(i + 1)
			ids = append(ids, id)
			switch rapid.IntRange(0, 6).Draw(rt, "what") {
			case 0:
				k.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/list"}`)
			case 1:
				k.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"nobody"}}`)
			case 2:
				k.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"resources/read","params":{"uri":"x://y"}}`)
			case 3:
				k.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":7}}`)
			case 4:
				k.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`)
			default:
				k.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "upstream") + `__look"}}`)
			}
			if rapid.IntRange(0, 5).Draw(rt, "cancel") == 0 {
				cancelled[id] = true
				k.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`)
			}
		}
		k.in.Close()
		got := map[string]int{}
		for line := range k.lines {
			if m := message(line); m.Kind == mcp.Response {
				got[m.ID.Raw()]++
			}
		}
		for _, id := range ids {
			if n := got[id]; n > 1 || n == 0 && !cancelled[id] {
				rt.Fatalf("%d answers to request %s", n, id)
			}
			delete(got, id)
		}
		if len(got) > 0 {
			rt.Fatalf("answers to what was not asked: %v", got)
		}
	})
}
