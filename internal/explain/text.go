package explain

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

const (
	width  = 80 // of a plain terminal
	indent = 11 // of what stands beside a label
)

// WriteJSON writes the report as one indented object.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// WriteText writes the report for a person.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	p := printer{&b}
	verdict := r.Verdict
	if r.DryRun && r.Verdict != "allow" {
		verdict += " (dry-run: this is not enforced, and the call runs)"
	}
	p.field("verdict", verdict)
	p.field("runs", r.runs())
	p.field("check", r.Check)
	p.field("rule", r.decidedBy())
	p.field("reason", r.Reason)
	p.field("call", fmt.Sprintf("%s %s of upstream %s", r.Call.Subject, r.Call.Name, r.Call.Upstream))
	p.field("", fmt.Sprintf("by caller %s, under policy %s", r.Call.Caller, r.Call.Policy))
	p.field("listed", r.Listed.words(r.Call.Subject))
	p.field("contract", r.Contract)
	p.field("consumes", r.Consumes.words())
	for _, q := range r.Questions {
		p.field("asks", q)
	}
	for _, e := range r.Evidence {
		p.field("evidence", e.words())
	}
	for _, n := range r.Notes {
		p.field("note", n)
	}
	b.WriteString("\nrules")
	if !r.judged() {
		b.WriteString(" (the policy was not reached; this is what it would say)")
	}
	b.WriteString("\n")
	for _, l := range RuleLines(r.Rules) {
		p.hang(2, l)
	}
	b.WriteString("\nchecks\n")
	for _, s := range r.Checks {
		line := fmt.Sprintf("%-9s %s", s.Check, outcome(s.Verdict))
		if s.Detail != "" {
			line += "  " + s.Detail
		}
		p.hang(2, line)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// outcome is a check's verdict in the words of the trace.
func outcome(verdict string) string {
	switch verdict {
	case "allow":
		return "PASS"
	case "ask":
		return "ASK"
	}
	return "DENY"
}

// runs says why a question does not run; the other verdicts say it themselves.
func (r *Report) runs() string {
	if r.Verdict == "ask" && !r.Runs {
		return "no: not before somebody says yes"
	}
	return ""
}

// judged reports that the policy was reached.
func (r *Report) judged() bool {
	for _, s := range r.Checks {
		if s.Check == "policy" {
			return true
		}
	}
	return false
}

func (r *Report) decidedBy() string {
	if !r.judged() {
		return ""
	}
	for _, rule := range r.Rules {
		switch {
		case !rule.Matched:
		case rule.Default:
			return "default: " + rule.Effect
		case rule.Place != "":
			return fmt.Sprintf("%s: %s (%s)", rule.Name, rule.Effect, rule.Place)
		default:
			return fmt.Sprintf("%s: %s", rule.Name, rule.Effect)
		}
	}
	return ""
}

func (l Listed) words(subject string) string {
	switch {
	case l.Why != "":
		return "no: " + l.Why
	case subject != "tool":
		return "yes, if the server lists it"
	case l.Assumed:
		return "taken as listed, with no schema: no --tools was given"
	}
	return "yes"
}

func (c Consumes) words() string {
	var parts []string
	if b := c.Budget; b != nil {
		takes := "this call would count"
		if b.Takes == 0 {
			takes = "this call would not count"
		}
		parts = append(parts, fmt.Sprintf("budget: %d of %d used, %s", b.Used, b.Max, takes))
	}
	for _, l := range c.RateLimits {
		scope := "for each caller"
		if l.Scope == "global" {
			scope = "for all callers together"
		}
		parts = append(parts, fmt.Sprintf("1 of rate limit %s: %d per %s %s, burst %d", l.Name, l.Rate, l.Per, scope, l.Burst))
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, "; ")
}

func (e Evidence) words() string {
	s := fmt.Sprintf("%s = %s: %s", e.Argument, e.Destination, e.Origin)
	if e.Tool != "" {
		s += fmt.Sprintf(", seen in the output of %s", e.Tool)
	}
	switch {
	case e.Place != "" && e.Origin == "trusted": // no output shows it: it is on a list
		s += ", by " + e.Place
	case e.Place != "":
		s += " at " + e.Place
	}
	if e.Partial {
		s += " (in part only)"
	}
	return s
}

// RuleLines are the lines of a trace, unwrapped: each rule that names the call with its
// constraints, the others by how many they are.
func RuleLines(rules []Rule) []string {
	var lines []string
	passed := 0
	flush := func() {
		if passed > 0 {
			lines = append(lines, fmt.Sprintf("… %s for other names or upstreams", countRules(passed)))
		}
		passed = 0
	}
	for _, r := range rules {
		if r.Covers != "call" {
			passed++
			continue
		}
		flush()
		for _, c := range r.Constraints {
			lines = append(lines, fmt.Sprintf("[%s] %s %s", r.Name, c.Outcome, c.Detail))
		}
		lines = append(lines, fmt.Sprintf("[%s] %s", r.Name, r.words()))
	}
	flush()
	return lines
}

func countRules(n int) string {
	if n == 1 {
		return "1 rule is"
	}
	return fmt.Sprintf("%d rules are", n)
}

// words say what became of a rule, and why a constraint that cannot be checked did that.
func (r Rule) words() string {
	cannot := false
	for _, c := range r.Constraints {
		cannot = cannot || c.Outcome == "CANNOT"
	}
	switch {
	case r.Default:
		return "no rule matched: " + r.Effect
	case r.Matched && cannot:
		return fmt.Sprintf("MATCH %s, decides: what cannot be checked does not escape it", r.Effect)
	case r.Matched:
		return fmt.Sprintf("MATCH %s, decides", r.Effect)
	case cannot && r.Effect == "allow":
		return "no match: nothing is allowed by what cannot be checked"
	}
	return "no match"
}

type printer struct{ b *strings.Builder }

// field writes a label and its text; nothing without text.
func (p printer) field(label, s string) {
	if s == "" {
		return
	}
	for i, l := range wrapped(s, width-indent) {
		if i > 0 {
			label = ""
		}
		fmt.Fprintf(p.b, "%-*s%s\n", indent, label, l)
	}
}

// hang writes a text whose further lines are indented more.
func (p printer) hang(by int, s string) {
	for i, l := range wrapped(s, width-by-4) {
		if i > 0 {
			l = "    " + l
		}
		p.b.WriteString(strings.Repeat(" ", by) + l + "\n")
	}
}

// wrapped breaks s into lines of at most n characters, at single spaces where it can, so
// that a reader may join the lines with a space and have s again.
func wrapped(s string, n int) []string {
	var lines []string
	line, runes := "", 0
	for word := range strings.SplitSeq(s, " ") {
		size := utf8.RuneCountInString(word)
		switch {
		case line == "" && len(lines) == 0 && runes == 0:
			line, runes = word, size
		case runes+1+size <= n:
			line, runes = line+" "+word, runes+1+size
		default:
			lines = append(lines, line)
			line, runes = word, size
		}
		for runes > n {
			r := []rune(line)
			lines = append(lines, string(r[:n]))
			line, runes = string(r[n:]), runes-n
		}
	}
	return append(lines, line)
}
