package bridge

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/upstream"
)

// StatelessConn is a handshake server as a stateless client sees it. It is an
// [upstream.Conn] of the stateless era, safe for concurrent use. It belongs to one caller:
// the client's own requests are told apart by what they declare, callers are not.
type StatelessConn struct {
	conn     upstream.Conn
	discover []byte // the server/discover result
	can      capabilities

	ctx         context.Context // ends with the conversation
	cancel      context.CancelCauseFunc
	work        jobs
	out         *outbox
	open        openRequests
	begun       turn // notifications/initialized was sent
	levels      turn // one logging/setLevel at a time
	subscribing turn // one change of the subscriptions at a time

	mu         sync.Mutex
	ids        int
	begunCalls int
	level      int              // that the server was told; -1: none
	calls      map[*call]bool   // that the server has not answered
	parked     map[string]*call // by requestState
	listens    map[*listening]bool
	subs       map[string]int // how many listen for a resource

	beside delivery
}

// Stateless makes a handshake server speak to a stateless client. conn is a conversation
// with the server and initialize its answer to initialize, sent with [InitializeParams]. The
// bridge sends notifications/initialized itself, before its first request; nobody else must.
// The result of server/discover is returned too; the bridge answers with it, should the
// request come to Do.
//
// Whatever conn sends beside requests must be given to [StatelessConn.Beside].
func Stateless(conn upstream.Conn, initialize mcp.Message, c Client) (*StatelessConn, []byte, error) {
	if conn.Era() != upstream.Handshake {
		return nil, nil, fmt.Errorf("the server's conversation is of the %s era", conn.Era())
	}
	if initialize.Error != nil {
		return nil, nil, errors.New("the server answered initialize with an error")
	}
	discover, err := discoverResult(initialize.Result)
	if err != nil {
		return nil, nil, err
	}
	s := &StatelessConn{
		conn: conn, discover: discover, can: declares(at(initialize.Result, "capabilities")),
		begun: newTurn(), levels: newTurn(), subscribing: newTurn(), level: -1,
		calls: map[*call]bool{}, parked: map[string]*call{}, listens: map[*listening]bool{}, subs: map[string]int{},
		beside: delivery{to: c.Beside},
	}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	s.out = &outbox{ctx: s.ctx, conn: conn}
	watch(conn, s.ctx, s.cancel)
	return s, discover, nil
}

// turn lets one at a time do something, and wait for it no longer than its context.
type turn struct {
	free chan struct{}
	done bool
}

func newTurn() turn { return turn{free: make(chan struct{}, 1)} }

