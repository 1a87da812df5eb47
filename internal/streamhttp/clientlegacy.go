package streamhttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// maxUnheard is how many messages of an HTTP+SSE server may wait for Listen.
const maxUnheard = 256

// eventSession is one connection to a server of 2024-11-05 (transports, "HTTP with SSE"):
// one stream that brings everything, and another URL that takes what is sent. The stream
// is the session: when it ends, so does the session.
type eventSession struct {
	c      *Client
	target *url.URL // what is sent goes there
	span   *span

	hearing sync.Mutex // held while the listener runs; taken before mu

	mu       sync.Mutex
	waiting  map[string]chan mcp.Message // by the key of the id; room for one
	unheard  []mcp.Message
	listener func(mcp.Message) error // called by the reader of the stream alone
	left     chan error              // what the listener returned; room for one
	done     chan struct{}           // closed when the stream has ended
}

func (c *Client) eventSession() *eventSession {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.events
}

// Shared reports whether all messages of the server come on one stream: it speaks
// HTTP+SSE.
func (c *Client) Shared() bool { return c.eventSession() != nil }

// fallBack tries HTTP+SSE after initialize was refused (2025-11-25, "Backwards
// Compatibility"). If the server does not speak it either, the refusal stands.
func (c *Client) fallBack(ctx context.Context, k *call, refusal *StatusError) (mcp.Message, error) {
	events, err := c.openEvents(ctx)
	switch {
	case errors.Is(err, ErrRedirect), ctx.Err() != nil && err != nil:
		return mcp.Message{}, err
	case err != nil:
		return mcp.Message{}, refusal
	}
	c.mu.Lock()
	old := c.events
	c.events, c.session, c.version = events, "", ""
	c.mu.Unlock()
	if old != nil {
		old.span.cancel(ErrSessionLost)
	}
	return events.do(ctx, k)
}

