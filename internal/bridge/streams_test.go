package bridge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// listenServer acknowledges what it is asked for, or agree of it, and says what is open.
type listenServer struct {
	opened chan *openListen
	agree  func(filter string) string
}

type openListen struct {
	id     string
	filter string
	tell   func(string)
	end    chan func(mcp.Message) (string, error)
	m      mcp.Message
	ctx    context.Context
}

func newListenServer() *listenServer {
	return &listenServer{opened: make(chan *openListen, 64), agree: func(f string) string { return f }}
}

func (l *listenServer) script(ctx context.Context, m mcp.Message, tell func(string)) (string, error) {
	if m.Method != "subscriptions/listen" {
		return answer(m, `{}`)
	}
	filter := string(at(m.Params, "notifications"))
	o := &openListen{id: m.ID.Raw(), filter: filter, tell: tell, end: make(chan func(mcp.Message) (string, error), 1), m: m, ctx: ctx}
	if agreed := l.agree(filter); agreed != "" {
		tell(note("notifications/subscriptions/acknowledged", `{"_meta":{"io.modelcontextprotocol/subscriptionId":`+o.id+`},"notifications":`+agreed+`}`))
	}
	l.opened <- o
	select {
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case end := <-o.end:
		return end(m)
	}
}

func (o *openListen) say(method, more string) {
	o.tell(note(method, `{"_meta":{"io.modelcontextprotocol/subscriptionId":`+o.id+`}`+more+`}`))
}

func TestListChanged(t *testing.T) {
	l := newListenServer()
	r := newHandshake(t, initParams, everything, l.script)
	r.initialized(t)
	r.initialized(t)
	o := <-l.opened
	want(t, "filter", o.filter, `{"toolsListChanged":true,"resourcesListChanged":true}`)
	if !strings.Contains(string(o.m.Raw), keyCapabilities) {
		t.Errorf("no _meta in %s", o.m.Raw)
	}
	o.say("notifications/tools/list_changed", "")
	want(t, "told", string((<-r.beside).Raw), note("notifications/tools/list_changed", `{"_meta":{}}`))
	o.tell(req(1, "roots/list", ""))
	if got := <-r.server.sent; codeOf(got) != mcp.CodeInvalidRequest {
		t.Errorf("%s", got.Raw)
	}
	o.say("notifications/message", `,"level":"info","data":1`)
	// Over stdio the same may come beside the request.
	r.Beside(parse(t, note("notifications/resources/list_changed", `{"_meta":{"io.modelcontextprotocol/subscriptionId":`+o.id+`,"a":1}}`)))
	want(t, "told", string((<-r.beside).Raw), note("notifications/resources/list_changed", `{"_meta":{"a":1}}`))
	r.Beside(parse(t, note("notifications/subscriptions/acknowledged", `{}`)))
	r.Beside(parse(t, note("notifications/prompts/list_changed", `{}`)))
	want(t, "told", string((<-r.beside).Raw), note("notifications/prompts/list_changed", `{}`))
	if len(l.opened) > 0 {
		t.Error("listened twice")
	}
}

func TestNothingToListenFor(t *testing.T) {
	r := newHandshake(t, initParams, `{"tools":{}}`, nil)
	r.initialized(t)
	if got := r.server.requests(); got != nil {
		t.Errorf("asked %s", got)
	}
}

