package audit

import (
	"bytes"
	"encoding/json/v2"
	"flag"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// schema is as much of JSON Schema as docs/audit-record.schema.json uses. An unknown
// keyword in that file is an error, so none is passed over.
type schema struct {
	Dialect     string             `json:"$schema"`
	Title       string             `json:"title"`
	Description string             `json:"description"`
	Type        string             `json:"type"`
	Required    []string           `json:"required"`
	Properties  map[string]*schema `json:"properties"`
	Items       *schema            `json:"items"`
	Pattern     string             `json:"pattern"`
	Minimum     *float64           `json:"minimum"`
}

func readSchema(t *testing.T) *schema {
	t.Helper()
	var s schema
	text := readFile(t, filepath.Join("..", "docs", "audit-record.schema.json"))
	if err := json.Unmarshal(text, &s, json.RejectUnknownMembers(true)); err != nil {
		t.Fatal(err)
	}
	return &s
}

// check returns the places at which v is not as s says, and names all members of
// objects that s knows.
func (s *schema) check(at string, v any) (wrong []string) {
	ok := true
	switch v := v.(type) {
	case string:
		ok = (s.Type == "" || s.Type == "string") && regexp.MustCompile(s.Pattern).MatchString(v)
	case float64:
		ok = s.Type == "" || s.Type == "number" || s.Type == "integer" && v == math.Trunc(v)
		ok = ok && (s.Minimum == nil || v >= *s.Minimum)
	case []any:
		ok = s.Type == "" || s.Type == "array"
		for _, e := range v {
			if s.Items != nil {
				wrong = append(wrong, s.Items.check(at+"[]", e)...)
			}
		}
	case map[string]any:
		ok = s.Type == "" || s.Type == "object"
		for name, e := range v {
			if p := s.Properties[name]; p != nil {
				wrong = append(wrong, p.check(at+"."+name, e)...)
			} else if s.Properties != nil {
				wrong = append(wrong, at+"."+name+" is not named")
			}
		}
		for _, name := range s.Required {
			if _, there := v[name]; !there {
				wrong = append(wrong, at+"."+name+" is missing")
			}
		}
	default:
		ok = s.Type == ""
	}
	if !ok {
		wrong = append(wrong, at)
	}
	return wrong
}

// Every kind of line that is written is as the schema says, and nothing in the schema is
// never written.
func TestLinesMatchSchema(t *testing.T) {
	s := readSchema(t)
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := openLog(t, path, Options{})
	full := fullRecord(t)
	add(t, l, full)
	full.Arguments = parse(t, "["+strings.Repeat(`"some value",`, 9000)+"1]")
	full.Evidence = slices.Repeat(full.Evidence, MaxEvidence+1)
	add(t, l, full)
	l.lost = &lost{how: deleted, seq: 7, prev: l.prev}
	writeFile(t, path, append(readFile(t, path), `{"seq":3,`...))
	add(t, l, Record{})
	seen := map[string]bool{}
	for line := range bytes.Lines(readFile(t, path)) {
		var v map[string]any
		if err := json.Unmarshal(line, &v); err != nil {
			if !strings.HasPrefix(string(line), `{"seq":3,`+"\n") {
				t.Fatal(err)
			}
			continue
		}
		if wrong := s.check("", v); wrong != nil {
			t.Errorf("%s\nis wrong at %v", line, wrong)
		}
		for name := range v {
			seen[name] = true
		}
	}
	for name := range s.Properties {
		if !seen[name] {
			t.Errorf("no line has the member %s", name)
		}
	}
}

// update rewrites the schema file.
var update = flag.Bool("update", false, "write docs/audit-record.schema.json")

// The file is what the program prints.
func TestSchemaFile(t *testing.T) {
	path := filepath.Join("..", "docs", "audit-record.schema.json")
	if *update {
		writeFile(t, path, Schema())
	}
	if got := readFile(t, path); !bytes.Equal(got, Schema()) {
		t.Errorf("%s is not what the code says: run go test ./audit -run TestSchemaFile -update", path)
	}
}

func TestSchemaFindsMistakes(t *testing.T) {
	s := readSchema(t)
	for _, line := range []string{
		`{"seq":1,"time":"2026-01-02T15:04:05.000Z"}`,
		`{"seq":0,"time":"2026-01-02T15:04:05.000Z","event":"x"}`,
		`{"seq":1,"time":"2026-01-02T15:04:05Z","event":"x"}`,
		`{"seq":1.5,"time":"2026-01-02T15:04:05.000Z","event":"x"}`,
		`{"seq":1,"time":"2026-01-02T15:04:05.000Z","event":1}`,
		`{"seq":1,"time":"2026-01-02T15:04:05.000Z","event":"x","evidence":[{"call":"1"}]}`,
		`{"seq":1,"time":"2026-01-02T15:04:05.000Z","event":"x","colour":1}`,
	} {
		var v any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatal(err)
		}
		if s.check("", v) == nil {
			t.Errorf("accepted: %s", line)
		}
	}
}

// The schema, the page and the reader name the same members.
func TestMembersAreDocumented(t *testing.T) {
	names := slices.Sorted(maps.Keys(readSchema(t).Properties))
	var known []string
	for name := range kinds {
		known = append(known, name)
	}
	known = append(known, "arguments") // of any kind
	for _, m := range members {
		if m.doc == "" {
			t.Errorf("%s is not explained", m.name)
		}
	}
	slices.Sort(known)
	if !slices.Equal(names, known) {
		t.Errorf("the schema has %v\nthe reader has %v", names, known)
	}
	page := string(readFile(t, filepath.Join("..", "docs", "audit-format.md")))
	comment := string(readFile(t, "doc.go"))
	for _, name := range names {
		if !strings.Contains(page, "\n| `"+name+"` | ") {
			t.Errorf("docs/audit-format.md has no row for %s", name)
		}
		if !strings.Contains(comment, "\n//\t"+name+" ") {
			t.Errorf("the package comment has no line for %s", name)
		}
	}
}
