package upstream

import (
	"sync"
	"time"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

const (
	maxLate  = 1024 // cancelled requests whose late answers are told from others
	maxAsked = 1024 // requests of the server's of which is known to whom they went
)

// request is one request that waits for its answer.
type request struct {
	m      mcp.Message
	token  string // key of its progress token, "" if it has none
	listen bool   // subscriptions/listen

	clock  *clock
	answer chan outcome // room for one

	mu      sync.Mutex // held while deliver runs: one message at a time, and none after end
	deliver func(mcp.Message)
	ended   bool
}

// outcome is an answer, or why there is none.
type outcome struct {
	m   mcp.Message
	err error
}

func newRequest(m mcp.Message, deliver func(mcp.Message)) *request {
	r := &request{m: m, deliver: deliver, answer: make(chan outcome, 1), listen: m.Method == "subscriptions/listen"}
	r.token = idKey(memberOf(m.Params, "_meta", "progressToken"))
	return r
}

// give hands a message to whoever waits for the answer. It reports false when nobody does
// any more.
func (r *request) give(m mcp.Message) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return false
	}
	r.clock.heard()
	if m.Kind == mcp.Request {
		r.clock.asked()
	}
	if r.deliver != nil {
		r.deliver(m)
	}
	return true
}

// end waits for a message that is being delivered; no other is after it.
func (r *request) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
}

// settle answers the request, if nothing has yet. No message comes after the answer.
func (r *request) settle(o outcome) {
	r.end()
	select {
	case r.answer <- o:
	default:
	}
}

// table holds the open requests of one conversation.
type table struct {
	mu     sync.Mutex
	open   map[string]*request // by the key of the id
	tokens map[string]*request // by that of the progress token; the first one has it
	asked  map[string]*request // the server's requests that went to an open one, by their id's key
	late   map[string]bool     // cancelled and not answered
	order  []string            // of late, oldest first
}

func newTable() *table {
	return &table{open: map[string]*request{}, tokens: map[string]*request{}, asked: map[string]*request{}, late: map[string]bool{}}
}

// add enters a request before its bytes leave: no answer can come before.
func (t *table) add(r *request) error {
	key := r.m.ID.Key()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open[key] != nil || t.late[key] {
		return ErrID
	}
	t.open[key] = r
	if r.token != "" && t.tokens[r.token] == nil {
		t.tokens[r.token] = r
	}
	return nil
}

// remove takes a request out. late says that an answer may still come, which must not
// be taken for that of another.
func (t *table) remove(r *request, late bool) {
	key := r.m.ID.Key()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open[key] == r {
		delete(t.open, key)
	}
	if t.tokens[r.token] == r {
		delete(t.tokens, r.token)
	}
	for id, owner := range t.asked {
		if owner == r {
			delete(t.asked, id)
		}
	}
	if !late || t.late[key] {
		return
	}
	if len(t.order) == maxLate {
		delete(t.late, t.order[0])
		t.order = t.order[1:]
	}
	t.late[key] = true
	t.order = append(t.order, key)
}

// answered returns the request that a response is for. late says that it was cancelled.
func (t *table) answered(id mcp.ID) (r *request, late bool) {
	key := id.Key()
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.open[key]; r != nil {
		return r, false
	}
	if !t.late[key] {
		return nil, false
	}
	delete(t.late, key)
	for i, k := range t.order {
		if k == key {
			t.order = append(t.order[:i:i], t.order[i+1:]...)
			break
		}
	}
	return nil, true
}

// subscription returns the open subscriptions/listen with that id's key.
func (t *table) subscription(key string) *request {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.open[key]; r != nil && r.listen {
		return r
	}
	return nil
}

// only returns the one request that is open, subscriptions apart; nil if there are more
// or none.
func (t *table) only() *request {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.onlyOpen()
}

func (t *table) onlyOpen() *request {
	var one *request
	for _, r := range t.open {
		switch {
		case r.listen:
		case one != nil:
			return nil
		default:
			one = r
		}
	}
	return one
}

// general are the notifications that are about the server as a whole.
var general = map[string]bool{
	"notifications/tools/list_changed":     true,
	"notifications/prompts/list_changed":   true,
	"notifications/resources/list_changed": true,
	"notifications/resources/updated":      true,
}

// owner returns the request that a notification or request of the server's belongs to; nil
// if it belongs to none. on is the request on whose own stream it came, nil if streams are
// shared. guess says that a question or a log line then belongs to the only open request.
//
// Subscriptions name themselves (2026-07-28, "Subscriptions"), progress its token. A
// cancellation goes where what it cancels went.
func (t *table) owner(m mcp.Message, on *request, guess bool) *request {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.find(m, on, guess)
	if r != nil && m.Kind == mcp.Request && len(t.asked) < maxAsked {
		t.asked[m.ID.Key()] = r
	}
	return r
}

func (t *table) find(m mcp.Message, on *request, guess bool) *request {
	if m.Kind == mcp.Notification {
		if key := idKey(memberOf(m.Params, "_meta", "io.modelcontextprotocol/subscriptionId")); key != "" {
			if r := t.open[key]; r != nil && r.listen {
				return r
			}
			return nil
		}
		switch m.Method {
		case "notifications/progress":
			key := idKey(memberOf(m.Params, "progressToken"))
			if on != nil && on.token == key {
				return on
			}
			return t.tokens[key]
		case "notifications/cancelled":
			key := idKey(memberOf(m.Params, "requestId"))
			if r := t.open[key]; r != nil && r.listen {
				return r
			}
			if r := t.asked[key]; r != nil {
				delete(t.asked, key)
				r.clock.replied()
				return r
			}
		}
		if general[m.Method] && (on == nil || !on.listen) {
			return nil
		}
	}
	switch {
	case on != nil:
		return on
	case guess && (m.Kind == mcp.Request || m.Method == "notifications/message"):
		return t.onlyOpen()
	}
	return nil
}

// replied notes that the client answered a request of the server's.
func (t *table) replied(id mcp.ID) {
	key := id.Key()
	t.mu.Lock()
	r := t.asked[key]
	delete(t.asked, key)
	t.mu.Unlock()
	if r != nil {
		r.clock.replied()
	}
}

// idKey reads an id or a token; "" if it is none.
func idKey(raw []byte) string {
	id, _ := mcp.ParseID(raw)
	return id.Key()
}

// memberOf follows names through objects; nil if there is nothing.
func memberOf(object []byte, names ...string) []byte {
	for _, name := range names {
		found, err := mcp.Fields(object, name)
		if err != nil {
			return nil
		}
		object = found[0]
	}
	return object
}

// clock ends a request whose server is silent for too long. It stands still while the
// server waits for the client. A nil clock never ends anything.
type clock struct {
	limit time.Duration

	mu      sync.Mutex
	timer   *time.Timer
	waiting int // requests of the server's that are not answered
	stopped bool
}

// newClock calls expired after limit of silence; nil without a limit.
func newClock(limit time.Duration, expired func()) *clock {
	if limit <= 0 {
		return nil
	}
	return &clock{limit: limit, timer: time.AfterFunc(limit, expired)}
}

func (c *clock) change(waiting int) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = max(c.waiting+waiting, 0)
	switch {
	case c.stopped:
	case c.waiting > 0:
		c.timer.Stop()
	default:
		c.timer.Reset(c.limit)
	}
}

func (c *clock) heard()   { c.change(0) }
func (c *clock) asked()   { c.change(1) }
func (c *clock) replied() { c.change(-1) }

func (c *clock) stop() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	c.timer.Stop()
}
