package audit

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/doc"
)

func parsed(t testing.TB, s string) doc.Value {
	t.Helper()
	v, err := doc.Parse([]byte(s), doc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// The names within a redacted value are part of it.
func TestNamesWithinARedactedValueAreNotWritten(t *testing.T) {
	for _, red := range []Redaction{{}, {DropArguments: true}, {Selectors: selectors(t, "token")}} {
		place := `token["hunter2@x.example"].deep`
		line := written(t, red, Record{
			Arguments: parsed(t, `{"token":{"hunter2@x.example":{"deep":1}},"to":"ann@x.example"}`),
			Reason:    `destination ` + place + `='hunter2@x.example' was first seen`,
			Evidence:  []Evidence{{Argument: place, Destination: "hunter2@x.example"}, {Argument: "to", Destination: "cy@x.example"}},
		})
		if strings.Contains(line, "hunter2") {
			t.Errorf("%s", line)
		}
		if !strings.Contains(line, `{"argument":"to"`) {
			t.Errorf("a place that tells nothing is hidden: %s", line)
		}
	}
}

func TestSecretsInOtherClothes(t *testing.T) {
	for _, args := range []string{
		`{"x":"\"{\\\"password\\\":\\\"hunter2\\\"}\""}`,
		`{"x":"\"\\\"{\\\\\\\"password\\\\\\\":\\\\\\\"hunter2\\\\\\\"}\\\"\""}`,
		`{"x":"\u00a0{\"password\":\"hunter2\"}"}`,
		`{"x":"\u000b[{\"password\":\"hunter2\"}]"}`,
		`{"headers":[["Authorization","hunter2"]]}`,
		`{"headers":[{"k":"Authorization","v":"hunter2"}]}`,
	} {
		if line := written(t, Redaction{}, Record{Arguments: parsed(t, args)}); strings.Contains(line, "hunter2") {
			t.Errorf("%s: %s", args, line)
		}
	}
	for _, args := range []string{`{"x":"\"quoted\" prose about a token"}`, `{"x":["a","token"]}`, `{"x":"\"{\\\"name\\\":1}\""}`} {
		if line := written(t, Redaction{}, Record{Arguments: parsed(t, args)}); strings.Contains(line, "redacted") {
			t.Errorf("%s: %s", args, line)
		}
	}
}

// The cost of one record does not grow with members times depth times evidence, nor with
// the size of a secret times what a reason quotes: beyond a bound things are hidden.
func TestWorkOnOneRecordIsBounded(t *testing.T) {
	e := newEncoder(newRedactor(Redaction{}))
	defer e.release()
	big := strings.Repeat("ab'\"", 1<<18)
	v, err := doc.FromGo(map[string]any{"password": big})
	if err != nil {
		t.Fatal(err)
	}
	r := Record{Event: "e", Arguments: v, Reason: strings.Repeat("'baba'", 600)}
	for i := range MaxEvidence {
		r.Evidence = append(r.Evidence, Evidence{Argument: "to", Destination: fmt.Sprintf("u%d@x.example", i)})
	}
	e.record(&r)
	if line := string(e.buf); strings.Count(line, redactedText) < MaxEvidence/2 {
		t.Error("what was not searched for is shown")
	}
}
