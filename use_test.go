package sallyport_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/policy"
)

// reloading is one session whose configuration changes.
type reloading struct {
	*testing.T
	doubts *sallyport.Doubts
	clock  *hand
	s      *sallyport.Session
}

func (r *reloading) engine(policy, entries string, change ...func(*sallyport.Options)) *sallyport.Engine {
	opt := sallyport.Options{Policy: rules(r, policy), Contracts: contracts(r, entries), Doubts: r.doubts, Now: r.clock.now}
	for _, c := range change {
		c(&opt)
	}
	return engine(r, opt)
}

func (r *reloading) use(policy, entries string, change ...func(*sallyport.Options)) (notices string) {
	r.Helper()
	all, err := r.s.Use(r.engine(policy, entries, change...))
	if err != nil {
		r.Fatal(err)
	}
	for _, n := range all {
		notices += n.Text + "\n"
	}
	return notices
}

const allowAll = "p: {default: allow}"

func newReloading(t *testing.T, policy, entries string, change ...func(*sallyport.Options)) *reloading {
	clock := newHand()
	r := &reloading{T: t, clock: clock, doubts: sallyport.NewDoubts(sallyport.DoubtOptions{Now: clock.now})}
	r.s = enter(t, r.engine(policy, entries, change...), "a")
	return r
}

func TestARunningSessionDecidesByTheNewConfiguration(t *testing.T) {
	r := newReloading(t, allowAll, office)
	want(t, decide(t, r.s, "read", `{}`), sallyport.Allow, "", "")
	notices := r.use("p: {default: allow, hide_denied_tools: true, rules: [{name: refuse, effect: deny, tools: [read, rread]}]}", office+"serch: {destructive: true}\n")
	for _, part := range []string{"'refuse' names the tool 'rread'", "serch"} {
		if !strings.Contains(notices, part) {
			t.Errorf("notices %q, want %s", notices, part)
		}
	}
	want(t, decide(t, r.s, "read", `{}`), sallyport.Deny, sallyport.CheckPolicy, "'refuse'")
	if !r.s.Hidden(call(t, "read", `{}`)) || !r.s.Hides(policy.Tool) {
		t.Error("what the new policy denies is not hidden")
	}
	// Contracts: a sink that was none, paths that were free.
	r.use(allowAll, "read: {exfiltrating: true, sink_params: [to]}\nbook: {write_params: [path]}\n")
	want(t, decide(t, r.s, "read", `{"to":"ana@partner.example"}`), sallyport.Ask, sallyport.CheckFlow, "")
	want(t, decide(t, r.s, "book", `{"path":"/x"}`), sallyport.Deny, sallyport.CheckPath, "")
	if !r.s.Writes(call(t, "book", `{}`)) {
		t.Error("the new contract's writes are not known")
	}
	// Flow settings.
	shows(t, r.s, "write to eve@attacker.example")
	r.use(allowAll, office, func(o *sallyport.Options) { o.Flow = &sallyport.FlowSettings{Untrusted: sallyport.Ask} })
	sends(t, r.s, "eve@attacker.example", sallyport.Ask)
	// What was pinned goes on.
	r.use(allowAll, office)
	r.s.Pin("u", tools(t, "u", `{"name":"read","description":"changed"}`))
	want(t, decide(t, r.s, "read", `{}`), sallyport.Deny, sallyport.CheckPin, "")
	// Another's Doubts are refused, and nothing changed.
	if _, err := r.s.Use(engine(t, sallyport.Options{})); err == nil {
		t.Error("a session takes an engine with other Doubts")
	}
	sends(t, r.s, "eve@attacker.example", sallyport.Deny)
}

