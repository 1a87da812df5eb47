package policy

import (
	"fmt"
	"testing"

	"github.com/sallyport-dev/sallyport/doc"
)

// many is a policy of n rules with three constraints each, of which ten name the tool
// that the benchmarks call, as a policy of ten rules does, and the rest other tools.
func many(t testing.TB, n int, globs bool) *Policy {
	s := Spec{Name: "p"}
	rule := func(i int, tool string, effect Effect) RuleSpec {
		return RuleSpec{
			Name: fmt.Sprintf("rule-%d", i), Effect: effect, Tools: []string{tool},
			When: map[string]any{
				"args.domain":     map[string]any{"in": []any{"light", "climate", fmt.Sprintf("d%d", i)}},
				"args.entity_id":  map[string]any{"matches": `(light|climate)\..+`},
				"args.brightness": map[string]any{"gte": 0, "lte": 100 + i},
			},
		}
	}
	for i := range 9 {
		r := rule(i, "ha_call_service", Deny)
		r.When["args.domain"] = map[string]any{"in": []any{"lock", fmt.Sprintf("d%d", i)}}
		s.Rules = append(s.Rules, r)
	}
	for i := 10; i < n; i++ {
		tool := fmt.Sprintf("tool_%d", i)
		if globs {
			tool = fmt.Sprintf("ha_call_%d_*", i)
		}
		s.Rules = append(s.Rules, rule(i, tool, Allow))
	}
	s.Rules = append(s.Rules, rule(9, "ha_call_service", Allow))
	p, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func benchCall(t testing.TB, domain string) Target {
	args, err := doc.Parse([]byte(`{"domain":"`+domain+`","service":"turn_on","entity_id":"light.kitchen","brightness":42}`), doc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return Target{Name: "ha_call_service", Upstream: "hass", Caller: "laptop", Args: args}
}

func BenchmarkEvaluate(b *testing.B) {
	facts := &Facts{}
	for _, tt := range []struct {
		name, domain string
		effect       Effect
	}{{"allow", "light", Allow}, {"deny", "lock", Deny}, {"default", "vacuum", Deny}} {
		for _, globs := range []bool{false, true} {
			for _, n := range []int{10, 100, 1000, 10_000} {
				if globs && n == 10 {
					continue
				}
				kind := "names"
				if globs {
					kind = "globs"
				}
				b.Run(fmt.Sprintf("%s/%s/%d", tt.name, kind, n), func(b *testing.B) {
					p, target := many(b, n, globs), benchCall(b, tt.domain)
					if got := p.Evaluate(target, facts).Effect; got != tt.effect {
						b.Fatal(got)
					}
					b.ReportAllocs()
					for b.Loop() {
						p.Evaluate(target, facts)
					}
					b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "decisions/s")
				})
			}
		}
	}
}

func TestEvaluateDoesNotAllocate(t *testing.T) {
	p := many(t, 1000, true)
	for _, tt := range []struct {
		domain string
		effect Effect
		most   float64
	}{{"light", Allow, 0}, {"lock", Deny, 0}, {"vacuum", Deny, 2}} {
		target := benchCall(t, tt.domain)
		if got := p.Evaluate(target, nil); got.Effect != tt.effect {
			t.Fatalf("%s: %v by %v", tt.domain, got.Effect, got.Rule)
		}
		if n := testing.AllocsPerRun(100, func() { p.Evaluate(target, nil) }); n > tt.most {
			t.Errorf("%s: %v allocations, at most %v are wanted", tt.domain, n, tt.most)
		}
	}
	// A refusal because nothing could be judged says so.
	strange := Target{Name: "ha_call_service", Args: parseArgs(t, `{"domain":"lock","entity_id":7,"brightness":1}`)}
	if got := p.Evaluate(strange, nil); got.Effect != Deny || got.Rule == nil {
		t.Fatalf("%v by %v", got.Effect, got.Rule)
	}
	if n := testing.AllocsPerRun(100, func() { p.Evaluate(strange, nil) }); n > 2 {
		t.Errorf("%v allocations for a reason", n)
	}
	if n := testing.AllocsPerRun(100, func() { p.Denies(strange) }); n != 0 {
		t.Errorf("%v allocations to find out what is hidden", n)
	}
}

// TestIndexSkipsOtherTools counts rules instead of time: those for other tools are not
// looked at, whether they name them or have globs for them.
func TestIndexSkipsOtherTools(t *testing.T) {
	for _, globs := range []bool{false, true} {
		var c candidates
		many(t, 1000, globs).index[Tool].candidates("ha_call_service", &c)
		n := 0
		for _, ok := c.next(); ok; _, ok = c.next() {
			n++
		}
		if n != 10 {
			t.Errorf("globs %v: %d rules are looked at, 10 name the tool", globs, n)
		}
	}
}
