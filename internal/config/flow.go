package config

import (
	"slices"
	"strings"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

// flowVerdicts are the settings of the flow section that take a verdict, with those that
// they take.
var flowVerdicts = []struct {
	key, what string
	choices   []string // the default of the profile balanced first
	of        func(*sallyport.FlowSettings) *sallyport.Verdict
}{
	{"untrusted", "a destination first seen in text from outside; default deny", []string{"deny", "ask"}, func(f *sallyport.FlowSettings) *sallyport.Verdict { return &f.Untrusted }},
	{"inside", "a destination first seen in text by people inside; default as the profile", []string{"ask", "deny"}, func(f *sallyport.FlowSettings) *sallyport.Verdict { return &f.Inside }},
	{"party", "a destination that is the whole of a field naming a party; default ask", []string{"ask", "deny", "allow"}, func(f *sallyport.FlowSettings) *sallyport.Verdict { return &f.Party }},
	{"unknown", "a destination never seen; default ask", []string{"ask", "deny", "allow"}, func(f *sallyport.FlowSettings) *sallyport.Verdict { return &f.Unknown }},
	{"carried", "a link, address or account from outside in the content of a call; default ask", []string{"ask", "deny", "allow"}, func(f *sallyport.FlowSettings) *sallyport.Verdict { return &f.Carried }},
	{"copies", "content that is copied from outside word for word, half of it or more; default ask", []string{"ask", "deny", "allow"}, func(f *sallyport.FlowSettings) *sallyport.Verdict { return &f.Copies }},
	{"secret", "a call that carries a value with the label secret; default ask", []string{"ask", "deny"}, func(f *sallyport.FlowSettings) *sallyport.Verdict { return &f.Secret }},
}

// Bounds of flow.ledger_mb, in MiB.
const (
	leastLedger = 4
	mostLedger  = 64 << 10
)

func flowKeys() []string {
	keys := []string{"profile", "endorse", "ledger_mb", "reask"}
	for _, v := range flowVerdicts {
		keys = append(keys, v.key)
	}
	return keys
}

func defaultFlow() sallyport.FlowSettings {
	f, _ := sallyport.Profile(sallyport.DefaultProfile)
	return f
}

func (c *Config) readFlow(n *strictyaml.Node, p *strictyaml.Problems) {
	fields, ok := n.Fields(p, flowKeys(), nil)
	if !ok {
		return
	}
	if f := fields["profile"]; f != nil {
		if name, ok := f.OneOf(p, sallyport.Profiles()...); ok {
			c.Flow, _ = sallyport.Profile(name)
		}
	}
	if f := fields["endorse"]; f != nil {
		c.Flow.Endorse, _ = f.Bool(p)
	}
	if f := fields["reask"]; f != nil {
		c.Approvals.Reask, _ = f.Bool(p)
	}
	if f := fields["ledger_mb"]; f != nil {
		switch mb, ok := f.Int(p); {
		case !ok:
		case mb < leastLedger || mb > mostLedger:
			p.Add(f, "ledger_mb is %d; write %d to %d megabytes", mb, leastLedger, mostLedger)
		default:
			c.Flow.LedgerBytes = int(mb) << 20
		}
	}
	for _, v := range flowVerdicts {
		f := fields[v.key]
		if f == nil {
			continue
		}
		if f.Text() == "allow" && !slices.Contains(v.choices, "allow") {
			what, _, _ := strings.Cut(v.what, ";")
			p.Add(f, "%s: 'allow' is not one of %s: %s is never allowed unseen, a person agrees or it is refused", v.key, strings.Join(v.choices, ", "), what)
			continue
		}
		switch s, _ := f.OneOf(p, v.choices...); s {
		case "deny":
			*v.of(&c.Flow) = sallyport.Deny
		case "ask":
			*v.of(&c.Flow) = sallyport.Ask
		case "allow":
			*v.of(&c.Flow) = sallyport.Allow
		}
	}
}
