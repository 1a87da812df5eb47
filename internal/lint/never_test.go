package lint

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/policy"
)

// What is said never to be true is passed by no value, by the evaluator's own judgement.
func TestPropertyNeverTrueIsNeverTrue(t *testing.T) {
	values := []string{`1`, `2`, `2.5`, `-1`, `""`, `"a"`, `"ab"`, `"1"`, `"/a/b"`, `"a.example"`, `true`, `null`, `[]`, `["a"]`, `[1, "ab"]`, `{}`}
	operand := rapid.SampledFrom(values)
	list := rapid.Custom(func(t *rapid.T) string {
		return "[" + strings.Join(rapid.SliceOfN(operand, 1, 3).Draw(t, "list"), ", ") + "]"
	})
	number := rapid.SampledFrom([]string{"1", "2", "2.0", "2.5", "-1"})
	pattern := rapid.SampledFrom([]string{`"a"`, `"a+b?"`, `"[0-9]"`, `".*"`, `"/.*"`})
	generators := map[string]*rapid.Generator[string]{
		"eq": operand, "ne": operand, "in": list, "not_in": list, "gt": number, "gte": number, "lt": number, "lte": number,
		"matches": pattern, "not_matches": pattern, "contains": operand, "max_length": rapid.SampledFrom([]string{"0", "1", "2"}),
		"within": rapid.Just("/a"), "host": rapid.Just("a.example"), "present": rapid.Just("true"),
	}
	var names []string
	for _, name := range policy.Operators() {
		if generators[name] != nil {
			names = append(names, name)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		var ops []string
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 2, 3, rapid.ID[string]).Draw(t, "operators") {
			ops = append(ops, name+": "+generators[name].Draw(t, name))
		}
		effect := rapid.SampledFrom([]string{"allow", "deny", "ask"}).Draw(t, "effect")
		text := head + "      - {name: r, effect: " + effect + ", tools: [x], when: {args.v: {" + strings.Join(ops, ", ") + "}}}\n"
		c, ok := maybeLoad(text)
		if !ok {
			t.Skip("does not load")
		}
		found := false
		for _, f := range Check(c, Options{}).Findings {
			found = found || f.Code == "SP108"
		}
		for _, v := range values {
			args, err := doc.Parse([]byte(`{"v": `+v+`}`), doc.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			trace := c.Policies["p"].Trace(policy.Target{Subject: policy.Tool, Name: "x", Args: args}, nil)
			if passes := trace[0].Constraints[0].Outcome == policy.Pass; passes && found {
				t.Errorf("%s passes what is never true:\n%s", v, text)
			}
		}
	})
}
