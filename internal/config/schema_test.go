package config

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
	"github.com/sallyport-dev/sallyport/policy"
)

var update = flag.Bool("update", false, "write docs/sallyport.schema.json")

const schemaFile = "../../docs/sallyport.schema.json"

// The loader's keys and the schema's are the same, so neither can drift.
func TestSchemaHasTheLoadersKeys(t *testing.T) {
	policyKeys, ruleKeys, constraintKeys := policy.Keys()
	contractKeys, _ := contract.Keys()
	want := map[string][]string{
		"configuration": keys, "server": serverKeys, "upstream": upstreamKeys, "contract": contractKeys, "flow": flowKeys(),
		"policy": policyKeys, "rule": ruleKeys, "operators": constraintKeys, "rate_limit": rateLimitKeys, "token": tokenKeys, "audit": auditKeys, "approvals": approvalsKeys, "rotate": rotateKeys,
	}
	for _, o := range objects {
		var got []string
		for _, k := range o.keys {
			got = append(got, k.name)
			if k.doc == "" || k.value == nil {
				t.Errorf("%s.%s says nothing", o.name, k.name)
			}
		}
		if !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want[o.name]))) {
			t.Errorf("%s: the schema has %q, the loader %q", o.name, got, want[o.name])
		}
		delete(want, o.name)
	}
	for name := range want {
		t.Errorf("the schema has no %s", name)
	}
}

func TestSchemaFileIsCurrent(t *testing.T) {
	if *update {
		if err := os.WriteFile(schemaFile, Schema(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(schemaFile)
	if err != nil || !bytes.Equal(b, Schema()) {
		t.Errorf("docs/sallyport.schema.json is not what sallyport schema prints: go test ./internal/config -run SchemaFile -update (%v)", err)
	}
}

// refuse keeps the library from reading files or the network.
type refuse struct{}

func (refuse) Load(url string) (any, error) { return nil, errors.New("not loaded: " + url) }

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(refuse{})
	if err := c.AddResource(SchemaID, v); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(SchemaID)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// plain is a document as an editor sees it: variables stand as they are written.
func plain(t *testing.T, n *strictyaml.Node) any {
	t.Helper()
	switch {
	case n.IsMapping():
		m := map[string]any{}
		for _, e := range n.Pairs() {
			m[e.Name] = plain(t, e.Value)
		}
		return m
	case n.IsList():
		l := []any{}
		for _, item := range n.Items() {
			l = append(l, plain(t, item))
		}
		return l
	case n.IsText():
		return n.Written()
	case n.IsNull():
		return nil
	}
	v, err := doc.Parse([]byte(strings.ToLower(n.Text())), doc.Limits{})
	if err != nil {
		return n.Text()
	}
	if v.Kind() == doc.Bool {
		return v.Bool()
	}
	got, err := jsonschema.UnmarshalJSON(strings.NewReader(v.Number()))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// accepts validates one file against the schema.
func accepts(t *testing.T, s *jsonschema.Schema, text string) error {
	t.Helper()
	var p strictyaml.Problems
	root := strictyaml.Parse("f.yaml", []byte(text), func(string) (string, bool) { return "x", true }, &p)
	if root == nil {
		return p.Err()
	}
	return s.Validate(plain(t, root))
}

// yamlFiles are the configurations of the documents and tests of this repository.
func yamlFiles(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, pattern := range []string{"../lint/testdata/codes/*.txtar", "../cli/testdata/script/*.txtar"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) < 10 {
			t.Fatalf("%s: %d files, %v", pattern, len(names), err)
		}
		for _, name := range names {
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range a.Files {
				if strings.HasSuffix(f.Name, ".yaml") {
					files[filepath.Base(name)+"/"+f.Name] = string(f.Data)
				}
			}
		}
	}
	for _, name := range []string{"../../README.md", "../../docs/configuration.md", "../../docs/policy.md"} {
		b, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		for i, m := range regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$").FindAllSubmatch(b, -1) {
			files[filepath.Base(name)+"/"+string(rune('a'+i))] = string(m[1])
		}
	}
	examples, err := filepath.Glob("../../examples/*/sallyport.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range examples {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(b)
	}
	return files
}

func anyVariable(string) (string, bool) { return "a-value-that-is-long-enough", true }

// What loads has the shape that the schema describes: the schema forbids nothing that
// the loader takes.
func TestSchemaAcceptsWhatLoads(t *testing.T) {
	s := compileSchema(t)
	loaded := 0
	for name, text := range yamlFiles(t) {
		if _, err := Load("f.yaml", []byte(text), Options{Lookup: anyVariable}); err != nil {
			continue
		}
		loaded++
		if err := accepts(t, s, text); err != nil {
			t.Errorf("%s loads, and the schema refuses it: %v", name, err)
		}
	}
	if loaded < 60 {
		t.Errorf("only %d files load", loaded)
	}
}