// What was decided by the old configuration and did not start is decided again.
func TestOpenDecisionsAreDecidedAgain(t *testing.T) {
	denies := "p: {default: allow, rules: [{name: refuse, effect: deny, tools: [read]}]}"
	asks := "p: {default: allow, rules: [{name: ask, effect: ask, tools: [read], reason: first}]}"
	for _, c := range []struct {
		name, before, after string
		entries             string
		answer              bool
		change              func(*sallyport.Options)
		verdict             sallyport.Verdict
		check               sallyport.Check
		reason              string
	}{
		{name: "still allowed", before: allowAll, after: allowAll, verdict: sallyport.Allow},
		{name: "denied now", before: allowAll, after: denies, verdict: sallyport.Deny, check: sallyport.CheckPolicy, reason: "'refuse'"},
		{name: "asked now", before: allowAll, after: asks, verdict: sallyport.Deny, check: sallyport.CheckPolicy, reason: "the configuration changed before the call started"},
		{name: "forbidden now", before: allowAll, after: allowAll, entries: "read: {max_calls: 0}\n", verdict: sallyport.Deny, check: sallyport.CheckBudget},
		{name: "a budget that is new", before: allowAll, after: allowAll, entries: "read: {max_calls: 1}\n", verdict: sallyport.Allow},
		{name: "agreed, asked the same", before: asks, after: asks, answer: true, verdict: sallyport.Deny, check: sallyport.CheckPolicy, reason: "the configuration changed before the call started"},
		{name: "agreed, allowed now", before: asks, after: allowAll, answer: true, verdict: sallyport.Allow},
		{name: "agreed, asked something else", before: asks, after: strings.Replace(asks, "first", "second", 1), answer: true, verdict: sallyport.Deny, check: sallyport.CheckPolicy, reason: "second; the configuration changed"},
		{name: "agreed, denied now", before: asks, after: denies, answer: true, verdict: sallyport.Deny, check: sallyport.CheckPolicy, reason: "'refuse'"},
		{name: "nobody agreed, allowed now", before: asks, after: allowAll, verdict: sallyport.Ask, check: sallyport.CheckPolicy},
		{name: "denied before", before: denies, after: allowAll, verdict: sallyport.Deny, check: sallyport.CheckPolicy},
		{
			name: "denied in a dry run, and now for good", before: denies, after: denies,
			change: func(o *sallyport.Options) { o.DryRun = true }, verdict: sallyport.Deny, check: sallyport.CheckPolicy,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var change []func(*sallyport.Options)
			if c.change != nil {
				change = append(change, c.change)
			}
			r := newReloading(t, c.before, office, change...)
			d := decide(t, r.s, "read", `{}`)
			if c.answer {
				d = r.s.Answer(t.Context(), d.ID, true)
			}
			r.use(c.after, office+c.entries)
			got := r.s.Start(t.Context(), d.ID)
			want(t, got, c.verdict, c.check, c.reason)
			if got.Runs() != (c.verdict == sallyport.Allow) || got.ID != d.ID || got.Call != d.Call {
				t.Errorf("%+v", got)
			}
		})
	}
}

// A budget is charged once, also by a contract that is new.
func TestBudgetsGoOnUnderTheNewConfiguration(t *testing.T) {
	r := newReloading(t, allowAll, "read: {max_calls: 2}\n")
	d := decide(t, r.s, "read", `{}`)
	r.use(allowAll, "read: {max_calls: 2}\n")
	want(t, r.s.Start(t.Context(), d.ID), sallyport.Allow, "", "")
	want(t, decide(t, r.s, "read", `{}`), sallyport.Allow, "", "")
	want(t, decide(t, r.s, "read", `{}`), sallyport.Deny, sallyport.CheckBudget, "max_calls is 2")

	r = newReloading(t, allowAll, office)
	d = decide(t, r.s, "read", `{}`)
	r.use(allowAll, "read: {max_calls: 1}\n")
	want(t, r.s.Start(t.Context(), d.ID), sallyport.Allow, "", "")
	want(t, decide(t, r.s, "read", `{}`), sallyport.Deny, sallyport.CheckBudget, "1 time")

	r = newReloading(t, allowAll, "read: {max_calls: 9}\n")
	decide(t, r.s, "read", `{}`)
	d = decide(t, r.s, "read", `{}`)
	r.use(allowAll, "read: {max_calls: 1}\n")
	want(t, r.s.Start(t.Context(), d.ID), sallyport.Deny, sallyport.CheckBudget, "max_calls is 1")
}

func TestRatesGoOnUnderTheNewConfiguration(t *testing.T) {
	limited := func(rate float64, burst int) (string, func(*sallyport.Options)) {
		return "p: {rules: [{name: r, effect: allow, tools: [read], rate_limits: [l]}]}", func(o *sallyport.Options) {
			o.RateLimits = map[string]sallyport.RateLimit{"l": {Rate: rate, Burst: burst}}
		}
	}
	start := func(r *reloading) sallyport.Decision {
		d := decide(r, r.s, "read", `{}`)
		if !d.Runs() {
			return d
		}
		return r.s.Start(r.Context(), d.ID)
	}
	policy, change := limited(0.1, 2)
	r := newReloading(t, policy, office, change)
	want(t, start(r), sallyport.Allow, "", "")
	want(t, start(r), sallyport.Allow, "", "")
	want(t, start(r), sallyport.Deny, sallyport.CheckRate, "retry in 10.0s")
	_, change = limited(0.5, 8)
	r.use(policy, office, change)
	d := start(r)
	want(t, d, sallyport.Deny, sallyport.CheckRate, "retry in 2.0s")
	r.clock.add(d.Retry)
	// A decision that is open is debited by the limits that hold when it starts, once.
	open := decide(t, r.s, "read", `{}`)
	r.use(policy, office, change)
	want(t, r.s.Start(t.Context(), open.ID), sallyport.Allow, "", "")
	want(t, start(r), sallyport.Deny, sallyport.CheckRate, "retry in 2.0s")
	// Without the limit.
	r.clock.add(d.Retry)
	open = decide(t, r.s, "read", `{}`)
	r.use(allowAll, office)
	want(t, r.s.Start(t.Context(), open.ID), sallyport.Allow, "", "")
	want(t, start(r), sallyport.Allow, "", "")
}

