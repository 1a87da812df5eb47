package report

import (
	"strconv"

	"github.com/sallyport-dev/sallyport/policy"
)

// controlID names one thing that the gateway does.
type controlID string

const (
	cPolicy   controlID = "policy"
	cFlow     controlID = "flow"
	cPaths    controlID = "paths"
	cLimits   controlID = "limits"
	cPins     controlID = "pins"
	cApproval controlID = "approval"
	cCallers  controlID = "callers"
	cRecord   controlID = "record"
	cRedact   controlID = "redaction"
)

// state says what stands behind a control.
type state uint8

const (
	off    state = iota // not set up
	setUp               // set up; nothing in the log shows it at work
	atWork              // the log shows it at work
)

func (s state) mark() line {
	switch s {
	case atWork:
		return mark(good, "evidence in the log")
	case setUp:
		return mark(neutral, "set up, no event in the log")
	}
	return mark(caution, "not set up")
}

// control is one thing that the gateway does, how it is set up and what the log says of it.
type control struct {
	id    controlID
	title string
	set   line
	state state
	proof line // what the log says, with numbers of records
	brief line // the same for a place where it stands often; nil: proof
	short string
	gap   string // of this configuration; "" for none
}

// readControls says of each control how it is set up and what the log has of it.
func (b *builder) readControls() {
	b.controls = []control{
		b.policyControl(), b.flowControl(), b.pathControl(), b.limitControl(), b.pinControl(),
		b.approvalControl(), b.callerControl(), b.recordControl(), b.redactControl(),
	}
	for i := range b.controls {
		c := &b.controls[i]
		if len(c.proof) > 0 {
			c.state = atWork
		}
		if c.state == off && c.gap == "" {
			c.gap = c.title + ": not set up."
		}
	}
}

func (b *builder) controlOf(id controlID) *control {
	for i := range b.controls {
		if b.controls[i].id == id {
			return &b.controls[i]
		}
	}
	return nil
}

// proof adds a count with its records, if there is one.
func proof(l line, s seen, what string) line {
	if s.n == 0 {
		return l
	}
	if len(l) > 0 {
		l = append(l, say("; ")...)
	}
	return append(l, join(sayf("%d %s (", s.n, what), numbers(s), say(")"))...)
}

func (b *builder) policyControl() control {
	c := control{id: cPolicy, title: "Policy", short: "policy", state: setUp}
	rules := 0
	built := true
	for _, p := range b.in.Policies {
		rules += len(p.Rules())
		built = built && p.Name() == policy.BuiltInName
		if b.dry(p) {
			c.gap = "The policy runs dry."
		}
	}
	if built {
		c.set, c.state, c.gap = say("the built-in policy, which allows everything"), off, "No policy is defined, so the first gate lets everything through."
	} else {
		c.set = sayf("%s with %s, first match wins", count(len(b.in.Policies), "policy of its own"), count(rules, "rule"))
		if len(b.in.Policies) > 1 {
			c.set = sayf("%d policies with %s, first match wins", len(b.in.Policies), count(rules, "rule"))
		}
	}
	c.proof = proof(c.proof, b.at.of(refused("policy")), "refused by a rule or the default")
	c.proof = proof(c.proof, b.at.of(questioned("policy")), "asked about by a rule")
	return c
}

func (b *builder) flowControl() control {
	c := control{id: cFlow, title: "Flow", short: "flow", state: setUp, set: b.flowWords()}
	sinks := 0
	for i := range b.tools {
		if t := &b.tools[i]; t.contract != nil && t.contract.Exfiltrating {
			sinks++
		}
	}
	c.set = join(sayf("%s with a sink; ", count(sinks, "tool")), c.set)
	c.proof = proof(c.proof, b.at.of(refused("flow")), "refused")
	c.proof = proof(c.proof, b.at.of(questioned("flow")), "asked about")
	return c
}

func (b *builder) pathControl() control {
	c := control{id: cPaths, title: "Paths and patterns", short: "paths and patterns"}
	paths, patterns := 0, 0
	for i := range b.tools {
		if t := &b.tools[i]; t.contract != nil {
			paths += min(len(t.contract.WriteParams), 1)
			patterns += min(len(t.contract.ArgPatterns), 1)
		}
	}
	if paths+patterns > 0 {
		c.state = setUp
	}
	c.set = sayf("%s confined to directories, %s with patterns for arguments", count(paths, "tool"), count(patterns, "tool"))
	c.proof = proof(c.proof, b.at.of(refused("path")), "refused by path")
	c.proof = proof(c.proof, b.at.of(refused("pattern")), "refused by pattern")
	return c
}