// openEvents opens the stream and waits for the event that names the other URL.
func (c *Client) openEvents(ctx context.Context) (*eventSession, error) {
	s, resp, err := c.get(ctx, "", "", "")
	if err != nil {
		return nil, err
	}
	r := newEventReader(resp.Body, c.opt.MaxMessage)
	target, err := c.readEndpoint(r)
	if err != nil {
		_ = resp.Body.Close()
		s.end()
		return nil, err
	}
	s.detach() // the stream outlives the call that opened it
	e := &eventSession{c: c, target: target, span: s, waiting: map[string]chan mcp.Message{}, done: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	if ctx.Err() != nil || c.base.Err() != nil {
		_ = resp.Body.Close()
		s.end()
		return nil, ErrClosed
	}
	// Silence means nothing on a stream that brings only what servers send by themselves.
	resp.Body.(*watched).limit = maxIdleEvents
	c.running.Add(1)
	go func() {
		defer c.running.Done()
		err := e.read(r)
		_ = resp.Body.Close()
		s.end()
		c.log.Info("the stream of the HTTP+SSE server ended", "reason", err)
		e.end()
	}()
	return e, nil
}

// maxIdleEvents is as good as no limit.
const maxIdleEvents = 1 << 62

// readEndpoint reads the first event. What it names must be of the same origin: the
// headers go there.
func (c *Client) readEndpoint(r *eventReader) (*url.URL, error) {
	e, err := r.next()
	if err != nil {
		return nil, err
	}
	if e.name != "endpoint" {
		return nil, errors.New("the first event is not the endpoint")
	}
	target, err := c.url.Parse(string(e.data))
	if err != nil {
		return nil, errors.New("the endpoint cannot be read")
	}
	if !sameOrigin(c.url, target) {
		return nil, fmt.Errorf("%w: the endpoint is of another origin", ErrRedirect)
	}
	target.Fragment = ""
	return target, nil
}

// read reads the stream to its end.
func (e *eventSession) read(r *eventReader) error {
	for {
		ev, err := r.next()
		if err != nil {
			return err
		}
		if ev.name != "message" || len(ev.data) == 0 {
			continue
		}
		m, bad := mcp.Parse(ev.data)
		if bad != nil {
			e.c.refuse(bad)
			if bad.Kind == mcp.Response && !bad.ID.IsZero() {
				e.answer(bad.ID, mcp.Message{})
			}
			continue
		}
		if m.Kind == mcp.Response {
			e.answer(m.ID, m)
			continue
		}
		if err := e.hear(m); err != nil {
			return err
		}
	}
}

// answer hands a response to the call that waits for it. The zero Message stands for one
// that is not valid.
func (e *eventSession) answer(id mcp.ID, m mcp.Message) {
	e.mu.Lock()
	waiting := e.waiting[id.Key()]
	delete(e.waiting, id.Key())
	e.mu.Unlock()
	if waiting == nil {
		e.c.log.Warn("dropped a response that answers nothing")
		return
	}
	waiting <- m
}

// hear gives a message to the listener, or keeps it for one.
func (e *eventSession) hear(m mcp.Message) error {
	e.hearing.Lock()
	defer e.hearing.Unlock()
	e.mu.Lock()
	listener, left := e.listener, e.left
	if listener == nil {
		defer e.mu.Unlock()
		if len(e.unheard) == maxUnheard {
			return errors.New("nobody listens to what the server sends")
		}
		e.unheard = append(e.unheard, m)
		return nil
	}
	e.mu.Unlock()
	if err := listener(m); err != nil {
		e.setListener(nil, nil) // before another Listen can begin
		left <- err
	}
	return nil
}

func (e *eventSession) setListener(f func(mcp.Message) error, left chan error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.listener, e.left = f, left
}

// listen is Listen for this kind of server.
func (e *eventSession) listen(ctx context.Context, onMessage func(mcp.Message) error) error {
	left := make(chan error, 1)
	for {
		e.mu.Lock()
		if len(e.unheard) == 0 {
			e.listener, e.left = onMessage, left
			e.mu.Unlock()
			break
		}
		m := e.unheard[0]
		e.unheard = e.unheard[1:]
		e.mu.Unlock()
		if err := onMessage(m); err != nil {
			return err
		}
	}
	select {
	case err := <-left:
		return err
	case <-e.done:
		return ErrSessionLost
	case <-ctx.Done():
		e.hearing.Lock() // not before the listener has returned
		defer e.hearing.Unlock()
		e.setListener(nil, nil)
		return context.Cause(ctx)
	}
}

// end wakes everybody who waits: there is nothing more to come.
func (e *eventSession) end() {
	e.mu.Lock()
	defer e.mu.Unlock()
	close(e.done)
	e.unheard = nil
}

// do sends a request and waits for its answer on the stream.
func (e *eventSession) do(ctx context.Context, k *call) (mcp.Message, error) {
	key := k.message.ID.Key()
	answer := make(chan mcp.Message, 1)
	e.mu.Lock()
	if _, ok := e.waiting[key]; ok {
		e.mu.Unlock()
		return mcp.Message{}, fmt.Errorf("%w: its id is in use", ErrFrame)
	}
	e.waiting[key] = answer
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.waiting[key] == answer {
			delete(e.waiting, key)
		}
	}()
	if err := e.send(ctx, k.message); err != nil {
		return mcp.Message{}, err
	}
	select {
	case m := <-answer:
		if m.Kind == 0 {
			return mcp.Message{}, ErrBadMessage
		}
		return m, nil
	case <-ctx.Done():
		return mcp.Message{}, context.Cause(ctx)
	case <-e.done:
	}
	select {
	case m := <-answer: // it came last
		if m.Kind != 0 {
			return m, nil
		}
	default:
	}
	if e.c.base.Err() != nil {
		return mcp.Message{}, ErrClosed
	}
	return mcp.Message{}, fmt.Errorf("%w: the stream ended", ErrNoAnswer)
}

// send posts one message. ErrNotTaken: the server knows the session no more.
func (e *eventSession) send(ctx context.Context, m mcp.Message) error {
	select {
	case <-e.done:
		return ErrNotTaken
	default:
	}
	version := ""
	if m.Method != "initialize" {
		version, _ = e.c.versionFor(m)
	}
	h := e.c.header(acceptBoth, version, "")
	h.Set("Content-Type", typeJSON)
	s := e.c.begin(ctx, e.c.opt.HeaderTimeout)
	defer s.end()
	resp, err := e.c.roundTrip(s, http.MethodPost, e.target, h, m.Raw)
	if err != nil {
		return err
	}
	if resp.StatusCode == http.StatusNotFound {
		_ = resp.Body.Close()
		return ErrNotTaken
	}
	return accept(resp, "")
}