// An answer under way is labelled as the contracts say that hold when it comes.
func TestAnswersUnderWayGetTheNewLabels(t *testing.T) {
	for _, c := range []struct {
		after   string
		verdict sallyport.Verdict
	}{
		{office, sallyport.Allow},
		{"send: {exfiltrating: true, sink_params: [to]}\n", sallyport.Deny},
	} {
		r := newReloading(t, allowAll, office)
		d := decide(t, r.s, "book", `{}`)
		r.s.Start(t.Context(), d.ID)
		r.use(allowAll, c.after)
		r.s.Observe(sallyport.Output{Upstream: "u", Tool: "book", Call: d.Call, Value: value(t, `{"structuredContent":["ana@corp.example"]}`)})
		sends(t, r.s, "ana@corp.example", c.verdict)
	}
}

// Two configurations that each refuse one of two calls: no mixture of them allows both, or
// neither.
func TestAConfigurationHoldsWhole(t *testing.T) {
	r := newReloading(t, allowAll, office)
	var engines []*sallyport.Engine
	for i := range 2 {
		name := fmt.Sprintf("c%d", i)
		engines = append(engines, r.engine(
			fmt.Sprintf("p: {default: allow, rules: [{name: %s, effect: ask, tools: [read], reason: %s}]}", name, name),
			fmt.Sprintf("read: {destructive: %v}\nsend: {exfiltrating: false}\n", i == 1)))
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				if _, err := r.s.Use(engines[i%2]); err != nil {
					t.Error(err)
				}
			}
		}
	})
	var deciders sync.WaitGroup
	if _, err := r.s.Use(engines[0]); err != nil {
		t.Fatal(err)
	}
	for range 8 {
		deciders.Go(func() {
			for range 100 {
				d := decide(t, r.s, "read", `{}`)
				if d.Verdict != sallyport.Ask || len(d.Questions) != map[string]int{"c0": 1, "c1": 2}[d.Rule] {
					t.Errorf("%s: %v with %d questions", d.Rule, d.Verdict, len(d.Questions))
				}
				r.s.Answer(t.Context(), d.ID, true)
				r.s.Start(t.Context(), d.ID)
				r.s.Forget(d.ID)
			}
		})
	}
	deciders.Wait()
	close(stop)
	wg.Wait()
}

// The clock of a session goes on with the engine that it uses.
func TestLearningGoesByTheNewEngine(t *testing.T) {
	r := newReloading(t, allowAll, office)
	if !r.s.Learning("u") {
		t.Fatal("nothing is learnt at first")
	}
	r.clock.add(time.Minute)
	r.use(allowAll, office, func(o *sallyport.Options) { o.PinSettle = time.Hour })
	if !r.s.Learning("u") {
		t.Error("the time to settle is not that of the new engine")
	}
}

// A yes was given under a configuration. A call that goes on under another, because it waited,
// was not taken or was asked something by its server, is asked about again.
func TestAYesDoesNotGoOnUnderAnotherConfiguration(t *testing.T) {
	asks := "p: {default: allow, rules: [{name: ask, effect: ask, tools: [read], reason: first}]}"
	for _, reloaded := range []bool{false, true} {
		r := newReloading(t, asks, "read: {max_calls: 1}\n")
		c := call(t, "read", `{}`)
		d := r.s.Decide(t.Context(), c)
		want(t, d, sallyport.Ask, sallyport.CheckPolicy, "first")
		want(t, r.s.Answer(t.Context(), d.ID, true), sallyport.Allow, "", "")
		want(t, r.s.Start(t.Context(), d.ID), sallyport.Allow, "", "")
		c.Continues = d.ID
		if !reloaded {
			want(t, r.s.Decide(t.Context(), c), sallyport.Allow, "", "")
			continue
		}
		r.use(asks, "read: {max_calls: 1}\nother: {max_calls: 1}\n")
		want(t, r.s.Decide(t.Context(), c), sallyport.Ask, sallyport.CheckPolicy, "first") // and the budget is charged once
	}
}
