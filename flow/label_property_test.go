package flow

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sallyport-dev/sallyport/doc"
)

// drawnPeople are the destinations that outputs, calls and prompts of these tests know.
var drawnPeople = []string{"ana@corp.example", "eve@attacker.example", "https://wiki.example/a", "https://evil.attacker.example/x?y=1", "#project-team", "wiki.example", "203.0.113.7", "XX82TEST12345698765432", "Utility Ltd"}

func drawLabels(t *rapid.T) []FieldLabel {
	paths := []string{"", "a", "b", "a.b", "[*]", "[0]", "[-1]", "[#1]", "a[*]", "a[*].b", "From", `["odd key"]`}
	var all []FieldLabel
	for range rapid.IntRange(0, 4).Draw(t, "labels") {
		s := rapid.SampledFrom(paths).Draw(t, "path")
		var sel doc.Selector
		if s != "" {
			var err error
			if sel, err = doc.ParseSelector(s); err != nil {
				t.Fatal(err)
			}
		}
		all = append(all, FieldLabel{sel, Label(rapid.IntRange(0, len(labelNames)-1).Draw(t, "label"))})
	}
	return all
}

func drawText(t *rapid.T) string {
	d := rapid.SampledFrom(drawnPeople).Draw(t, "who")
	return fmt.Sprintf(rapid.SampledFrom([]string{"%s", "%s", "%s", "ask %s", "%s, please", "<%s>", "From: %s\n\nhello", "From: %s\nFrom: x@y.example\n\n", `{"a":"%s"}`, `["%s"]`, `"%s"`, "%s%%20", "Ann <%s>"}).Draw(t, "form"), d)
}

func drawJSON(t *rapid.T, depth int) any {
	n := 5
	if depth == 0 {
		n = 2
	}
	switch rapid.IntRange(0, n).Draw(t, "kind") {
	case 0, 1, 2:
		return drawText(t)
	case 3:
		return rapid.SampledFrom([]any{1, 2.5, true, nil, "x"}).Draw(t, "scalar")
	case 4:
		var l []any
		for range rapid.IntRange(0, 3).Draw(t, "elements") {
			l = append(l, drawJSON(t, depth-1))
		}
		return l
	default:
		m := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(t, "members") {
			m[rapid.SampledFrom([]string{"a", "b", "From", "odd key", "ana@corp.example"}).Draw(t, "name")] = drawJSON(t, depth-1)
		}
		return m
	}
}

func drawOutput(t *rapid.T, loosening bool) Output {
	labels := drawLabels(t)
	if !loosening {
		for i := range labels {
			if labels[i].Label.Loosens() {
				labels[i].Label = LabelOutside
			}
		}
	}
	m := map[string]any{}
	if rapid.Bool().Draw(t, "structured") {
		m["structuredContent"] = drawJSON(t, 3)
	}
	var blocks []any
	for range rapid.IntRange(0, 2).Draw(t, "blocks") {
		blocks = append(blocks, map[string]any{"type": "text", "text": drawText(t)})
	}
	m["content"] = blocks
	if rapid.IntRange(0, 5).Draw(t, "error") == 0 {
		m["isError"] = rapid.SampledFrom([]any{true, false, "true", nil}).Draw(t, "isError")
	}
	v, err := doc.FromGo(m)
	if err != nil {
		t.Fatal(err)
	}
	return Output{Tool: "read", Call: uint64(rapid.IntRange(1, 9).Draw(t, "call")), Time: noon, Value: v, Labels: labels, Endorsed: loosening && rapid.IntRange(0, 4).Draw(t, "endorsed") == 0}
}

func originsOf(t *rapid.T, l *Ledger) map[string]Origin {
	all := map[string]Origin{}
	for _, s := range drawnPeople {
		v, _ := doc.Text(s)
		for _, d := range Flatten("to", v) {
			all[d.Canonical] = l.Lookup(d).Origin
		}
	}
	return all
}

// rank is the order in which the verdicts of a default gateway get looser.
func rank(o Origin) int {
	switch o {
	case Malformed, Untrusted:
		return 0
	case Unknown, Inside, Party:
		return 1
	}
	return 2
}

// Adding output never turns a refusal into less than one, except through a label that
// loosens; an output without one adds no trust at all.
func TestPropertyOutputAddsDoubtAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := NewLedger(LedgerOptions{})
		for range rapid.IntRange(0, 4).Draw(t, "outputs") {
			l.Observe(drawOutput(t, true))
		}
		before := originsOf(t, l)
		l.Observe(drawOutput(t, false))
		for who, o := range originsOf(t, l) {
			if rank(o) > rank(before[who]) || o > before[who] {
				t.Fatalf("%s was %v and is %v", who, before[who], o)
			}
		}
	})
}

// With any labels, a destination gains trust only if some scalar of the output is it, as a
// whole.
func TestPropertyOnlyWholeValuesGain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := NewLedger(LedgerOptions{})
		before := originsOf(t, l)
		out := drawOutput(t, true)
		l.Observe(out)
		whole := map[string]bool{}
		note := func(s string) {
			if ds := parseList(s); len(ds) == 1 {
				whole[ds[0].Canonical] = true
			}
		}
		var walk func(v doc.Value, depth int)
		walk = func(v doc.Value, depth int) {
			doc.Walk(v, func(s doc.Value, _ bool, _ func() string) bool {
				if s.Kind() != doc.String || depth > 4 {
					return true
				}
				if inner, ok := jsonDocument(s.String()); ok {
					walk(inner, depth+1)
				} else if !strings.HasPrefix(s.String(), "From: ") && !strings.ContainsAny(s.String(), "<%") {
					note(s.String())
				}
				for _, h := range headers(s.String()) {
					if strings.Count(s.String(), h.name+": ") == 1 {
						note(h.value)
					}
				}
				if strings.Contains(s.String(), "Ann <") {
					note(s.String())
				}
				if strings.HasPrefix(s.String(), "<") {
					note(strings.Trim(s.String(), "<>"))
				}
				return true
			})
		}
		walk(out.Value, 0)
		for who, o := range originsOf(t, l) {
			if o >= Party && before[who] < Party && !whole[who] {
				t.Fatalf("%s is %v, and nowhere a whole value in %s", who, o, out.Value.AppendJSON(nil))
			}
			if o >= Party && (out.Value.Get("isError").Bool() || len(out.Labels) == 0) {
				t.Fatalf("%s is %v by an output without labels", who, o)
			}
		}
	})
}

// What the agent wrote never gains by being shown again.
func TestPropertyWrittenValuesNeverGain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := NewLedger(LedgerOptions{})
		for range rapid.IntRange(0, 3).Draw(t, "outputs") {
			l.Observe(drawOutput(t, true))
		}
		v, _ := doc.Text(rapid.SampledFrom(drawnPeople).Draw(t, "written"))
		d := Flatten("to", v)[0]
		before := l.Lookup(d).Origin
		l.Wrote([]Destination{d})
		if now := l.Lookup(d).Origin; now != before {
			t.Fatalf("writing %s makes it %v, was %v", d.Canonical, now, before)
		}
		for range rapid.IntRange(1, 3).Draw(t, "more") {
			l.Observe(drawOutput(t, true))
		}
		if now := l.Lookup(d).Origin; now > before && !(before == Untrusted && now == Unknown) {
			t.Fatalf("%s was %v when it was written and is %v", d.Canonical, before, now)
		}
	})
}
