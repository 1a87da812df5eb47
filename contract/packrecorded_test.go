package contract

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/doc"
)

// recorded reads what a running server listed: names, parameters and their schemas,
// without descriptions. internal/cli and e2e hold some of them against the servers again.
func recorded(t *testing.T, file string) (version string, tools []Tool) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	v, err := doc.Parse(data, doc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	upstream := strings.TrimSuffix(filepath.Base(file), ".json")
	for _, d := range v.Get("tools").Elements() {
		tools = append(tools, Tool{Upstream: upstream, Name: d.Get("name").String(), Definition: d})
	}
	if len(tools) == 0 {
		t.Fatalf("%s lists no tools", file)
	}
	return v.Get("version").String(), tools
}

// Every pack that says it is verified has the list of the version that it names, and fits it
// to the last parameter; a list without a pack, or of a pack that says it is not verified,
// says that something was forgotten.
func TestPacksOnRecordedLists(t *testing.T) {
	files, err := filepath.Glob("testdata/lists/*.json")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, f := range files {
		listed = append(listed, strings.TrimSuffix(filepath.Base(f), ".json"))
	}
	var verified []string
	for _, p := range ShippedPacks() {
		info := p.Info()
		if !info.Verified {
			continue
		}
		verified = append(verified, info.Name)
		if !slices.Contains(listed, info.Name) {
			t.Errorf("pack %s is not held against any list", info.Name)
			continue
		}
		version, tools := recorded(t, filepath.Join("testdata", "lists", info.Name+".json"))
		if version != info.Version {
			t.Errorf("pack %s is for version %s, the list is of %s", info.Name, info.Version, version)
		}
		found, more := p.Check(tools)
		for _, m := range found {
			if !m.Note {
				t.Errorf("pack %s: %s", info.Name, m.Text)
			}
		}
		if more > 0 {
			t.Errorf("pack %s: %d more misfits", info.Name, more)
		}
		s := newSet(t, "", Options{})
		if notices := s.Bind(info.Name, tools); len(notices) != 1 || !notice(notices, "pack "+info.Name+" applies") {
			t.Errorf("pack %s: notices %q", info.Name, notices)
		}
		for _, tool := range tools {
			if c := s.For(tool); c.Source != "pack "+info.Name {
				t.Errorf("%s/%s comes from %s", info.Name, tool.Name, c.Source)
			}
		}
	}
	slices.Sort(verified)
	slices.Sort(listed) // with .json behind them they stood in another order
	if !slices.Equal(verified, listed) {
		t.Errorf("verified are %q, lists there are of %q", verified, listed)
	}
}

// No pack takes another server for its own.
func TestPacksKnowTheirServers(t *testing.T) {
	files, err := filepath.Glob("testdata/lists/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		_, tools := recorded(t, f)
		names := map[string]int{}
		for _, tool := range tools {
			names[tool.Name]++
		}
		for _, p := range mustPacks() {
			if p.recognises(tools, names) != (p.name == tools[0].Upstream) {
				t.Errorf("pack %s, list of %s: recognised %v", p.name, tools[0].Upstream, p.name != tools[0].Upstream)
			}
		}
	}
}
