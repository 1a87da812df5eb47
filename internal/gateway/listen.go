package gateway

import (
	"context"
	"sync"
	"time"

	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// ofSubscription are the notifications that come on a subscription and carry its id. What
// else comes for a subscriptions/listen is about the request.
var ofSubscription = map[string]bool{
	methodAcknowledged: true, "notifications/tools/list_changed": true, "notifications/prompts/list_changed": true,
	"notifications/resources/list_changed": true, "notifications/resources/updated": true,
}

const methodAcknowledged = "notifications/subscriptions/acknowledged"

// changedBy names the member of a filter that asks for a list's changes.
var changedBy = [kindCount]string{tools: "toolsListChanged", prompts: "promptsListChanged", resources: "resourcesListChanged"}

// listen serves a subscriptions/listen until the client, the server or Quiet ends it.
func (c *call) listen() {
	u := c.s.setup()
	f, err := mcp.Fields(c.m.Params, "notifications")
	if err != nil {
		c.fail(mcp.CodeInvalidParams, "its params cannot be read")
		return
	}
	filter := parsed(f[0])
	c.s.mu.Lock()
	for k, name := range changedBy {
		c.follows[k] = name != "" && filter.Get(name).Bool()
	}
	c.s.mu.Unlock()
	if u.naming.passes() {
		l, err := c.s.link(c.ctx, u.places[0])
		if err != nil {
			c.fail(mcp.CodeInternal, err.Error())
			return
		}
		c.forwardWith(l, c.tellSubscribed, func(m mcp.Message) {
			if m.Result != nil {
				c.answer(m, mcp.Edit{Path: subscriptionInResult, Value: []byte(c.m.ID.Raw())})
				return
			}
			c.answer(m)
		}, nil)
	} else {
		c.listenToAll(u, filter)
	}
	select {
	case <-c.box.done:
	case <-c.s.g.quiet:
		c.endListen()
	}
}

// endListen ends a subscription in good order.
func (c *call) endListen() {
	b := append([]byte(`{"resultType":"complete","_meta":{"`+metaPrefix+`subscriptionId":`), c.m.ID.Raw()...)
	c.result(append(b, "}}"...))
	c.giveUp(cancelNotice(c.m.ID, "the gateway is stopping"))
}

// tellSubscribed puts what came on a subscription on the client's, under its id.
func (c *call) tellSubscribed(m mcp.Message) {
	if ofSubscription[m.Method] {
		var err error
		if m, err = mcp.Rewrite(m, mcp.Edit{Path: subscriptionInParams, Value: []byte(c.m.ID.Raw())}); err != nil {
			return
		}
	}
	c.tell(m)
}

// subscriptionEnded passes on that a server ended a subscription without answering it.
func (l *link) subscriptionEnded(g *leg, m mcp.Message) {
	l.s.takeLeg(g.id)
	if g.ended != nil {
		g.ended()
		return
	}
	if out, err := mcp.Rewrite(m, mcp.Edit{Path: []string{"params", "requestId"}, Value: []byte(g.call.m.ID.Raw())}); err == nil {
		g.call.tell(out)
	}
	g.call.box.finish(nil)
}

// merging joins the subscriptions of several upstreams to one.
type merging struct {
	c     *call
	mu    sync.Mutex
	begun bool // the client has its acknowledgement
	early []mcp.Message
	uris  []string // that are acknowledged
}

// acknowledged waits until each upstream has said what it honours, or takes too long.
const ackPatience = 10 * time.Second

// listenToAll opens a subscription at each upstream that has something of what the client
// wants, and keeps it open.
func (c *call) listenToAll(u *setup, filter doc.Value) {
	s := c.s
	wanted := make(map[*place][]string)
	for _, e := range filter.Get("resourceSubscriptions").Elements() {
		if p, _ := s.resourceAt(c.ctx, u, e.String()); p != nil {
			wanted[p] = append(wanted[p], e.String())
		}
	}
	w := &merging{c: c}
	ctx, stop := context.WithCancel(c.ctx)
	go func() {
		<-c.box.done
		stop()
	}()
	var acks sync.WaitGroup
	for _, p := range u.places {
		acks.Add(1)
		go w.follow(ctx, p, wanted[p], sync.OnceFunc(acks.Done))
	}
	done := make(chan struct{})
	go func() {
		acks.Wait()
		close(done)
	}()
	t := time.NewTimer(ackPatience)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	case <-c.box.done:
		return
	}
	w.begin(filter)
}