func TestSubscribe(t *testing.T) {
	l := newListenServer()
	r := newHandshake(t, initParams, `{"resources":{"subscribe":true}}`, l.script)
	r.initialized(t)
	sub := func(method, uri string) {
		t.Helper()
		want(t, method, do(t, r, req(1, method, `{"uri":"`+uri+`"}`)).answer(), result(1, `{}`))
	}
	updated := func(o *openListen, uri string) { o.say("notifications/resources/updated", `,"uri":"`+uri+`"`) }
	told := func(uri string) {
		t.Helper()
		want(t, "told", string((<-r.beside).Raw), note("notifications/resources/updated", `{"_meta":{},"uri":"`+uri+`"}`))
	}
	sub("resources/subscribe", "a:1")
	first := <-l.opened
	want(t, "filter", first.filter, `{"resourceSubscriptions":["a:1"]}`)
	sub("resources/subscribe", "a:1") // again: nothing new
	updated(first, "a:1")
	told("a:1")
	updated(first, "a:1/below")
	told("a:1/below")
	var all []*openListen
	for i := 2; i <= maxStreams; i++ {
		sub("resources/subscribe", fmt.Sprintf("a:%d", i))
		all = append(all, <-l.opened)
	}
	// One more takes the place of all.
	sub("resources/subscribe", "a:9")
	nine := <-l.opened
	want(t, "filter", nine.filter, `{"resourceSubscriptions":["a:9","a:1","a:2","a:3","a:4","a:5","a:6","a:7","a:8"]}`)
	for _, o := range append(all, first) {
		<-o.ctx.Done()
	}
	updated(nine, "a:3")
	told("a:3")
	sub("resources/unsubscribe", "a:3")
	updated(nine, "a:3") // told to nobody
	updated(nine, "a:4")
	told("a:4")
	for _, i := range []int{1, 2, 4, 5, 6, 7, 8, 9} {
		if nine.ctx.Err() != nil {
			t.Fatal("ended early")
		}
		sub("resources/unsubscribe", fmt.Sprintf("a:%d", i))
	}
	<-nine.ctx.Done()
	if len(l.opened)+len(r.beside) > 0 {
		t.Error("something is left")
	}
}

