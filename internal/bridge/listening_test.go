package bridge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// plain answers everything with an empty result, and refuses to watch b:*.
func plain(_ context.Context, m mcp.Message, _ func(string)) (string, error) {
	if strings.HasPrefix(text(at(m.Params, "uri")), "b:") {
		return failure(m, `{"code":-32602,"message":"no"}`)
	}
	return answer(m, `{}`)
}

func listenTo(filter string) string {
	return `{"notifications":` + filter + `,"_meta":` + modern("") + `}`
}

// B034: what changes at a handshake server reaches those who listen, under their own ids.
func TestListen(t *testing.T) {
	r := newStateless(t, `{"tools":{"listChanged":true},"prompts":{},"resources":{"subscribe":true}}`, plain)
	ack := func(id, agreed string) string {
		return note("notifications/subscriptions/acknowledged", `{"_meta":{"io.modelcontextprotocol/subscriptionId":`+id+`},"notifications":`+agreed+`}`)
	}
	all := do(t, r, req(`"l1"`, "subscriptions/listen", listenTo(`{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["a:1","b:1","a:1"],"x":1}`)))
	want(t, "acknowledged", string(all.next().Raw), ack(`"l1"`, `{"toolsListChanged":true,"resourceSubscriptions":["a:1"]}`))
	one := do(t, r, req(2, "subscriptions/listen", listenTo(`{"resourceSubscriptions":["a:1","a:2"]}`)))
	want(t, "acknowledged", string(one.next().Raw), ack(`2`, `{"resourceSubscriptions":["a:1","a:2"]}`))
	nothing := do(t, r, req(3, "subscriptions/listen", listenTo(`{"promptsListChanged":true,"toolsListChanged":false}`)))
	want(t, "acknowledged", string(nothing.next().Raw), ack(`3`, `{}`))

	say := func(frame string) { r.Beside(parse(t, frame)) }
	say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	want(t, "tools", string(all.next().Raw), `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"l1"}}}`)
	say(note("notifications/prompts/list_changed", `{}`)) // nobody agreed to that
	say(note("notifications/resources/updated", `{"uri":"a:1","_meta":{"x":1.0}}`))
	want(t, "update", string(all.next().Raw), note("notifications/resources/updated", `{"uri":"a:1","_meta":{"x":1.0,"io.modelcontextprotocol/subscriptionId":"l1"}}`))
	want(t, "update", string(one.next().Raw), note("notifications/resources/updated", `{"uri":"a:1","_meta":{"x":1.0,"io.modelcontextprotocol/subscriptionId":2}}`))
	say(note("notifications/resources/updated", `{"uri":"a:2"}`))
	want(t, "update", string(one.next().Raw), note("notifications/resources/updated", `{"uri":"a:2","_meta":{"io.modelcontextprotocol/subscriptionId":2}}`))
	say(note("notifications/resources/updated", `{"uri":"a:2/below"}`))
	want(t, "below", at2(one.next(), "uri"), "a:2/below")
	want(t, "below", at2(all.next(), "uri"), "a:2/below")
	for i := range 5 {
		if m := <-r.beside; strings.Contains(string(m.Raw), keySubscriptionID) {
			t.Errorf("%d, for the gateway: %s", i, m.Raw)
		}
	}

	send(t, r, note("notifications/cancelled", `{"requestId":2}`))
	if o := <-one.end; !errors.Is(o.err, errCancelled) {
		t.Errorf("ended with %s, %v", o.m.Raw, o.err)
	}
	say(note("notifications/resources/updated", `{"uri":"a:1"}`))
	want(t, "update", at2(all.next(), "uri"), "a:1")
	all.stop(errors.New("enough"))
	<-all.end
	nothing.stop(errors.New("enough"))
	<-nothing.end
	_ = r.Close(context.Background())
	if len(all.got)+len(one.got)+len(nothing.got) > 0 {
		t.Error("more was told")
	}
}

func at2(m mcp.Message, name string) string { return text(at(m.Params, name)) }

// Nothing is told before the acknowledgement.
func TestListenAcknowledgesFirst(t *testing.T) {
	r := newStateless(t, `{"tools":{"listChanged":true},"resources":{"subscribe":true}}`, func(_ context.Context, m mcp.Message, tell func(string)) (string, error) {
		tell(note("notifications/tools/list_changed", `{}`))
		tell(note("notifications/resources/updated", `{"uri":"a:1"}`))
		return answer(m, `{}`)
	})
	l := do(t, r, req(1, "subscriptions/listen", listenTo(`{"toolsListChanged":true,"resourceSubscriptions":["a:1"]}`)))
	want(t, "first", l.next().Method, "notifications/subscriptions/acknowledged")
}

// A resource is subscribed to once, and unsubscribed from when nobody is left.
func TestListenCountsSubscriptions(t *testing.T) {
	asked := make(chan string, 16)
	r := newStateless(t, `{"resources":{"subscribe":true}}`, func(_ context.Context, m mcp.Message, _ func(string)) (string, error) {
		asked <- m.Method + " " + at2(m, "uri")
		return answer(m, `{}`)
	})
	var open []*client
	for i := range 2 {
		c := do(t, r, req(i, "subscriptions/listen", listenTo(`{"resourceSubscriptions":["a:1"]}`)))
		c.next()
		open = append(open, c)
	}
	want(t, "asked", <-asked, "resources/subscribe a:1")
	open[0].stop(errors.New("enough"))
	<-open[0].end
	// Another makes sure that the first end was dealt with.
	third := do(t, r, req(3, "subscriptions/listen", listenTo(`{"resourceSubscriptions":["a:2"]}`)))
	third.next()
	want(t, "asked", <-asked, "resources/subscribe a:2")
	open[1].stop(errors.New("enough"))
	<-open[1].end
	want(t, "asked", <-asked, "resources/unsubscribe a:1")
	third.stop(errors.New("enough"))
	<-third.end
	want(t, "asked", <-asked, "resources/unsubscribe a:2")
}

