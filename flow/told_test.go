package flow

import "testing"

// Names of members are recorded once for each family, and again after an output from
// which a name was left out.
func TestNamesOfMembers(t *testing.T) {
	row := map[string]any{"structuredContent": map[string]any{"leaks-external": "x", "eve@attacker.example": "y"}}
	for _, dest := range []string{"leaks-external", "eve@attacker.example"} {
		for name, first := range map[string]func(*Output){
			"inside":   func(o *Output) { o.Labels = labels(t, "[*]: inside") },
			"endorsed": func(o *Output) { o.Endorsed = true },
			"echo":     func(o *Output) { o.Echo = Flatten("to", value(t, dest)) },
			"secret":   func(o *Output) { o.Labels = labels(t, "[*]: secret") },
			"the same": func(*Output) {},
		} {
			t.Run(name+" "+dest, func(t *testing.T) {
				l := NewLedger(LedgerOptions{})
				o := newObserver(l)
				out := output(t, "read", 1, row)
				first(&out)
				o.observe(out)
				o.observe(output(t, "read", 2, row))
				if f := lookup(t, l, dest); f.Origin != Untrusted {
					t.Errorf("%v", f.Origin)
				}
			})
		}
	}
}

// A session that records a grant, text of people inside or what the agent wrote after
// lookups found none knows it from then on.
func TestHoldings(t *testing.T) {
	for label, want := range map[string]Origin{"a: vouched": Vouched, "a: party": Party, "a: inside": Inside} {
		l, entries := published(true)
		if f := lookup(t, l, "ana@corp.example"); f.Origin != Unknown {
			t.Fatalf("%s: %v before", label, f.Origin)
		}
		out := output(t, "read", 1, map[string]any{"structuredContent": map[string]any{"a": "ana@corp.example"}})
		out.Labels = labels(t, label)
		l.Observe(out)
		other := NewLedger(LedgerOptions{Key: [16]byte{1}})
		for _, e := range *entries {
			if err := other.Take(e); err != nil {
				t.Fatal(err)
			}
		}
		for _, l := range []*Ledger{l, other} {
			if f := lookup(t, l, "ana@corp.example"); f.Origin != want {
				t.Errorf("%s: %v", label, f.Origin)
			}
		}
	}
}
