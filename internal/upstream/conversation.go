package upstream

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/streamhttp"
)

// wire carries the messages of one conversation.
type wire interface {
	// do sends a request that is in the table and waits for its answer.
	do(ctx context.Context, r *request) (mcp.Message, error)
	send(ctx context.Context, m mcp.Message) error
	// ready is called when the greeting is over.
	ready(era Era, version string)
	// stop ends it and returns when nothing is left, sooner and harder when ctx ends. Each
	// request's do has then returned or is about to.
	stop(ctx context.Context)
}

// conversation is a Conn over a wire.
type conversation struct {
	s      *Server
	wire   wire
	table  *table
	beside func(mcp.Message)
	caller string // whose it is; set before it is greeted
	began  time.Time

	besideMu sync.Mutex // held while beside runs

	mu      sync.Mutex
	era     Era
	version string
	greeted bool // the caller of Open has it
	over    bool
	err     error
	busy    int         // Do and Send that run
	idle    *time.Timer // nil: no limit
	ended   chan struct{}
	gone    chan struct{}

	buried bool // nothing is left of it; guarded by the server's lock
}

func newConversation(s *Server, beside func(mcp.Message)) *conversation {
	if beside == nil {
		beside = func(mcp.Message) {}
	}
	return &conversation{s: s, table: newTable(), beside: beside, began: time.Now(), ended: make(chan struct{}), gone: make(chan struct{})}
}

// Do is that of Conn.
func (c *conversation) Do(ctx context.Context, m mcp.Message, onMessage func(mcp.Message)) (mcp.Message, error) {
	if m.Kind != mcp.Request {
		return mcp.Message{}, fmt.Errorf("%w: not a request", ErrNotSent)
	}
	if err := c.begin(); err != nil {
		return mcp.Message{}, err
	}
	defer c.finish()
	return c.do(ctx, m, onMessage, c.s.opt.Timeout)
}

// do is Do with a limit of silence, 0 for none.
func (c *conversation) do(ctx context.Context, m mcp.Message, onMessage func(mcp.Message), limit time.Duration) (mcp.Message, error) {
	r := newRequest(m, onMessage)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if !r.listen {
		r.clock = newClock(limit, func() { cancel(ErrTimeout) })
		defer r.clock.stop()
	}
	if err := c.table.add(r); err != nil {
		return mcp.Message{}, err
	}
	if ctx.Err() != nil { // nothing is sent that would only be cancelled
		c.table.remove(r, false)
		return mcp.Message{}, context.Cause(ctx)
	}
	answer, err := c.wire.do(ctx, r)
	r.end()
	return answer, err
}

// Send is that of Conn.
func (c *conversation) Send(ctx context.Context, m mcp.Message) error {
	if m.Kind != mcp.Notification && m.Kind != mcp.Response {
		return fmt.Errorf("%w: neither a notification nor a response", ErrNotSent)
	}
	if err := c.begin(); err != nil {
		return err
	}
	defer c.finish()
	if m.Kind == mcp.Response {
		c.table.replied(m.ID)
	}
	return c.wire.send(ctx, m)
}

// begin enters a Do or Send; finish leaves it. Between them the conversation is not idle.
func (c *conversation) begin() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		if errors.Is(c.err, streamhttp.ErrSessionLost) {
			return notTaken(c.err)
		}
		return c.err
	}
	c.busy++
	if c.idle != nil {
		c.idle.Stop()
	}
	return nil
}

func (c *conversation) finish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy--
	if c.busy == 0 && c.idle != nil && !c.over {
		c.idle.Reset(c.s.opt.Idle)
	}
}

// hand gives a message of the server's to whom it belongs. on and guess are those of
// table.owner.
func (c *conversation) hand(m mcp.Message, on *request, guess bool) {
	if r := c.table.owner(m, on, guess); r != nil && r.give(m) {
		return
	}
	c.besideMu.Lock()
	defer c.besideMu.Unlock()
	select {
	case <-c.gone:
	default:
		c.beside(m)
	}
}

// unsubscribed returns the subscription that m, from the server, ends; nil if it ends none.
func (c *conversation) unsubscribed(m mcp.Message) *request {
	if m.Kind != mcp.Notification || m.Method != "notifications/cancelled" {
		return nil
	}
	return c.table.subscription(idKey(memberOf(m.Params, "requestId")))
}

// greet makes the conversation ready for its client.
func (c *conversation) greet(era Era, version string) {
	c.wire.ready(era, version)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.era, c.version, c.greeted = era, version, true
	if c.s.opt.Idle > 0 && !c.over {
		c.idle = time.AfterFunc(c.s.opt.Idle, c.idled)
	}
}

// idled ends the conversation unless something was begun at the last moment.
func (c *conversation) idled() {
	c.mu.Lock()
	busy := c.busy > 0
	if !busy && !c.over {
		c.finishLocked(ErrIdle)
	}
	c.mu.Unlock()
}

// end ends the conversation, once, for a reason that is safe to show.
func (c *conversation) end(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over {
		c.finishLocked(why)
	}
}

func (c *conversation) finishLocked(why error) {
	c.over, c.err = true, why
	if c.idle != nil {
		c.idle.Stop()
	}
	close(c.ended)
	go c.bury()
	c.s.lost(c, why, c.greeted)
}

// bury returns when nothing is left of the conversation, and tells.
func (c *conversation) bury() {
	c.wire.stop(context.Background())
	c.s.buried(c)
	c.besideMu.Lock() // beside has returned, and is not called again
	close(c.gone)
	c.besideMu.Unlock()
}

// Era is that of Conn.
func (c *conversation) Era() Era {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.era
}

// Version is that of Conn.
func (c *conversation) Version() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.version
}

// Done is that of Conn.
func (c *conversation) Done() <-chan struct{} { return c.ended }

// Err is that of Conn.
func (c *conversation) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close is that of Conn.
func (c *conversation) Close(ctx context.Context) error {
	c.end(ErrClosed)
	select {
	case <-c.gone:
		return nil
	case <-ctx.Done():
	}
	c.wire.stop(ctx) // without any more patience
	select {
	case <-c.gone:
		return nil
	case <-time.After(closeWait):
		return context.Cause(ctx)
	}
}

// closeWait is for the last steps after everything was killed.
const closeWait = time.Second

// ownID is the id of a request of this package's own. It fits into 32 bits, because some
// servers read no other, and is far from those that a gateway counts up.
func ownID() mcp.ID { return mcp.IntID(1<<30 + rand.Int64N(1<<30)) }

func (c *conversation) isOver() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}