func (b *builder) limitControl() control {
	c := control{id: cLimits, title: "Budgets and rate limits", short: "budgets and rates"}
	budgets := 0
	for i := range b.tools {
		if t := &b.tools[i]; t.contract != nil && t.contract.MaxCalls != nil {
			budgets++
		}
	}
	rates := len(b.in.Config.RateLimits)
	if budgets+rates > 0 {
		c.state = setUp
	}
	c.set = sayf("%s with a budget, %s", count(budgets, "tool"), count(rates, "rate limit"))
	c.proof = proof(c.proof, b.at.of(refused("budget")), "refused by budget")
	c.proof = proof(c.proof, b.at.of(refused("rate")), "held back by a rate")
	return c
}

func (b *builder) pinControl() control {
	c := control{id: cPins, title: "Pins", short: "pins", state: setUp}
	n := 0
	for _, f := range b.in.Pins {
		for _, s := range f.Sets {
			n += len(s.Pins)
		}
	}
	c.set = say("always on")
	if n > 0 {
		c.set = sayf("always on; %s pinned where this command looked", count(n, "definition"))
	}
	c.proof = proof(c.proof, b.at.of(pinned), "pinned or accepted")
	c.proof = proof(c.proof, b.at.of(unpinned, refused("pin")), "refused as new, changed or not listed")
	return c
}

func (b *builder) approvalControl() control {
	c := control{id: cApproval, title: "Questions to a person", short: "questions", state: setUp}
	c.set = say("whatever a rule, a contract or the flow check asks about")
	c.proof = proof(c.proof, b.questions(), "asked about")
	c.proof = proof(c.proof, b.at.of(saidYes), "answered yes")
	c.proof = proof(c.proof, b.at.of(saidNo), "answered no")
	c.proof = proof(c.proof, b.at.of(unanswered), "expired or revoked")
	return c
}

func (b *builder) callerControl() control {
	c := control{id: cCallers, title: "Callers", short: "callers"}
	if n := len(b.in.Config.Tokens); n > 0 {
		c.state, c.set = setUp, sayf("%s, each bound to one policy", count(n, "token"))
	} else {
		c.set, c.gap = say("no tokens: over stdio there is one caller, the local user"), "Callers are not told apart: no tokens are defined."
	}
	if n := len(b.log.Callers.Rows); n > 0 && len(b.in.Config.Tokens) > 0 {
		c.proof = sayf("%s in the log", count(n, "caller"))
	}
	return c
}

func (b *builder) recordControl() control {
	a := &b.in.Config.Audit
	c := control{id: cRecord, title: "Audit log", short: "audit log", state: setUp}
	switch {
	case a.Off:
		c.state, c.set, c.gap = off, say("off"), "Nothing is recorded (audit.path is null)."
		return c
	case a.NoChain:
		c.set, c.gap = say("on, without a hash chain"), "The log has no hash chain."
	case a.ContinueOnFailed:
		c.set, c.gap = say("on, with a hash chain; a call that cannot be recorded runs"), "A call that cannot be recorded runs all the same."
	default:
		c.set = say("on, with a hash chain; a call that cannot be recorded is refused")
	}
	if b.in.Log == nil {
		return c
	}
	c.proof = proof(c.proof, b.at.of(allVerdicts), "recorded before forwarding")
	c.proof = proof(c.proof, b.at.of(anOutcome), "recorded when they ended")
	c.proof = proof(c.proof, b.at.of(loaded), "of a configuration that was loaded, with its digest")
	v := &b.in.Log.Verified
	if v.Intact() {
		c.proof = append(c.proof, say("; chain verified over "+strconv.FormatInt(v.Records, 10)+" records")...)
		c.brief = join(proof(nil, b.at.of(allVerdicts), "recorded"), say(", chain verified"))
	} else {
		c.gap = "The log is not intact."
	}
	return c
}

func (b *builder) redactControl() control {
	a := &b.in.Config.Audit
	c := control{id: cRedact, title: "Redaction", short: "redaction", state: setUp}
	switch {
	case a.DropArguments:
		c.set = say("no arguments are written")
	case a.KeyPatterns != nil && len(a.KeyPatterns) == 0 && len(a.Redact) == 0:
		c.set, c.gap = say("recognisable credentials only"), "Values are not redacted by their names."
	default:
		c.set = sayf("by names of members, by %s, and recognisable credentials", count(len(a.Redact), "selector"))
	}
	c.proof = proof(c.proof, b.at.of(wasRedacted), "with something redacted or left out")
	return c
}

func (b *builder) showControls() []block {
	t := &table{head: []string{"Control", "State", "How it is set up", "What this log shows"}}
	for i := range b.controls {
		c := &b.controls[i]
		shown := c.proof
		if len(shown) == 0 {
			shown = say("nothing")
		}
		t.rows = append(t.rows, []line{bold(c.title), c.state.mark(), c.set, shown})
	}
	return []block{
		paragraph(say("Records are named by their number in the log (seq), the first five of each kind. "), say("sallyport audit verify"), say(" reads the same file.")),
		{table: t},
	}
}
