package lint

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

func sample(t *testing.T) Report {
	t.Helper()
	return Check(load(t, "dir/a b.yaml", head+`      - {name: everything, effect: allow}
      - {effect: allow, tools: [x], when: {args.a: {matches: "^a\e<b>"}}}
      - {effect: deny, tools: ["a.*"]} # sallyport:accept SP203 these tools have a dot
`), Options{})
}

func TestJSON(t *testing.T) {
	golden(t, "report.json", func(b *bytes.Buffer) error { return sample(t).WriteJSON(b) })
	var empty bytes.Buffer
	if err := (Report{}).WriteJSON(&empty); err != nil || strings.Contains(empty.String(), "null") {
		t.Errorf("%s, %v", &empty, err)
	}
}

func golden(t *testing.T, name string, write func(*bytes.Buffer) error) {
	t.Helper()
	var got bytes.Buffer
	if err := write(&got); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Error(diff)
	}
}

// The parts of SARIF 2.1.0 that its readers need: version, one run with its rules, and
// results that point at rules by index and id, with a place in a relative URI.
func TestSARIF(t *testing.T) {
	var b bytes.Buffer
	if err := sample(t).WriteSARIF(&b, "v1.2.3"); err != nil {
		t.Fatal(err)
	}
	var log struct {
		Schema  string `json:"$schema"`
		Version string
		Runs    []struct {
			ColumnKind string
			Tool       struct {
				Driver struct {
					Name, Version string
					Rules         []struct {
						ID, Name             string
						ShortDescription     struct{ Text string }
						DefaultConfiguration struct{ Level string }
					}
				}
			}
			Results []struct {
				RuleID    string
				RuleIndex *int
				Level     string
				Message   struct{ Text string }
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI string }
						Region           struct{ StartLine, StartColumn int }
					}
				}
				Suppressions []struct{ Kind, Justification string }
			}
		}
	}
	if err := json.Unmarshal(b.Bytes(), &log); err != nil {
		t.Fatal(err)
	}
	if log.Version != "2.1.0" || !strings.HasSuffix(log.Schema, "sarif-2.1.0.json") || len(log.Runs) != 1 {
		t.Fatalf("%s", &b)
	}
	run := log.Runs[0]
	driver := run.Tool.Driver
	if driver.Name != "sallyport" || driver.Version != "v1.2.3" || len(driver.Rules) != len(Codes) || run.ColumnKind != "unicodeCodePoints" {
		t.Errorf("%+v", run.Tool)
	}
	for i, r := range driver.Rules {
		if r.ID != Codes[i].ID || r.Name == "" || r.ShortDescription.Text == "" || r.DefaultConfiguration.Level != Codes[i].Severity.String() {
			t.Errorf("rule %d: %+v", i, r)
		}
	}
	levels := map[string]bool{"error": true, "warning": true, "note": true}
	suppressed := 0
	for _, r := range run.Results {
		if r.RuleIndex == nil || driver.Rules[*r.RuleIndex].ID != r.RuleID || !levels[r.Level] || r.Message.Text == "" || len(r.Locations) != 1 {
			t.Errorf("%+v", r)
			continue
		}
		p := r.Locations[0].PhysicalLocation
		if p.ArtifactLocation.URI != "dir/a%20b.yaml" || p.Region.StartLine < 5 || p.Region.StartColumn < 1 {
			t.Errorf("%+v", p)
		}
		if len(r.Suppressions) == 1 {
			suppressed++
			if r.Suppressions[0].Kind != "inSource" || r.Suppressions[0].Justification != "these tools have a dot" || r.RuleID != "SP203" {
				t.Errorf("%+v", r.Suppressions)
			}
		}
	}
	if len(run.Results) != 5 || suppressed != 1 {
		t.Errorf("%d results, %d suppressed", len(run.Results), suppressed)
	}
}

func TestFileURI(t *testing.T) {
	for in, want := range map[string]string{
		"a.yaml": "a.yaml", "../é/x.yaml": "../%C3%A9/x.yaml", "a#b?c%.yaml": "a%23b%3Fc%25.yaml", "c:x": "c%3Ax",
	} {
		if got := fileURI(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
	abs, err := filepath.Abs("x y.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if got := fileURI(abs); !strings.HasPrefix(got, "file:///") || !strings.HasSuffix(got, "/x%20y.yaml") {
		t.Error(got)
	}
}

func TestNotLoaded(t *testing.T) {
	r := NotLoadedReport([]strictyaml.Problem{{File: "a.yaml", Line: 2, Col: 3, Text: "what\x1b"}, {Text: "no place"}})
	if len(r.Findings) != 2 || r.Findings[0].String() != `a.yaml:2:3: error SP001: what\u{001b}` || r.Count(Error) != 2 {
		t.Errorf("%+v", r)
	}
	var b bytes.Buffer
	if err := r.WriteSARIF(&b, ""); err != nil || strings.Contains(b.String(), `"region": {
                "startLine": 0`) {
		t.Errorf("%s, %v", &b, err)
	}
}

// Nothing of a file reaches a terminal as it is.
func TestTextIsEscaped(t *testing.T) {
	var b bytes.Buffer
	if err := sample(t).WriteText(&b); err != nil || strings.ContainsRune(b.String(), 0x1b) {
		t.Errorf("%q, %v", b.String(), err)
	}
	if !strings.HasPrefix(b.String(), "dir/a b.yaml:5:9: warning SP106: the rule 'everything'") {
		t.Errorf("%q", b.String())
	}
}
