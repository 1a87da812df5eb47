package bridge

import (
	"bytes"
	"context"
	"crypto/sha256"
	"strconv"
	"time"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// call is one request of a stateless client's as the server has it. Requests of the client's
// come and go while it is open: the first, and the retries that bring answers.
type call struct {
	method string
	digest [sha256.Size]byte // of what a retry must be equal in
	token  []byte            // the raw progress token that the server knows, nil if none
	first  mcp.Message       // what the server was sent
	line   line
	ctx    context.Context
	cancel context.CancelCauseFunc

	wake     chan struct{} // holds one: questions were added
	finished chan struct{} // closed with the server's answer
	answer   mcp.Message
	err      error

	// Guarded by the bridge's lock.
	seq       int // calls are counted
	questions []*question
	count     int // of questions, for their keys
	rounds    int
	asks      capabilities // of the client's request that waits, or did last
	expiry    *time.Timer
}

// question is one request of the server's that the client has not answered.
type question struct {
	key    string // in inputRequests
	id     mcp.ID // the server's; zero for a page to open before the call is made again
	method string
	params []byte // raw, for 2026-07-28
}

// waiting is a request of the client's that waits for a call.
type waiting struct {
	id    mcp.ID
	token []byte // raw, nil if none
	level int    // of logs that it wants, -1 if none
	asks  capabilities
	to    func(mcp.Message)
}

// forward carries a request to the server, or back to a call that is parked.
func (s *StatelessConn) forward(ctx context.Context, m mcp.Message, onMessage func(mcp.Message)) (mcp.Message, error) {
	w, err := newWaiting(m, onMessage)
	if err != nil {
		return mcp.Message{}, err
	}
	if err := s.begin(ctx); err != nil {
		return mcp.Message{}, err
	}
	var c *call
	if interruptible(m.Method) && at(m.Params, "requestState") != nil {
		c, err = s.resume(ctx, m, w)
	} else {
		c, err = s.start(ctx, m, w)
	}
	if err != nil {
		return mcp.Message{}, err
	}
	defer c.line.detach()
	for {
		select {
		case <-c.finished:
			return s.finish(c, w)
		default:
		}
		select {
		case <-c.finished:
		case <-c.wake:
			if result, ok := s.park(c); ok {
				return resultOf(w.id, result), nil
			}
		case <-ctx.Done():
			c.cancel(context.Cause(ctx))
			return mcp.Message{}, context.Cause(ctx)
		}
	}
}

func newWaiting(m mcp.Message, onMessage func(mcp.Message)) (*waiting, error) {
	meta := at(m.Params, "_meta")
	w := &waiting{id: m.ID, to: onMessage, level: -1, token: bytes.Clone(at(meta, "progressToken")), asks: declares(at(meta, keyCapabilities))}
	w.asks.roots = false // none are declared to the server either
	if level := at(meta, keyLogLevel); level != nil {
		if w.level = levelOf(level); w.level < 0 {
			return nil, refuse(mcp.CodeInvalidParams, "no level of logging")
		}
	}
	return w, nil
}

// start sends the client's request to the server.
func (s *StatelessConn) start(ctx context.Context, m mcp.Message, w *waiting) (*call, error) {
	edits := []mcp.Edit{}
	for _, key := range []string{keyVersion, keyClientInfo, keyCapabilities, keyLogLevel} {
		edits = append(edits, mcp.Edit{Path: []string{"params", "_meta", key}})
	}
	if interruptible(m.Method) {
		edits = append(edits, mcp.Edit{Path: []string{"params", "inputResponses"}}, mcp.Edit{Path: []string{"params", "requestState"}})
	}
	request, err := rewritten(m, edits...)
	if err != nil {
		return nil, err
	}
	c := &call{
		method: m.Method, digest: digest(m), token: w.token, first: request,
		wake: make(chan struct{}, 1), finished: make(chan struct{}), asks: w.asks,
	}
	s.raise(ctx, w.level)
	s.run(c, w)
	return c, nil
}

// digest is of what a retry must have in common with the request that it retries: all but
// the answers, the state and _meta, which belongs to each request by itself.
func digest(m mcp.Message) [sha256.Size]byte {
	params := sum(m.Params, "inputResponses", "requestState", "_meta")
	return sha256.Sum256(append([]byte(m.Method), params[:]...))
}

// run lets the server work on a call, whoever waits for it meanwhile.
func (s *StatelessConn) run(c *call, w *waiting) {
	c.ctx, c.cancel = context.WithCancelCause(s.ctx)
	c.line.attach(w, c.token)
	s.mu.Lock()
	s.begunCalls++
	c.seq = s.begunCalls
	s.calls[c] = true
	s.mu.Unlock()
	over := func(answer mcp.Message, err error) {
		s.mu.Lock()
		delete(s.calls, c)
		left := c.questions
		c.questions = nil
		s.mu.Unlock()
		for _, q := range left {
			s.out.send(refuse(mcp.CodeInternal, "the call that this question belongs to is over").Answer(q.id))
		}
		c.answer, c.err = answer, err
		close(c.finished)
	}
	if !s.work.run(func() {
		defer c.cancel(nil)
		over(s.toServer(c))
	}) {
		over(mcp.Message{}, errClosed)
	}
}

// toServer makes the call, as a task if the server wants that.
func (s *StatelessConn) toServer(c *call) (mcp.Message, error) {
	from := func(m mcp.Message) {
		switch m.Kind {
		case mcp.Request:
			s.question(c, m)
		case mcp.Notification:
			s.notified(c, m)
		}
	}
	answer, err := s.conn.Do(c.ctx, c.first, from)
	if err != nil || c.method != "tools/call" || !s.can.taskCalls || codeOf(answer) != mcp.CodeMethodNotFound {
		return answer, err
	}
	return s.asTask(c, from)
}

func codeOf(m mcp.Message) int {
	n, err := strconv.Atoi(string(at(m.Error, "code")))
	if err != nil {
		return 0
	}
	return n
}

// finish makes the server's answer one for a stateless client.
func (s *StatelessConn) finish(c *call, w *waiting) (mcp.Message, error) {
	if c.err != nil {
		return mcp.Message{}, c.err
	}
	m := c.answer
	if m.Error != nil {
		switch code := codeOf(m); {
		case code == codeURLElicitation:
			return s.pages(c, w)
		case code == codeResourceNotFound && c.method == "resources/read":
			edits := []mcp.Edit{{Path: []string{"error", "code"}, Value: []byte(strconv.Itoa(mcp.CodeInvalidParams))}}
			if m.ID.Raw() != w.id.Raw() {
				edits = append(edits, mcp.Edit{Path: []string{"id"}, Value: rawID(w.id)})
			}
			return rewritten(m, edits...)
		}
		return withID(m, w.id)
	}
	if !isObject(m.Result) {
		return mcp.Message{}, refuse(mcp.CodeInternal, "the server's result is no object")
	}
	// Questions within a result are not of the server's era. As a complete result they would
	// look answered.
	if isObject(at(m.Result, "inputRequests")) {
		return mcp.Message{}, refuse(mcp.CodeInternal, "the server asks within its result, which its protocol version does not have")
	}
	edits := []mcp.Edit{{Path: []string{"result", "resultType"}, Value: []byte(`"complete"`)}}
	if cacheable(c.method) {
		edits = append(edits, cacheEdits("result")...)
	}
	if m.ID.Raw() != w.id.Raw() {
		edits = append(edits, mcp.Edit{Path: []string{"id"}, Value: rawID(w.id)})
	}
	return rewritten(m, edits...)
}
