package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/internal/auditread"
	"github.com/sallyport-dev/sallyport/internal/lint"
	"github.com/sallyport-dev/sallyport/policy"
)

// Bounds of what is shown; what is left out is counted.
const (
	maxTools    = 300
	maxControls = 6 // rules for one tool
)

// tool is one tool that a list, the configuration or the log names.
type tool struct {
	upstream, name string
	shown          string             // the name that clients see
	contract       *contract.Contract // nil: not known, because no list has the tool
	definition     *contract.Tool     // nil: not listed
	tally          auditread.Tally
}

// given says who wrote a tool's contract.
type given uint8

const (
	byNobody given = iota // the tool is in no list, and no entry is for it
	byUser
	byPack
	byFallback
)

func (t *tool) given() given {
	switch {
	case t.contract == nil:
		return byNobody
	case t.contract.Source == "fallback":
		return byFallback
	case strings.HasPrefix(t.contract.Source, "pack "):
		return byPack
	}
	return byUser
}

func (b *builder) readTools(set *contract.Set) {
	alone := b.onlyUpstream()
	prefixed := lint.Prefixed(b.in.Config)
	shown := func(upstream, name string) string {
		if prefixed && upstream != "" {
			return upstream + b.in.Config.Server.Separator + name
		}
		return name
	}
	at := map[[2]string]int{}
	add := func(t tool) int {
		key := [2]string{t.upstream, t.name}
		i, ok := at[key]
		if !ok {
			i = len(b.tools)
			at[key] = i
			t.shown = shown(t.upstream, t.name)
			b.tools = append(b.tools, t)
		}
		return i
	}
	lists := make([][]contract.Tool, len(b.in.Tools))
	for i, l := range b.in.Tools {
		upstream := cmp.Or(l.Upstream, alone)
		for _, t := range l.Tools {
			t.Upstream = upstream
			if prefixed {
				t.Shown = shown(upstream, t.Name)
			}
			lists[i] = append(lists[i], t)
		}
		set.Bind(upstream, lists[i])
	}
	for _, list := range lists {
		for i := range list {
			t := &list[i]
			add(tool{upstream: t.Upstream, name: t.Name, contract: set.For(*t), definition: t})
		}
	}
	b.addEntries(set, add, alone)
	for _, row := range b.log.Tools.Rows {
		i := add(tool{upstream: row.Upstream, name: row.Tool})
		b.tools[i].tally = row.Tally
	}
	b.several = slices.ContainsFunc(b.tools, func(t tool) bool { return t.upstream != b.tools[0].upstream })
	slices.SortStableFunc(b.tools, func(x, y tool) int {
		return cmp.Or(cmp.Compare(x.upstream, y.upstream), cmp.Compare(x.name, y.name))
	})
}

// addEntries adds tools for which the user wrote a contract and that no list has.
func (b *builder) addEntries(set *contract.Set, add func(tool) int, alone string) {
	for _, e := range set.Entries() {
		found := slices.ContainsFunc(b.tools, func(t tool) bool {
			return t.name == e.Tool && (e.Upstream == "" || e.Upstream == t.upstream)
		})
		if !found {
			add(tool{upstream: cmp.Or(e.Upstream, alone), name: e.Tool, contract: e})
		}
	}
}

// onlyUpstream is the upstream that is meant where a list or an entry names none: the only
// one of the configuration, else the only one of the log, else "".
func (b *builder) onlyUpstream() string {
	if ups := b.in.Config.Upstreams; len(ups) > 0 {
		if len(ups) == 1 {
			return ups[0].Name
		}
		return ""
	}
	only := ""
	for i, row := range b.log.Tools.Rows {
		if i > 0 && row.Upstream != only {
			return ""
		}
		only = row.Upstream
	}
	return only
}

// step is what one rule does with a tool.
type step struct {
	effect policy.Effect
	rule   *policy.Rule // nil: the default
	when   bool         // only where its constraints hold
}

// steps are the rules that can decide about a tool, up to the first that always does.
func steps(p *policy.Policy, t *tool) []step {
	var l []step
	for _, r := range p.Rules() {
		if t.upstream != "" && !r.CoversUpstream(t.upstream) {
			continue
		}
		if !slices.ContainsFunc(r.Globs(policy.Tool), func(g policy.Glob) bool { return g.Match(t.shown) }) {
			continue
		}
		s := step{r.Effect, r, len(r.When()) > 0 || t.upstream == "" && r.Upstreams() != nil}
		l = append(l, s)
		if !s.when {
			return l
		}
	}
	return append(l, step{effect: p.Default()})
}