func (t *turn) take(ctx context.Context) error {
	select {
	case t.free <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (t *turn) give() { <-t.free }

// Era is stateless.
func (s *StatelessConn) Era() upstream.Era { return upstream.Stateless }

// Version is 2026-07-28.
func (s *StatelessConn) Version() string { return mcp.V20260728 }

// Done is closed when the conversation with the server is over.
func (s *StatelessConn) Done() <-chan struct{} { return s.conn.Done() }

// Err says why, once Done is closed.
func (s *StatelessConn) Err() error { return s.conn.Err() }

// Close ends the conversation with the server, and all that is open or parked.
func (s *StatelessConn) Close(ctx context.Context) error {
	s.beside.close()
	s.cancel(errClosed)
	s.mu.Lock()
	for state, c := range s.parked {
		delete(s.parked, state)
		c.expiry.Stop()
	}
	s.mu.Unlock()
	err := s.conn.Close(ctx)
	return errors.Join(err, s.work.close(ctx))
}

// Do answers server/discover and subscriptions/listen, and carries the rest. A request
// during which the server asks something is answered with input_required; the call goes on at
// the server, and the request that brings the answers waits for it again.
func (s *StatelessConn) Do(ctx context.Context, m mcp.Message, onMessage func(mcp.Message)) (mcp.Message, error) {
	ctx, done := s.open.add(ctx, m.ID)
	defer done()
	if ctx.Err() != nil {
		return mcp.Message{}, context.Cause(ctx)
	}
	var answer mcp.Message
	var err error
	switch m.Method {
	case "server/discover":
		return resultOf(m.ID, s.discover), nil
	case "initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe":
		err = refuse(mcp.CodeMethodNotFound, "a method that 2026-07-28 does not have")
	case "tasks/get", "tasks/update", "tasks/cancel", "tasks/list", "tasks/result":
		err = refuse(mcp.CodeMethodNotFound, "the server's tasks are of 2025-11-25: they are waited for within the call, and the tasks extension is not declared")
	case "subscriptions/listen":
		answer, err = s.listen(ctx, m, onMessage)
	default:
		answer, err = s.forward(ctx, m, onMessage)
	}
	var r *Refusal
	if errors.As(err, &r) {
		return r.Answer(m.ID), nil
	}
	return answer, err
}

// Send takes notifications. Those that a handshake server has no use for end here, and so do
// answers: a stateless client was asked nothing.
func (s *StatelessConn) Send(ctx context.Context, m mcp.Message) error {
	if m.Kind != mcp.Notification {
		return nil
	}
	switch m.Method {
	case "notifications/cancelled":
		s.open.end(m)
		return nil
	case "notifications/initialized", "notifications/roots/list_changed", "notifications/progress":
		return nil
	}
	if err := s.begin(ctx); err != nil {
		return err
	}
	return s.conn.Send(ctx, m)
}

// begin tells the server, once, that the handshake is over.
func (s *StatelessConn) begin(ctx context.Context) error {
	if err := s.begun.take(ctx); err != nil {
		return err
	}
	defer s.begun.give()
	if s.begun.done {
		return nil
	}
	if err := s.conn.Send(ctx, built(mcp.NewNotification("notifications/initialized", nil))); err != nil {
		return err
	}
	s.begun.done = true
	return nil
}

// nextID is an id of the bridge's own.
func (s *StatelessConn) nextID() mcp.ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids++
	return mcp.StringID(fmt.Sprintf("sallyport/bridge-%d", s.ids))
}

// own sends a request of the bridge's own.
func (s *StatelessConn) own(ctx context.Context, method string, params ...pair) (mcp.Message, error) {
	if err := s.begin(ctx); err != nil {
		return mcp.Message{}, err
	}
	return s.conn.Do(ctx, built(mcp.NewRequest(s.nextID(), method, object(params...))), s.Beside)
}

// Beside takes what the server sent that belongs to no request, as far as its transport can
// tell. A question is taken for the only call that is open, and refused if there are
// none or several: it must not be answered by whom it does not concern.
func (s *StatelessConn) Beside(m mcp.Message) {
	switch m.Kind {
	case mcp.Request:
		if c := s.only(); c != nil || m.Method == "ping" {
			s.question(c, m)
			return
		}
		s.out.send(refuse(mcp.CodeInvalidRequest, "the question does not say which call it belongs to: none is open, or several are").Answer(m.ID))
	case mcp.Notification:
		s.notified(nil, m)
	}
}

// only is the call that is open if there is exactly one.
func (s *StatelessConn) only() *call {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.calls) != 1 {
		return nil
	}
	for c := range s.calls {
		return c
	}
	return nil
}

// notified takes a notification; c is the call that it came with, nil if none.
func (s *StatelessConn) notified(c *call, m mcp.Message) {
	switch m.Method {
	case "notifications/tools/list_changed", "notifications/prompts/list_changed",
		"notifications/resources/list_changed", "notifications/resources/updated":
		s.changed(m)
		s.beside.send(m)
	case "notifications/cancelled":
		s.withdrawn(m)
	case "notifications/elicitation/complete", "notifications/tasks/status":
		// 2026-07-28 has neither: the client comes back by itself.
	case "notifications/message":
		if c == nil {
			c = s.logged(m)
		}
		if c != nil {
			c.line.send(m)
		}
	case "notifications/progress":
		if c == nil {
			c = s.progressed(m)
		}
		if c != nil {
			c.line.send(m)
		}
	default:
		if c != nil {
			c.line.send(m)
		} else {
			s.beside.send(m)
		}
	}
}