// begin acknowledges and lets go what came before.
func (w *merging) begin(filter doc.Value) {
	b := append([]byte(`{"_meta":{"`+metaPrefix+`subscriptionId":`), w.c.m.ID.Raw()...)
	b = append(b, `},"notifications":{`...)
	comma := false
	for k, name := range changedBy {
		if w.c.follows[k] {
			if comma {
				b = append(b, ',')
			}
			comma = true
			b = append(append(append(b, '"'), name...), `":true`...)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if filter.Get("resourceSubscriptions").Kind() == doc.List {
		if comma {
			b = append(b, ',')
		}
		b = append(append(b, `"resourceSubscriptions":`...), rawTexts(w.uris)...)
	}
	m, bad := mcp.Parse(mcp.NewNotification(methodAcknowledged, append(b, "}}"...)))
	if bad != nil {
		return
	}
	w.c.tell(m)
	w.begun = true
	for _, m := range w.early {
		w.c.tellSubscribed(m)
	}
	w.early = nil
}

// maxEarly bounds what comes before the acknowledgement.
const maxEarly = 1_000

func (w *merging) tell(m mcp.Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.begun:
		w.c.tellSubscribed(m)
	case len(w.early) < maxEarly:
		w.early = append(w.early, m)
	}
}

// follow keeps one upstream's part open. first is called when it is known whether the
// upstream honours it.
func (w *merging) follow(ctx context.Context, p *place, uris []string, first func()) {
	defer first()
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		l, err := w.c.s.link(ctx, p)
		if err == nil {
			kinds := w.c.kindsOf(l)
			if kinds == ([kindCount]bool{}) && len(uris) == 0 {
				return
			}
			if w.listen(ctx, l, kinds, uris, first) {
				return
			}
			wait = firstRetry
		}
		first()
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return
		}
		if w.c.s.setup().place(p.Name) != p {
			return
		}
	}
}

// kindsOf are the lists of an upstream whose changes the client wants to hear of.
func (c *call) kindsOf(l *link) (k [kindCount]bool) {
	for i := range k {
		k[i] = c.follows[i] && l.hello.has[i]
	}
	return k
}

// listen holds one subscription at one upstream until it ends. over says that there is no
// use in another.
func (w *merging) listen(ctx context.Context, l *link, kinds [kindCount]bool, uris []string, first func()) (over bool) {
	ended := make(chan mcp.Message, 1)
	w.c.mu.Lock()
	again := w.c.heard[l.place]
	if w.c.heard == nil {
		w.c.heard = make(map[*place]bool)
	}
	w.c.heard[l.place] = true
	w.c.mu.Unlock()
	beside := func(m mcp.Message) {
		if m.Method != methodAcknowledged {
			w.tell(m)
			return
		}
		w.acknowledged(m, uris, again)
		if again { // what changed while nobody listened is not known
			w.changed(kinds)
		}
		first()
	}
	w.c.forwardWith(l, beside, func(m mcp.Message) { ended <- m }, func() { ended <- mcp.Message{} },
		mcp.Edit{Path: []string{"params", "notifications"}, Value: filterFor(kinds, uris)})
	select {
	case m := <-ended:
		switch {
		case m.Error == nil:
		case errorCode(m.Error) == mcp.CodeRefused:
			w.c.answer(m)
			w.c.giveUp(cancelNotice(w.c.m.ID, "it was refused"))
			return true
		case errorCode(m.Error) == mcp.CodeMethodNotFound:
			return true
		}
		return false
	case <-ctx.Done():
		return true
	}
}

// acknowledged notes which resources an upstream tells about.
func (w *merging) acknowledged(m mcp.Message, asked []string, again bool) {
	f, err := mcp.Fields(m.Params, "notifications")
	if err != nil || again {
		return
	}
	honoured := make(map[string]bool)
	for _, e := range parsed(f[0]).Get("resourceSubscriptions").Elements() {
		honoured[e.String()] = true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, uri := range asked {
		if honoured[uri] {
			w.uris = append(w.uris, uri)
		}
	}
}

func (w *merging) changed(which [kindCount]bool) {
	for k, method := range changedMethods {
		if method != "" && which[k] {
			m, _ := mcp.Parse(mcp.NewNotification(method, nil))
			w.tell(m)
		}
	}
}

// filterFor writes the filter of one upstream's part.
func filterFor(which [kindCount]bool, uris []string) []byte {
	all := map[string]any{}
	for k, name := range changedBy {
		if which[k] {
			all[name] = true
		}
	}
	if len(uris) > 0 {
		all["resourceSubscriptions"] = uris
	}
	v, _ := doc.FromGo(all) // of JSON that was read
	return v.AppendJSON(nil)
}
