package policytest

import (
	"slices"
	"strings"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
	"github.com/sallyport-dev/sallyport/policy"
)

var bodyKeys = []string{"text", "json", "result"}

// observe reads an output of a tool.
func (l *loader) observe(n *strictyaml.Node) *sallyport.Output {
	fields, ok := n.Fields(l.p, append([]string{"tool", "upstream"}, bodyKeys...), nil)
	if !ok {
		return nil
	}
	out := &sallyport.Output{Upstream: l.upstreamOf(n, fields["upstream"])}
	if t := fields["tool"]; t != nil {
		out.Tool, _ = t.Str(l.p)
	} else {
		l.p.Add(n, "say which tool's output this is: tool")
	}
	out.Value = l.body(n, fields)
	return out
}

// body reads a result from exactly one of text, json and result.
func (l *loader) body(n *strictyaml.Node, fields map[string]*strictyaml.Node) doc.Value {
	var key string
	for _, k := range bodyKeys {
		switch {
		case fields[k] == nil:
		case key != "":
			l.p.Add(n, "%s and %s are two outputs; write one", key, k)
			return doc.Value{}
		default:
			key = k
		}
	}
	switch key {
	case "text":
		s, ok := fields[key].Str(l.p)
		if !ok {
			return doc.Value{}
		}
		return textResult(s, doc.Value{})
	case "json":
		v := l.value(fields[key])
		return textResult(string(v.AppendJSON(nil)), v)
	case "result":
		v := l.value(fields[key])
		if v.Kind() != doc.Object && v.Kind() != doc.Absent {
			l.p.Add(fields[key], "a result is a mapping, as a server sends it; use json for any other value, or text")
		}
		return v
	}
	l.p.Add(n, "say what the output is: text, json, or a whole result")
	return doc.Value{}
}

// textResult is a tool's result with one text, and with structured content if that is
// an object.
func textResult(text string, structured doc.Value) doc.Value {
	result := map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}}
	if structured.Kind() == doc.Object {
		result["structuredContent"] = structured
	}
	v, err := doc.FromGo(result)
	if err != nil {
		panic(err) // the text was checked when it was read
	}
	return v
}

// call reads a call and what has to become of it. beside are the step's other keys.
func (l *loader) call(at, n *strictyaml.Node, beside map[string]*strictyaml.Node) *callStep {
	c := &callStep{}
	subjects := []string{"tool", "resource", "prompt"}
	fields, ok := n.Fields(l.p, append([]string{"upstream", "args"}, subjects...), nil)
	if ok {
		c.named = l.subject(n, fields, subjects, &c.call)
		c.call.Upstream = l.upstreamOf(n, fields["upstream"])
		if a := fields["args"]; a != nil {
			if a.IsMapping() {
				c.call.Args = l.value(a)
			} else {
				_, _ = a.Entries(l.p)
			}
		}
	}
	c.want = l.expectation(at, beside, true)
	l.answer(c, beside)
	if r := beside["result"]; r != nil {
		v := l.result(r)
		c.result = &v
		last := c.want
		if c.answer != nil {
			last = c.then
		}
		dry := l.policy != nil && l.policy.Mode() == policy.DryRun
		if last.verdict != sallyport.Allow && !dry {
			l.p.Add(r, "a call that does not run has no result")
		}
	}
	return c
}

func (l *loader) subject(n *strictyaml.Node, fields map[string]*strictyaml.Node, subjects []string, c *sallyport.Call) (at *strictyaml.Node) {
	given := 0
	for i, key := range subjects {
		f := fields[key]
		if f == nil {
			continue
		}
		given++
		name, ok := f.Str(l.p)
		if ok && name == "" {
			l.p.Add(f, "the %s must not be empty", key)
		}
		at = f
		c.Subject, c.Name = []policy.Subject{policy.Tool, policy.Resource, policy.Prompt}[i], name
	}
	if given != 1 {
		l.p.Add(n, "a call has exactly one of tool, resource and prompt")
		return nil
	}
	return at
}

func (l *loader) result(n *strictyaml.Node) doc.Value {
	if !n.IsMapping() {
		s, ok := n.Str(l.p)
		if !ok {
			return doc.Value{}
		}
		return textResult(s, doc.Value{})
	}
	fields, ok := n.Fields(l.p, bodyKeys, nil)
	if !ok {
		return doc.Value{}
	}
	return l.body(n, fields)
}

