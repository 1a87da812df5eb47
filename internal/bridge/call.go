package bridge

import (
	"bytes"
	"context"
	"crypto/sha256"
	"slices"
	"strconv"
	"sync"
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
	defer c.line.detach(w)
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
	edits := []mcp.Edit{{Path: []string{"result", "resultType"}, Value: []byte(`"complete"`)}}
	if cacheable(c.method) {
		edits = append(edits, cacheEdits("result")...)
	}
	if m.ID.Raw() != w.id.Raw() {
		edits = append(edits, mcp.Edit{Path: []string{"id"}, Value: rawID(w.id)})
	}
	return rewritten(m, edits...)
}

// line leads from a call to the request of the client's that waits for it, if one does.
type line struct {
	mu    sync.Mutex
	w     *waiting
	token []byte // the progress token that the server knows
	held  []mcp.Message
}

// attach gives w what was kept, and what comes from now on.
func (l *line) attach(w *waiting, token []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.w, l.token = w, token
	held := l.held
	l.held = nil
	for _, m := range held {
		l.pass(m)
	}
}

// detach ends what goes to w. Nothing reaches it afterwards.
func (l *line) detach(w *waiting) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.w == w {
		l.w = nil
	}
}

func (l *line) send(m mcp.Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.w != nil:
		l.pass(m)
	case m.Method != "notifications/progress" && len(l.held) < maxHeld:
		l.held = append(l.held, m)
	}
}

// pass hands m to whoever waits, as it wants it.
func (l *line) pass(m mcp.Message) {
	switch m.Method {
	case "notifications/message":
		if l.w.level < 0 || levelOf(at(m.Params, "level")) < l.w.level {
			return
		}
	case "notifications/progress":
		switch {
		case l.w.token == nil:
			return
		case !bytes.Equal(l.token, l.w.token):
			var err error
			if m, err = rewritten(m, mcp.Edit{Path: []string{"params", "progressToken"}, Value: l.w.token}); err != nil {
				return
			}
		}
	}
	l.w.to(m)
}

// logged is the call that a log message which names none is for: the only one that is open, or
// the only one that wants logs.
func (s *StatelessConn) logged(m mcp.Message) *call {
	level := levelOf(at(m.Params, "level"))
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*call
	for c := range s.calls {
		if c.line.wants(level) {
			found = append(found, c)
		}
	}
	if len(found) != 1 {
		return nil
	}
	return found[0]
}

func (l *line) wants(level int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w != nil && l.w.level >= 0 && level >= l.w.level
}

// progressed is the call that a progress notification which came beside it is for.
func (s *StatelessConn) progressed(m mcp.Message) *call {
	token := sum(at(m.Params, "progressToken"))
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.calls {
		if c.token != nil && sum(c.token) == token {
			return c
		}
	}
	return nil
}

// raise tells the server to log what the requests that are open want to see. What a request
// does not want of it is kept from it.
func (s *StatelessConn) raise(ctx context.Context, level int) {
	if level < 0 || !s.can.logging || s.levels.take(ctx) != nil {
		return
	}
	defer s.levels.give()
	s.mu.Lock()
	for c := range s.calls {
		if l := c.line.level(); l >= 0 {
			level = min(level, l)
		}
	}
	same := level == s.level
	s.mu.Unlock()
	if same {
		return
	}
	// A server that does not do as it declares logs as it likes: no reason to refuse the call.
	if answer, err := s.own(ctx, "logging/setLevel", pair{"level", quoted(levels[level])}); err == nil && answer.Error == nil {
		s.mu.Lock()
		s.level = level
		s.mu.Unlock()
	}
}

func (l *line) level() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.w == nil {
		return -1
	}
	return l.w.level
}

// withdrawn takes back a question that the server does not want answered any more.
func (s *StatelessConn) withdrawn(m mcp.Message) {
	id, err := mcp.ParseID(at(m.Params, "requestId"))
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.calls {
		c.questions = slices.DeleteFunc(c.questions, func(q *question) bool { return q.id.Key() == id.Key() })
	}
}
