package decide

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/policy"
)

// session is one session of the engine and the calls that are open in it.
type session struct {
	name    string
	caller  string
	engine  *sallyport.Engine
	session *sallyport.Session
	calls   map[string]*call // by the key of their id
	lost    []mcp.ID         // calls whose result could not be read
}

// call is a call that waits for an answer, or that runs and has no result yet. The engine
// keeps it as long: a result has the labels of its call.
type call struct {
	decision sallyport.DecisionID
	size     int  // bytes of its line
	asking   bool // it waits for an answer
	lost     bool // its result could not be read
	number   uint64
	subject  policy.Subject
	upstream string
	name     string
	args     sallyport.Value
	recorded uint64 // its verdict in the log
	began    time.Time
}

// open starts a session, which knows the tools that were listed so far.
func (s *stream) open(m *message) error {
	switch {
	case s.sessions[m.session] != nil:
		return fmt.Errorf("session %s is already open", quote.Value(m.session, maxShown))
	case len(s.sessions) >= MaxSessions:
		return fmt.Errorf("%d sessions are open; end one first", MaxSessions)
	}
	t := &session{name: strings.Clone(m.session), caller: strings.Clone(m.caller), calls: make(map[string]*call)}
	if t.caller == "" {
		t.caller = "local"
	}
	var err error
	// Budgets go with the session; rate limits belong to the caller.
	if t.engine, err = s.opt.Engine(t.caller, sessionStore{s.shared, sallyport.NewMemoryStore(nil)}); err != nil {
		return err
	}
	if t.session, err = t.engine.Session(sallyport.SessionOptions{Caller: t.caller, Doubt: t.name}); err != nil {
		return err
	}
	s.sessions[t.name] = t
	for _, upstream := range slices.Sorted(maps.Keys(s.lists)) {
		s.pin(t, upstream, s.lists[upstream])
	}
	s.recordSession(t, "start")
	return nil
}

// sessionStore counts in a store that is dropped with the session.
type sessionStore struct {
	sallyport.Store
	own sallyport.Store
}

func (s sessionStore) Add(ctx context.Context, counter string, n, limit int64) (int64, bool, error) {
	return s.own.Add(ctx, counter, n, limit)
}

func (s *stream) call(ctx context.Context, t *session, m *message, size int) error {
	switch {
	case len(t.lost) > 0:
		return lostResult(t.lost[0])
	case t.calls[m.id.Key()] != nil:
		return fmt.Errorf("call %s of this session is still open", quote.Text(m.id.Raw(), maxShown))
	case len(t.calls) >= MaxOpen:
		return fmt.Errorf("%d calls of this session are open: send their results, or end it", MaxOpen)
	case s.held+size > MaxHeld:
		return fmt.Errorf("calls of %d bytes are open in all sessions: send answers and results, or end sessions", s.held)
	}
	d := t.session.Decide(ctx, sallyport.Call{Subject: m.subject, Upstream: m.upstream, Name: m.name, Args: m.args})
	c := &call{
		decision: d.ID, size: size, number: d.Call, subject: m.subject,
		upstream: strings.Clone(m.upstream), name: strings.Clone(m.name), args: m.args, began: time.Now(),
	}
	t.calls[m.id.Key()] = c
	s.held += size
	s.settle(ctx, t, m.id, c, d, "")
	return nil
}

// settle starts a call that is allowed, records the verdict, writes it, and keeps the call
// for as long as something of it is still to come. The line is final: what it says runs
// counts as running.
func (s *stream) settle(ctx context.Context, t *session, id mcp.ID, c *call, d sallyport.Decision, detail string) {
	if d.Runs() {
		d = t.session.Start(ctx, c.decision)
		c.began = time.Now()
	}
	if seq, ok := s.recordVerdict(t, id, c, d, detail); ok || s.opt.AuditContinue {
		c.recorded = seq
	} else {
		d.Verdict, d.Check, d.Questions, d.DryRun = sallyport.Deny, sallyport.CheckAudit, nil, false
		d.Reason = "the verdict could not be recorded, and audit.on_failure is deny"
	}
	s.out = appendDecision(s.out, t.name, id, d)
	c.asking = d.Verdict == sallyport.Ask && !d.Runs()
	if !c.asking && !d.Runs() {
		s.close(t, id, c)
	}
}

// close forgets a call.
func (s *stream) close(t *session, id mcp.ID, c *call) {
	t.session.Forget(c.decision)
	delete(t.calls, id.Key())
	s.held -= c.size
}

func (s *stream) answer(ctx context.Context, t *session, m *message) error {
	c := t.calls[m.id.Key()]
	switch {
	case c == nil || !c.asking:
		return fmt.Errorf("call %s of this session waits for no answer", quote.Text(m.id.Raw(), maxShown))
	case len(t.lost) > 0 && m.approve:
		return lostResult(t.lost[0])
	}
	detail := "a human said no"
	if m.approve {
		detail = "a human said yes"
	}
	s.settle(ctx, t, m.id, c, t.session.Answer(ctx, c.decision, m.approve), detail)
	return nil
}

func (s *stream) result(t *session, m *message) error {
	c := t.calls[m.id.Key()]
	switch {
	case c == nil:
		return fmt.Errorf("call %s of this session is not open: it was not made, was refused, or has its result", quote.Text(m.id.Raw(), maxShown))
	case c.asking:
		return fmt.Errorf("call %s of this session waits for an answer and has not run", quote.Text(m.id.Raw(), maxShown))
	}
	t.session.Observe(sallyport.Output{Upstream: c.upstream, Tool: c.source(), Call: c.number, Value: m.result})
	s.close(t, m.id, c)
	if c.lost {
		t.lost = slices.DeleteFunc(t.lost, func(id mcp.ID) bool { return id.Key() == m.id.Key() })
	}
	s.recordResult(t, m, c)
	return nil
}

// method is the request that a call would be in MCP.
func (c *call) method() string {
	switch c.subject {
	case policy.Resource:
		return "resources/read"
	case policy.Prompt:
		return "prompts/get"
	default:
		return "tools/call"
	}
}

// source is what a result is recorded as the output of.
func (c *call) source() string {
	if c.subject == policy.Tool {
		return c.name
	}
	return c.method()
}