func TestSubscribeRefused(t *testing.T) {
	ways := map[string]script{
		"by an error": func(_ context.Context, m mcp.Message, _ func(string)) (string, error) {
			return failure(m, `{"code":-32602,"message":"no"}`)
		},
		"without an acknowledgement": func(_ context.Context, m mcp.Message, _ func(string)) (string, error) { return answer(m, `{}`) },
		"by its transport": func(context.Context, mcp.Message, func(string)) (string, error) {
			return "", errors.New("no")
		},
	}
	for name, agreed := range map[string]string{"by leaving it out": `{}`, "by agreeing to another": `{"resourceSubscriptions":["b:1"]}`} {
		l := newListenServer()
		l.agree = func(string) string { return agreed }
		ways[name] = l.script
	}
	for name, s := range ways {
		t.Run(name, func(t *testing.T) {
			r := newHandshake(t, initParams, `{"resources":{"subscribe":true}}`, s)
			if got := do(t, r, req(1, "resources/subscribe", `{"uri":"a:1"}`)).answer(); code(t, got) != mcp.CodeInvalidParams {
				t.Errorf("%s", got)
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			if len(r.subs) > 0 {
				t.Error("it is remembered")
			}
		})
	}
	t.Run("cancelled", func(t *testing.T) {
		l := newListenServer()
		l.agree = func(string) string { return "" }
		r := newHandshake(t, initParams, `{"resources":{"subscribe":true}}`, l.script)
		c := do(t, r, req(1, "resources/subscribe", `{"uri":"a:1"}`))
		o := <-l.opened
		c.stop(errors.New("enough"))
		if e := <-c.end; e.err == nil {
			t.Errorf("answered %s", e.m.Raw)
		}
		<-o.ctx.Done()
	})
}

func TestListenAgain(t *testing.T) {
	ends := map[string]func(*handshakeRig, *openListen){
		"ended by the server": func(_ *handshakeRig, o *openListen) {
			o.end <- func(m mcp.Message) (string, error) { return answer(m, `{"resultType":"complete"}`) }
		},
		"broken": func(_ *handshakeRig, o *openListen) {
			o.end <- func(mcp.Message) (string, error) { return "", errors.New("broken") }
		},
		"cancelled by the server": func(r *handshakeRig, o *openListen) {
			r.Beside(parse(t, note("notifications/cancelled", `{"requestId":`+o.id+`}`)))
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newListenServer()
				r := newHandshake(t, initParams, `{"tools":{"listChanged":true},"resources":{"subscribe":true}}`, l.script)
				r.initialized(t)
				lists := <-l.opened
				do(t, r, req(1, "resources/subscribe", `{"uri":"a:1"}`)).answer()
				resource := <-l.opened
				before := time.Now()
				end(r, lists)
				end(r, resource)
				filters := []string{(<-l.opened).filter, (<-l.opened).filter}
				slices.Sort(filters)
				want(t, "filters", strings.Join(filters, " "), `{"resourceSubscriptions":["a:1"]} {"toolsListChanged":true}`)
				if time.Since(before) != listenAgain {
					t.Errorf("again after %v", time.Since(before))
				}
				synctest.Wait()
				told := []string{string((<-r.beside).Raw), string((<-r.beside).Raw)}
				slices.Sort(told)
				want(t, "told to look", told[0], `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:1"}}`)
				want(t, "told to look", told[1], `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			})
		})
	}
}

func TestListenGivesUp(t *testing.T) {
	for name, c := range map[string]struct {
		attempts int
		agree    func(n int) string
		end      func(mcp.Message) (string, error)
	}{
		"an error": {1, func(int) string { return "" }, func(m mcp.Message) (string, error) { return failure(m, `{"code":-32601,"message":"no"}`) }},
		"nothing agreed to": {
			1, func(int) string { return `{}` },
			func(m mcp.Message) (string, error) { return answer(m, `{}`) },
		},
		"broken each time": {
			1 + listenTries,
			func(n int) string {
				if n == 1 {
					return `{"toolsListChanged":true}`
				}
				return ""
			},
			func(mcp.Message) (string, error) { return "", errors.New("broken") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := 0
				l := newListenServer()
				l.agree = func(string) string { n++; return c.agree(n) }
				r := newHandshake(t, initParams, `{"tools":{"listChanged":true}}`, l.script)
				r.initialized(t)
				before := time.Now()
				for range c.attempts {
					(<-l.opened).end <- c.end
				}
				if waited := time.Since(before); c.attempts > 1 && waited != (1+2+4+8+16)*listenAgain {
					t.Errorf("the last attempt was after %v", waited)
				}
				time.Sleep(time.Hour)
				synctest.Wait()
				if len(l.opened) > 0 || len(r.server.requests()) != c.attempts {
					t.Errorf("%d attempts, want %d", len(r.server.requests()), c.attempts)
				}
			})
		})
	}
}

func TestTooManySubscriptions(t *testing.T) {
	l := newListenServer()
	l.opened = make(chan *openListen, 2*maxSubscriptions)
	r := newHandshake(t, initParams, `{"resources":{"subscribe":true}}`, l.script)
	for i := range maxSubscriptions + 1 {
		got := do(t, r, req(1, "resources/subscribe", fmt.Sprintf(`{"uri":"a:%d"}`, i))).answer()
		if refused := code(t, got) != 0; refused != (i == maxSubscriptions) {
			t.Fatalf("%d: %s", i, got)
		}
	}
}

// Two streams may cover a resource while one takes the place of the other.
func TestUpdatesOfOneStreamOnly(t *testing.T) {
	old, new := &stream{uris: []string{"a", "b"}}, &stream{uris: []string{"c", "a"}}
	h := &HandshakeConn{subs: map[string]*stream{"a": new, "b": old, "c": new}}
	for _, c := range []struct {
		s    *stream
		uri  string
		want bool
	}{{old, "a", false}, {new, "a", true}, {old, "b", true}, {new, "c", true}, {old, "a/below", true}} {
		if h.wants(c.s, c.uri) != c.want {
			t.Errorf("%v of %s: want %v", c.s.uris, c.uri, c.want)
		}
	}
}