// answer reads what a human says to a question, and what becomes of the call then.
func (l *loader) answer(c *callStep, beside map[string]*strictyaml.Node) {
	n, then := beside["answer"], beside["then"]
	if n == nil {
		if then != nil {
			l.p.Add(then, "then is what becomes of the call after an answer; write answer: yes or no beside it")
		}
		return
	}
	yes := n.Text() == "yes"
	if !n.IsText() || !yes && n.Text() != "no" {
		l.p.Add(n, "write yes or no")
		return
	}
	if c.want.verdict != sallyport.Ask {
		l.p.Add(n, "only a call that is asked about is answered; write expect: ask")
	}
	c.answer = &yes
	c.then = expectation{at: n, verdict: sallyport.Deny}
	if yes {
		c.then.verdict = sallyport.Allow
	}
	switch {
	case then == nil:
	case then.IsMapping():
		if fields, ok := then.Fields(l.p, expectKeys, nil); ok {
			c.then = l.expectation(then, fields, false)
		}
	default:
		c.then = expectation{at: then, verdict: l.verdict(then, false)}
	}
}

var expectKeys = []string{"expect", "rule", "check", "reason"}

// expectation reads what a decision has to be. May it ask?
func (l *loader) expectation(at *strictyaml.Node, fields map[string]*strictyaml.Node, ask bool) expectation {
	e := expectation{at: at}
	n := fields["expect"]
	if n == nil {
		l.p.Add(at, "say what has to become of the call: expect: allow, deny or ask")
	} else {
		e.verdict = l.verdict(n, ask)
	}
	if f := fields["rule"]; f != nil {
		e.rule, _ = f.Str(l.p)
		l.checkRule(f, e.rule)
	}
	if f := fields["check"]; f != nil {
		e.check = l.check(f)
		if n != nil && e.verdict == sallyport.Allow {
			l.p.Add(f, "no check refuses a call that is allowed; leave check out")
		}
	}
	if f := fields["reason"]; f != nil {
		if e.reason, _ = f.Str(l.p); n != nil && e.verdict == sallyport.Allow {
			l.p.Add(f, "a call that is allowed has no reason; leave reason out")
		} else if strings.TrimSpace(e.reason) == "" {
			l.p.Add(f, "write a part of the reason")
		}
	}
	return e
}

func (l *loader) verdict(n *strictyaml.Node, ask bool) sallyport.Verdict {
	choices := []string{"allow", "deny"}
	if ask {
		choices = append(choices, "ask")
	}
	switch s, _ := n.OneOf(l.p, choices...); s {
	case "allow":
		return sallyport.Allow
	case "ask":
		return sallyport.Ask
	}
	return sallyport.Deny
}

func (l *loader) check(n *strictyaml.Node) sallyport.Check {
	s, _ := n.OneOf(l.p, string(sallyport.CheckPin), string(sallyport.CheckPolicy), string(sallyport.CheckBudget),
		string(sallyport.CheckPath), string(sallyport.CheckPattern), string(sallyport.CheckFlow),
		string(sallyport.CheckRate), string(sallyport.CheckApproval))
	return sallyport.Check(s)
}

// checkRule finds a rule that the test's policy does not have.
func (l *loader) checkRule(n *strictyaml.Node, name string) {
	if name == "" {
		l.p.Add(n, "write a rule's name, or %s where none matches", defaultRule)
	}
	if l.policy == nil || name == "" {
		return
	}
	names, ok := l.rules[l.policy]
	if !ok {
		for _, r := range l.policy.Rules() {
			names = append(names, r.Name)
		}
		names = append(names, defaultRule)
		l.rules[l.policy] = names
	}
	switch i := slices.Index(names, name); {
	case name == defaultRule && i < len(names)-1:
		l.p.Add(n, "the policy %s has a rule that is named %s, so this could mean two things; rename the rule", strictyaml.Quote(l.policy.Name()), defaultRule)
	case i < 0:
		l.p.Add(n, "the policy %s has no rule %s%s", strictyaml.Quote(l.policy.Name()), strictyaml.Quote(name), strictyaml.Hint(name, names))
	}
}
