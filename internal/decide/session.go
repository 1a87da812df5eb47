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

// call is a call that waits for an answer, or that runs and has no result yet.
type call struct {
	decision sallyport.DecisionID // while it waits for an answer
	asking   int                  // bytes of its line while it waits for an answer, else 0
	lost     bool                 // its result could not be read
	number   uint64
	subject  policy.Subject
	upstream string
	name     string
	args     sallyport.Value // while it waits for an answer
	recorded uint64          // its verdict in the log
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
	}
	d := t.session.Decide(ctx, sallyport.Call{Subject: m.subject, Upstream: m.upstream, Name: m.name, Args: m.args})
	if d.Verdict == sallyport.Ask && !d.Runs() && s.asked+size > MaxAsked {
		t.session.Forget(d.ID)
		return fmt.Errorf("calls of %d bytes wait for an answer: answer them, or end their sessions", s.asked)
	}
	c := &call{
		number: d.Call, subject: m.subject, upstream: strings.Clone(m.upstream), name: strings.Clone(m.name), args: m.args, began: time.Now(),
	}
	s.settle(ctx, t, m.id, c, d, "")
	if c.decision != 0 {
		c.asking = size
		s.asked += size
	}
	return nil
}

// settle starts a call that is allowed, records the verdict, writes it, and keeps the call
// for as long as something of it is still to come. The line is final: what it says runs
// counts as running.
func (s *stream) settle(ctx context.Context, t *session, id mcp.ID, c *call, d sallyport.Decision, detail string) {
	decided := d.ID
	if d.Runs() {
		d = t.session.Start(ctx, decided)
		c.began = time.Now()
	}
	if seq, ok := s.recordVerdict(t, id, c, d, detail); ok || s.opt.AuditContinue {
		c.recorded = seq
	} else {
		d.Verdict, d.Check, d.Questions, d.DryRun = sallyport.Deny, sallyport.CheckAudit, nil, false
		d.Reason = "the verdict could not be recorded, and audit.on_failure is deny"
	}
	s.out = appendDecision(s.out, t.name, id, d)
	if d.Verdict == sallyport.Ask && !d.Runs() {
		c.decision = decided
		t.calls[id.Key()] = c
		return
	}
	t.session.Forget(decided)
	c.decision, c.args = 0, sallyport.Value{}
	if d.Runs() {
		t.calls[id.Key()] = c
	} else {
		delete(t.calls, id.Key())
	}
}

func (s *stream) answer(ctx context.Context, t *session, m *message) error {
	c := t.calls[m.id.Key()]
	switch {
	case c == nil || c.decision == 0:
		return fmt.Errorf("call %s of this session waits for no answer", quote.Text(m.id.Raw(), maxShown))
	case len(t.lost) > 0 && m.approve:
		return lostResult(t.lost[0])
	}
	detail := "a human said no"
	if m.approve {
		detail = "a human said yes"
	}
	s.asked -= c.asking
	c.asking = 0
	s.settle(ctx, t, m.id, c, t.session.Answer(ctx, c.decision, m.approve), detail)
	return nil
}

func (s *stream) result(t *session, m *message) error {
	c := t.calls[m.id.Key()]
	switch {
	case c == nil:
		return fmt.Errorf("call %s of this session is not open: it was not made, was refused, or has its result", quote.Text(m.id.Raw(), maxShown))
	case c.decision != 0:
		return fmt.Errorf("call %s of this session waits for an answer and has not run", quote.Text(m.id.Raw(), maxShown))
	}
	t.session.Observe(sallyport.Output{Upstream: c.upstream, Tool: c.source(), Call: c.number, Value: m.result})
	delete(t.calls, m.id.Key())
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
