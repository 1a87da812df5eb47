package report

import (
	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/policy"
)

// policyNow is a policy of the pack.
type policyNow = *policy.Policy

// findPolicies looks for rules that let too much through.
func (b *builder) findPolicies() {
	for _, p := range b.in.Policies {
		if p.Name() == policy.BuiltInName {
			b.add(Medium, "no policy", say("No policy is defined, so every tool, resource and prompt is allowed to every caller, and contracts and the flow check are what guards."), nil, say("Write a policy that names what the agent needs."))
			continue
		}
		for _, r := range p.Rules() {
			if r.Effect == policy.Allow && len(r.When()) == 0 && everything(r.Globs(policy.Tool)) {
				b.add(Medium, "broad allow rule", join(say("The rule "), val(r.Name), say(" of the policy "), val(p.Name()), say(" allows every tool, whatever its arguments.")), val(r.Source), say("Name the tools, or constrain what they are given."))
			}
		}
		if p.Default() == policy.Allow {
			b.add(Medium, "broad allow rule", join(say("The policy "), val(p.Name()), say(" allows every tool that no rule covers.")), nil, say("Leave the default at deny and name what is allowed."))
		}
	}
}

// open reports that some policy lets some call of the tool through, at least after a
// question.
func (b *builder) open(t *tool) bool {
	for _, p := range b.in.Policies {
		if reachable(steps(p, t)) {
			return true
		}
	}
	return false
}

// findTools looks for tools that nobody described, and for those that nobody uses.
func (b *builder) findTools() {
	var unused, unlisted []string
	for i := range b.tools {
		t := &b.tools[i]
		if t.given() == byNobody {
			unlisted = append(unlisted, t.name)
		}
		if !b.open(t) {
			continue
		}
		b.findSink(t)
		b.findWriter(t)
		if b.log.Total.Calls > 0 && t.definition != nil && t.tally.Calls == 0 {
			unused = append(unused, t.name)
		}
	}
	if len(unused) > 0 {
		b.add(Low, "never called", join(sayf("%s that the policy lets through and nobody called in that time: ", count(len(unused), "tool")), vals(unused, 20)), nil, say("If the agent does not need them, refuse them."))
	}
	if len(unlisted) > 0 && len(b.in.Tools) > 0 {
		b.add(Low, "not listed", join(say("In the log and in no list that was given: "), vals(unlisted, 20)), nil, say("Give the list of every server, as it is today."))
	}
	if len(b.in.Tools) == 0 {
		b.add(Note, "no list of tools", say("No server's list of tools was given, so contracts from packs and the fallback are not known here."), nil, say("Give the answer to tools/list with --tools."))
	}
}

// findSink looks for a tool that sends and that only the fallback knows.
func (b *builder) findSink(t *tool) {
	if t.given() != byFallback || !t.contract.Exfiltrating {
		return
	}
	rank, then := Medium, "so a destination that nobody vouched for is "+verdictWord(b.in.Config.Flow.Unknown)
	if b.in.Config.Flow.Unknown == sallyport.Allow {
		rank = High
	}
	text := join(val(t.name), say(" has no contract. By its schema it sends to what stands in "), vals(texts(t.contract.SinkParams), 8), say(", "+then+"."))
	if len(t.contract.SinkParams) == 0 {
		text = join(val(t.name), say(" has no contract. By its name or description it sends something, and no argument says where, so every argument is read as a destination."))
	}
	where := say("not called in the log")
	if t.tally.Calls > 0 {
		where = sayf("called %s in the log", times(int(t.tally.Calls))) //nolint:gosec // a count
	}
	b.add(rank, "sink without a contract", text, where, say("Write a contract for it under tools."))
}

// findWriter looks for a tool that seems to write files where nothing confines it.
func (b *builder) findWriter(t *tool) {
	if t.definition == nil || len(t.contract.WriteParams) > 0 {
		return
	}
	if guess := contract.WriteGuess(*t.definition); len(guess) > 0 {
		b.add(Medium, "writes anywhere", join(val(t.name), say(" seems to write the file or folder in "), vals(texts(guess), 6), say(", and its contract confines no path.")), nil, say("Give it write_params and allowed_path_prefixes."))
	}
}

// findFlow looks at the settings of the flow check that lint does not speak of.
func (b *builder) findFlow() {
	if f := b.in.Config.Flow; f.Endorse && profile(f) == "assist" {
		b.add(Low, "flow assists", say("The flow profile is assist: a page or file that the user named counts as text from inside, so what it names is asked about instead of refused."), nil, say("Use balanced where pages can be written by strangers."))
	}
	var off []string
	for i := range b.tools {
		t := &b.tools[i]
		if t.given() != byUser || !t.contract.FlowOff() || t.definition == nil || !b.open(t) {
			continue
		}
		if contract.Fallback(*t.definition).Exfiltrating {
			off = append(off, t.name)
		}
	}
	if len(off) > 0 {
		b.add(Low, "flow off", join(say("The user's contracts say that these tools send nothing anywhere, and by their schemas they may: "), vals(off, 20)), nil, say("Look at each once more."))
	}
}

// findPins looks for definitions that changed.
func (b *builder) findPins() {
	for _, f := range b.in.Pins {
		for _, w := range f.Waits() {
			what := " is new and waits for a person."
			if w.Was.How != "" {
				what = " has changed and waits for a person."
			}
			b.add(Medium, "pin waits", join(say("The definition of "), val(w.Tool), say(what)), val(f.Shown), say(seeDifference))
		}
	}
	if gone := b.at.of(unpinned); gone.n > 0 {
		b.add(Medium, "definition changed", sayf("Servers listed definitions that were refused, %s.", times(int(gone.n))), numbers(gone), say(seeDifference)) //nolint:gosec // a count
	}
}