func TestListenEndsWithTheServer(t *testing.T) {
	r := newStateless(t, legacyEverything, plain)
	c := do(t, r, req(1, "subscriptions/listen", listenTo(`{"toolsListChanged":true}`)))
	c.next()
	err := errors.New("died")
	r.server.die(err)
	if o := <-c.end; !errors.Is(o.err, err) {
		t.Errorf("%s, %v", o.m.Raw, o.err)
	}
}

func TestTooManyListens(t *testing.T) {
	r := newStateless(t, legacyEverything, plain)
	for i := range maxListens {
		do(t, r, req(i, "subscriptions/listen", listenTo(`{"toolsListChanged":true}`))).next()
	}
	if got := do(t, r, req(999, "subscriptions/listen", listenTo(`{}`))).answer(); code(t, got) != mcp.CodeInternal {
		t.Errorf("%s", got)
	}
}

// What a server of a handshake tells during a call is not the call's.
func TestChangesDuringACall(t *testing.T) {
	r := newStateless(t, legacyEverything, func(_ context.Context, m mcp.Message, tell func(string)) (string, error) {
		if m.Method == "tools/call" {
			tell(note("notifications/tools/list_changed", `{}`))
			tell(note("notifications/elicitation/complete", `{"elicitationId":"a"}`))
			tell(note("notifications/tasks/status", `{"taskId":"a"}`))
			tell(note("com.example/note", `{"a":1}`))
		}
		return answer(m, `{}`)
	})
	l := do(t, r, req(1, "subscriptions/listen", listenTo(`{"toolsListChanged":true}`)))
	l.next()
	c := do(t, r, req(2, "tools/call", `{"name":"x"}`))
	c.answer()
	want(t, "listener", l.next().Method, "notifications/tools/list_changed")
	want(t, "call", string((<-c.got).Raw), note("com.example/note", `{"a":1}`))
	if len(c.got) > 0 {
		t.Errorf("%s", (<-c.got).Raw)
	}
}

func TestLogLevels(t *testing.T) {
	began, goOn := make(chan func(string), 2), make(chan struct{})
	levels := make(chan string, 8)
	r := newStateless(t, legacyEverything, func(_ context.Context, m mcp.Message, tell func(string)) (string, error) {
		if m.Method == "logging/setLevel" {
			levels <- at2(m, "level")
			return answer(m, `{}`)
		}
		began <- tell
		<-goOn
		return answer(m, `{}`)
	})
	with := func(id int, level string) *client {
		if level != "" {
			level = `"io.modelcontextprotocol/logLevel":"` + level + `",`
		}
		return do(t, r, req(id, "tools/call", `{"name":"x","_meta":`+modern(level)+`}`))
	}
	log := func(level string, n int) string {
		return note("notifications/message", fmt.Sprintf(`{"level":%q,"data":%d}`, level, n))
	}
	silent := with(1, "")
	tellSilent := <-began
	warned := with(2, "warning")
	tellWarned := <-began
	want(t, "level", <-levels, "warning")
	tellSilent(log("error", 1))  // asked for no logs
	tellWarned(log("notice", 2)) // asked for less
	tellWarned(log("error", 3))
	want(t, "log", string(warned.next().Raw), log("error", 3))
	r.Beside(parse(t, log("error", 4))) // only one wants it
	want(t, "log", string(warned.next().Raw), log("error", 4))
	more := with(3, "debug")
	<-began
	want(t, "level", <-levels, "debug")
	r.Beside(parse(t, log("debug", 5)))
	want(t, "log", string(more.next().Raw), log("debug", 5))
	r.Beside(parse(t, log("error", 6))) // both want it: the one that began first
	want(t, "log", string(warned.next().Raw), log("error", 6))
	less := with(4, "error")
	<-began
	close(goOn)
	for _, c := range []*client{silent, warned, more, less} {
		c.answer()
		if len(c.got) > 0 {
			t.Errorf("%s", (<-c.got).Raw)
		}
	}
	if len(levels) > 0 {
		t.Errorf("the level was set to %s", <-levels)
	}
}

func TestProgressBeside(t *testing.T) {
	began, goOn := make(chan struct{}, 2), make(chan struct{})
	r := newStateless(t, `{}`, func(_ context.Context, m mcp.Message, _ func(string)) (string, error) {
		began <- struct{}{}
		<-goOn
		return answer(m, `{}`)
	})
	a := do(t, r, req(1, "tools/call", `{"name":"x","_meta":`+modern(`"progressToken":"\u0061",`)+`}`))
	b := do(t, r, req(2, "tools/call", `{"name":"x","_meta":`+modern(`"progressToken":"b",`)+`}`))
	<-began
	<-began
	r.Beside(parse(t, note("notifications/progress", `{"progressToken":"a","progress":1}`)))
	r.Beside(parse(t, note("notifications/progress", `{"progressToken":"c","progress":1}`)))
	close(goOn)
	a.answer()
	b.answer()
	if len(a.got) != 1 || len(b.got) != 0 {
		t.Errorf("%d and %d messages", len(a.got), len(b.got))
	}
}