// reachable reports whether some call of the tool can be allowed, or asked about.
func reachable(l []step) bool {
	return slices.ContainsFunc(l, func(s step) bool { return s.effect != policy.Deny })
}

func effectTone(e policy.Effect) tone {
	switch e {
	case policy.Allow:
		return good
	case policy.Ask:
		return caution
	}
	return bad
}

// control puts a tool's rules into one line.
func (b *builder) control(p *policy.Policy, t *tool) line {
	var l line
	all := steps(p, t)
	for i, s := range all {
		if i == maxControls {
			return append(l, sayf("; and %d more rules", len(all)-i)...)
		}
		if i > 0 {
			l = append(l, say("; else ")...)
		}
		l = append(l, mark(effectTone(s.effect), s.effect.String())...)
		switch {
		case s.rule == nil:
			l = append(l, say(" by default")...)
		default:
			l = append(l, join(say(" by "), val(s.rule.Name))...)
			if s.when {
				l = append(l, say(" if its conditions hold")...)
			}
			if len(s.rule.RateLimits) > 0 {
				l = append(l, join(say(", rate "), vals(s.rule.RateLimits, 5))...)
			}
		}
	}
	return l
}

func (b *builder) showTools() []block {
	if len(b.tools) == 0 {
		return []block{paragraph(say("No tool is known: give the servers' lists with --tools."))}
	}
	contracts := &table{head: []string{"Tool", "Contract by", "What it says"}}
	for i := range b.tools {
		t := &b.tools[i]
		contracts.rows = append(contracts.rows, []line{b.toolName(t), b.givenWords(t), contractWords(t)})
	}
	blocks := []block{
		paragraph(say("A contract says what a tool does, whoever calls it. One that the user wrote holds before a pack's (a shipped file for a server), and that before the fallback, which reads the tool's own schema and errs to asking.")),
		{sub: "Contracts"},
		{table: contracts.capped(maxTools)},
	}
	for _, p := range b.in.Policies {
		t := &table{head: []string{"Tool", "Rules that decide, in order", "Calls in the log"}}
		for i := range b.tools {
			t.rows = append(t.rows, []line{b.toolName(&b.tools[i]), b.control(p, &b.tools[i]), b.callWords(&b.tools[i])})
		}
		blocks = append(blocks, block{sub: "Controls under the policy " + p.Name()}, block{table: t.capped(maxTools)})
	}
	if !b.several && b.tools[0].upstream != "" {
		blocks = append([]block{paragraph(say("All tools are of the upstream "), val(b.tools[0].upstream), say("."))}, blocks...)
	}
	return append(blocks, b.showPins()...)
}

// toolName names a tool, with its upstream where there are several.
func (b *builder) toolName(t *tool) line {
	if t.upstream == "" || !b.several {
		return val(t.name)
	}
	return join(val(t.name), say(" of "), val(t.upstream))
}

func (b *builder) givenWords(t *tool) line {
	switch t.given() {
	case byUser:
		return join(mark(good, "user"), say(" "), val(t.contract.Source))
	case byPack:
		return join(mark(good, "pack"), say(" "), val(strings.TrimPrefix(t.contract.Source, "pack ")))
	case byFallback:
		if t.contract.Exfiltrating {
			return mark(caution, "fallback")
		}
		return mark(neutral, "fallback")
	}
	return mark(caution, "not known")
}

func (b *builder) callWords(t *tool) line {
	if b.in.Log == nil {
		return say("no log")
	}
	n := &t.tally
	if n.Calls == 0 {
		return say("none")
	}
	l, between := sayf("%d", n.Calls), ": "
	for _, part := range []struct {
		n    uint64
		what string
	}{{n.Ran(), "ran"}, {n.Decided.Asked, "asked"}, {n.Decided.Denied, "refused"}, {n.Decided.RateLimited, "held back by a rate"}, {n.Ended.Error, "ended in an error"}} {
		if part.n > 0 {
			l = append(l, sayf("%s%d %s", between, part.n, part.what)...)
			between = ", "
		}
	}
	return l
}
