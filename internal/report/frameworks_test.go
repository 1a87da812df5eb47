package report

import (
	"regexp"
	"strings"
	"testing"
)

// Ids have the form that their publishers give them, each stands once, and each item says
// what is left open.
func TestFrameworks(t *testing.T) {
	forms := map[string]*regexp.Regexp{
		"OWASP Top 10 for LLM Applications":     regexp.MustCompile(`^LLM(0[1-9]|10):2025$`),
		"OWASP Top 10 for Agentic Applications": regexp.MustCompile(`^ASI(0[1-9]|10)$`),
		"AIUC-1":                                regexp.MustCompile(`^[A-F][0-9]{3}$`),
		"MITRE ATLAS techniques":                regexp.MustCompile(`^AML\.T[0-9]{4}(\.[0-9]{3})?$`),
		"NIST AI Risk Management Framework":     regexp.MustCompile(`^(GOVERN|MAP|MEASURE|MANAGE)$`),
	}
	if len(frameworks) != len(forms) {
		t.Errorf("%d frameworks, want %d", len(frameworks), len(forms))
	}
	ten := map[string]bool{"OWASP Top 10 for LLM Applications": true, "OWASP Top 10 for Agentic Applications": true}
	b := &builder{in: input(t, "version: 1\n", nil, nil), log: readLog(t, nil, noFilter).Summary, at: &Pointers{}}
	b.readControls()
	for _, f := range frameworks {
		form := forms[f.name]
		if form == nil {
			t.Fatalf("framework %q", f.name)
		}
		if !strings.HasPrefix(f.url, "https://") || f.edition == "" {
			t.Errorf("%s has no source or no edition", f.name)
		}
		if ten[f.name] && len(f.items) != 10 {
			t.Errorf("%s has %d items", f.name, len(f.items))
		}
		seen := map[string]bool{}
		for _, it := range f.items {
			if !form.MatchString(it.id) || seen[it.id] {
				t.Errorf("%s: the id %q is not of its form, or stands twice", f.name, it.id)
			}
			seen[it.id] = true
			if it.title == "" || it.gap == "" {
				t.Errorf("%s has no title or names no gap", it.id)
			}
			if (it.part == "") != (len(it.controls) == 0) {
				t.Errorf("%s says what bears on it and names no control, or the other way round", it.id)
			}
			for _, c := range it.controls {
				if b.controlOf(c) == nil {
					t.Errorf("%s: there is no control %q", it.id, c)
				}
			}
		}
	}
}

// The state of an item is that of its evidence: a denial by the flow check bears on prompt
// injection, and nothing bears on misinformation.
func TestItemsPointAtTheirEvidence(t *testing.T) {
	const conf = "version: 1\npolicies:\n  main:\n    rules:\n      - {name: read, effect: allow, tools: [a]}\n"
	row := func(log []byte, id string) string {
		for l := range strings.Lines(markdownOf(t, build(t, input(t, conf, nil, log)))) {
			if strings.HasPrefix(l, "| **"+id+"**") {
				return l
			}
		}
		t.Fatalf("no row for %s", id)
		return ""
	}
	denied := call("a", "deny", "flow", "denied")
	for _, c := range []struct {
		name, id string
		log      []byte
		want     string
	}{
		{"a denial", "LLM01:2025", writeLog(t, call("a", "allow", "", "allowed"), denied), "**in part** | Injected text cannot choose a destination, and rules bound what an agent that believes it can do. **flow**: 1 refused (record 2)."},
		{"no denial", "LLM01:2025", writeLog(t, call("a", "allow", "", "allowed")), "**set up**"},
		{"nothing bears on it", "LLM09:2025", writeLog(t, denied), "**not covered** |  | Whether text is true is not judged. |"},
		{"off", "B007", writeLog(t, denied), "**not set up**"},
		{"many", "AML.T0086", writeLog(t, denied, denied, denied, denied, denied, denied, denied), "7 refused (records 1, 2, 3, 4, 5, …)"},
	} {
		if got := row(c.log, c.id); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// A control that the configuration turns off is a gap wherever it would bear.
func TestControlsThatAreOff(t *testing.T) {
	for _, c := range []struct{ conf, want string }{
		{"version: 1\naudit: {path: null}\n", "Nothing is recorded (audit.path is null)."},
		{"version: 1\naudit: {hash_chain: false}\n", "The log has no hash chain."},
		{"version: 1\naudit: {on_failure: continue}\n", "A call that cannot be recorded runs all the same."},
		{"version: 1\naudit: {redact_key_patterns: []}\n", "Values are not redacted by their names."},
		{"version: 1\n", "No policy is defined, so the first gate lets everything through."},
		{"version: 1\n", "Callers are not told apart: no tokens are defined."},
		{"version: 1\nmode: dry-run\npolicies:\n  main:\n    rules:\n      - {name: read, effect: allow, tools: [a]}\n", "The policy runs dry."},
	} {
		if md := markdownOf(t, build(t, input(t, c.conf, nil, nil))); !strings.Contains(md, c.want) {
			t.Errorf("%s: it is not said that %q", c.conf, c.want)
		}
	}
}
