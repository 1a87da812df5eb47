package policytest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/explain"
	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/policy"
)

// NewEngine makes the engine of one test from its policy; more holds the store and the
// clock.
type NewEngine func(p *policy.Policy, more sallyport.Options) (*sallyport.Engine, error)

// Outcome is what became of one test. Its texts are escaped and bounded.
type Outcome struct {
	Name     string
	File     string
	Line     int
	Calls    int
	Failures []Failure
	Log      []string // what happened, step by step
}

// Failure is one expectation that was not met.
type Failure struct {
	Line    int
	Text    string
	Details []string // the reason and the rules
}

// start is when every test starts.
var start = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// Run runs every test of a suite, in order. The error is of the configuration, not of a
// test. cov may be nil.
func (s *Suite) Run(ctx context.Context, engine NewEngine, cov *Coverage) ([]Outcome, error) {
	all := make([]Outcome, 0, len(s.Tests))
	for _, t := range s.Tests {
		o, err := t.run(ctx, s.File, engine, cov)
		if err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	return all, nil
}

// runner is one test while it runs.
type runner struct {
	test    *Test
	session *sallyport.Session
	lists   map[string][]contract.Tool // as each upstream told last
	now     time.Time
	out     Outcome
	cov     *Coverage
}

func (t *Test) run(ctx context.Context, file string, engine NewEngine, cov *Coverage) (Outcome, error) {
	r := &runner{test: t, lists: make(map[string][]contract.Tool), now: start, cov: cov}
	r.out = Outcome{Name: show(t.Name), File: show(file), Line: t.Line}
	clock := func() time.Time { return r.now }
	e, err := engine(t.Policy, sallyport.Options{Now: clock, Store: sallyport.NewMemoryStore(clock)})
	if err != nil {
		return r.out, err
	}
	if r.session, err = e.Session(sallyport.SessionOptions{Caller: t.Caller, Doubt: "test"}); err != nil {
		return r.out, err
	}
	for _, l := range t.lists {
		r.pin(0, l)
	}
	for _, l := range t.assumed() {
		r.lists[l.upstream] = l.tools
		r.session.Pin(l.upstream, l.tools) // what is missing in such a list means nothing
	}
	for _, st := range t.steps {
		if err := ctx.Err(); err != nil {
			return r.out, err
		}
		r.step(ctx, st)
	}
	return r.out, nil
}

// told are the upstreams of which the test says what they list.
func (t *Test) told() map[string]bool {
	told := make(map[string]bool)
	for _, l := range t.lists {
		told[l.upstream] = true
	}
	for _, st := range t.steps {
		if st.list != nil {
			told[st.list.upstream] = true
		}
	}
	return told
}

// uses are the tools that a step calls or expects in a list, and their upstream.
func (st step) uses() (upstream string, tools []string) {
	switch {
	case st.call != nil && st.call.call.Subject == policy.Tool:
		return st.call.call.Upstream, []string{st.call.call.Name}
	case st.shown != nil:
		for _, n := range st.shown.names {
			tools = append(tools, n.tool)
		}
		return st.shown.upstream, tools
	}
	return "", nil
}

// assumed are the lists of upstreams of which the test says none: the tools that it
// names are there, without a schema.
func (t *Test) assumed() []list {
	told := t.told()
	var all []list
	at := make(map[string]int)
	named := make(map[[2]string]bool)
	for _, st := range t.steps {
		upstream, tools := st.uses()
		if told[upstream] {
			continue
		}
		for _, name := range tools {
			i, ok := at[upstream]
			if !ok {
				i = len(all)
				at[upstream] = i
				all = append(all, list{upstream: upstream})
			}
			if key := [2]string{upstream, name}; !named[key] {
				named[key] = true
				all[i].tools = append(all[i].tools, bare(upstream, name))
			}
		}
	}
	return all
}

// bare is a tool of which only the name is known.
func bare(upstream, name string) contract.Tool {
	definition, err := doc.FromGo(map[string]any{"name": name})
	if err != nil {
		panic(err) // the name was read from UTF-8
	}
	return contract.Tool{Upstream: upstream, Name: name, Definition: definition}
}

func (r *runner) pin(line int, l list) {
	r.lists[l.upstream] = l.tools
	for _, notice := range r.session.Pin(l.upstream, l.tools) {
		r.log(line, "%s", quote.Text(notice.Text, 1000))
	}
}

func (r *runner) step(ctx context.Context, st step) {
	line := st.at.Line()
	switch {
	case st.list != nil:
		r.log(line, "%s lists %d tools", quote.Value(st.list.upstream, maxShown), len(st.list.tools))
		r.pin(line, *st.list)
	case st.output != nil:
		r.log(line, "output of %s", quote.Value(st.output.Tool, maxShown))
		r.session.Observe(*st.output)
	case st.prompt != nil:
		r.log(line, "the user typed %s", quote.Value(*st.prompt, maxShown))
		r.session.Prompt(*st.prompt)
	case st.call != nil:
		r.call(ctx, line, st.call)
	case st.shown != nil:
		r.shown(st.shown)
	default:
		r.log(line, "%s pass", st.wait)
		r.now = r.now.Add(st.wait)
	}
}

// shown compares what a client sees of a list with what it has to see.
func (r *runner) shown(s *shownStep) {
	for _, n := range s.names {
		state, why := r.state(s.upstream, n.tool)
		want := "listed"
		if n.hidden {
			want = "hidden"
		}
		text := "tool " + quote.Value(n.tool, maxShown) + ": " + state
		r.log(n.at.Line(), "%s", text)
		if state != want {
			r.fail(n.at.Line(), text+", want "+want, []string{why})
		}
	}
}

// state is listed, hidden by the policy, or refused by a pin: such a tool is no proof
// that the policy hides anything.
func (r *runner) state(upstream, tool string) (state, why string) {
	if r.session.Hidden(sallyport.Call{Subject: policy.Tool, Upstream: upstream, Name: tool}) {
		return "hidden", "the policy denies it whatever its arguments, and hides what it denies"
	}
	found := false
	for _, t := range r.lists[upstream] {
		found = found || t.Name == tool && r.session.Listing(upstream, []contract.Tool{t})
	}
	switch {
	case !found:
		return "refused", "it is not in the list of tools, or is refused there"
	case !r.session.Hides(policy.Tool):
		return "listed", "the policy hides no tools: it has no hide_denied_tools, or it runs dry"
	}
	return "listed", "the policy does not deny it whatever its arguments"
}

// call decides a call as the gateway does, and runs it as far as the engine goes.
func (r *runner) call(ctx context.Context, line int, c *callStep) {
	x := r.session.Explain(ctx, c.call)
	r.cov.note(r.test.Policy, x)
	r.out.Calls++
	d := r.start(ctx, r.session.Decide(ctx, c.call))
	defer func() { r.session.Forget(d.ID) }()
	r.log(line, "%s: %s", shownCall(c.call), verdict(d))
	ok := r.compare(d, c.want, c.call, x)
	if c.answer != nil && ok {
		if d.DryRun {
			r.fail(c.then.at.Line(), "nothing is asked here: the policy runs dry", nil)
			return
		}
		d = r.start(ctx, r.session.Answer(ctx, d.ID, *c.answer))
		r.log(line, "after the answer: %s", verdict(d))
		r.compare(d, c.then, c.call, x)
	}
	if d.Runs() && c.result != nil {
		r.session.Observe(sallyport.Output{Upstream: c.call.Upstream, Tool: source(c.call), Call: d.Call, Value: *c.result})
	}
}

func (r *runner) start(ctx context.Context, d sallyport.Decision) sallyport.Decision {
	if d.Runs() {
		return r.session.Start(ctx, d.ID)
	}
	return d
}

// source is what a result is recorded as the output of.
func source(c sallyport.Call) string {
	switch c.Subject {
	case policy.Resource:
		return "resources/read"
	case policy.Prompt:
		return "prompts/get"
	default:
		return c.Name
	}
}

// compare notes what differs between a decision and what was expected of it.
func (r *runner) compare(d sallyport.Decision, want expectation, c sallyport.Call, x sallyport.Explanation) bool {
	rule := d.Rule
	if rule == "" && judged(x) {
		rule = defaultRule
	}
	var wrong []string
	differ := func(what, got, want string) {
		if want != "" && got != want {
			wrong = append(wrong, fmt.Sprintf("%s %s, want %s", what, orNone(got), show(want)))
		}
	}
	if d.Verdict != want.verdict {
		wrong = append(wrong, fmt.Sprintf("%s, want %s", verdict(d), want.verdict))
	}
	differ("rule", rule, want.rule)
	differ("check", string(d.Check), string(want.check))
	if !strings.Contains(d.Reason, want.reason) {
		wrong = append(wrong, fmt.Sprintf("the reason has no %s", quote.Value(want.reason, maxShown)))
	}
	if len(wrong) == 0 {
		return true
	}
	r.fail(want.at.Line(), shownCall(c)+": "+strings.Join(wrong, "; "), details(d, c, r.test.Policy, x))
	return false
}

// judged reports that the policy was reached.
func judged(x sallyport.Explanation) bool {
	for _, s := range x.Steps {
		if s.Check == sallyport.CheckPolicy {
			return true
		}
	}
	return false
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return show(s)
}

const (
	maxShown   = 120   // characters of a value
	maxDetails = 24    // lines of rules below a failure
	maxLog     = 1_000 // lines of one test
	maxFailed  = 100   // failures of one test
)

func show(s string) string { return quote.Text(s, 300) }

// details say why a decision is what it is.
func details(d sallyport.Decision, c sallyport.Call, p *policy.Policy, x sallyport.Explanation) []string {
	var lines []string
	if d.Reason != "" {
		lines = append(lines, "reason: "+quote.Text(d.Reason, 1000))
	}
	if !judged(x) {
		return lines
	}
	trace := explain.RuleLines(explain.Rules(x.Rules, p, c))
	if n := len(trace) - maxDetails; n > 0 {
		lines = append(lines, fmt.Sprintf("… %d lines; sallyport explain shows them all", n))
		trace = trace[n:]
	}
	return append(lines, trace...)
}

func verdict(d sallyport.Decision) string {
	s := d.Verdict.String()
	if d.Check != "" {
		s += " by check " + string(d.Check)
	}
	if d.DryRun && d.Verdict != sallyport.Allow {
		s += " (not enforced: the policy runs dry)"
	}
	return s
}

func shownCall(c sallyport.Call) string {
	return c.Subject.String() + " " + quote.Value(c.Name, maxShown)
}

func (r *runner) log(line int, format string, args ...any) {
	if len(r.out.Log) >= maxLog {
		return
	}
	where := ""
	if line > 0 {
		where = fmt.Sprintf("%s:%d: ", r.out.File, line)
	}
	r.out.Log = append(r.out.Log, where+fmt.Sprintf(format, args...))
}

func (r *runner) fail(line int, text string, details []string) {
	if len(r.out.Failures) == maxFailed {
		text, details = "more failures are not listed", nil
	} else if len(r.out.Failures) > maxFailed {
		return
	}
	r.out.Failures = append(r.out.Failures, Failure{line, text, details})
}
