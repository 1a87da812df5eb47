package contract

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/doc"
)

// catalogues returns the folder of real servers' tool lists and labels. It is not part
// of this repository; SALLYPORT_SHARED names the folder that holds it.
func catalogues(t *testing.T) string {
	t.Helper()
	shared := os.Getenv("SALLYPORT_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "shared")
	}
	dir := filepath.Join(shared, "catalogues")
	if _, err := os.Stat(filepath.Join(dir, "lists")); err != nil {
		message := "the tool lists of real servers are not here; set SALLYPORT_SHARED to the folder that holds catalogues/"
		if os.Getenv("CI") == "true" {
			t.Fatal(message)
		}
		t.Skip(message)
	}
	return dir
}

// label is what a person wrote of one tool.
type label struct {
	Tool        string            `json:"tool"`
	Effect      string            `json:"effect"`
	Sink        bool              `json:"sink"`
	SinkParams  []string          `json:"sink_params"`
	SinkKinds   map[string]string `json:"sink_kinds"`
	WriteParams []string          `json:"write_params"`
	Doubtful    bool              `json:"doubtful"`
}

// catalogue reads one server's list and its labels.
func catalogue(t *testing.T, dir, name string) ([]Tool, map[string]label) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "lists", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	list, err := doc.Parse(data, doc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var tools []Tool
	for _, d := range list.Get("tools").Elements() {
		tools = append(tools, Tool{Upstream: name, Name: d.Get("name").String(), Definition: d})
	}
	data, err = os.ReadFile(filepath.Join(dir, "labels", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var labels []label
	if err := json.Unmarshal(data, &labels); err != nil {
		t.Fatal(err)
	}
	byTool := map[string]label{}
	for _, l := range labels {
		byTool[l.Tool] = l
	}
	if len(tools) == 0 || len(byTool) != len(tools) {
		t.Fatalf("%s: %d tools, %d labels", name, len(tools), len(byTool))
	}
	return tools, byTool
}

// addressLike reports sinks whose destination is an address that a person could read:
// not an opaque id, not free text.
func (l label) addressLike() []string {
	var out []string
	for param, kind := range l.SinkKinds {
		if kind != "id" && kind != "free" && kind != "path" {
			out = append(out, param)
		}
	}
	slices.Sort(out)
	return out
}

// covers reports that a contract reads a labelled parameter as a destination.
func covers(c *Contract, param string) bool {
	if !c.Exfiltrating {
		return false
	}
	param = strings.ReplaceAll(param, "[]", "[*]")
	return len(c.SinkParams) == 0 || slices.ContainsFunc(c.SinkParams, func(s doc.Selector) bool {
		return s.String() == param || strings.HasPrefix(s.String(), param+".") || strings.HasPrefix(s.String(), param+"[")
	})
}

// Recall and false alarms on real servers' lists. Half of them were looked at when the
// rules were written; docs/packs.md has the figures of each half.
func TestFallbackOnCatalogues(t *testing.T) {
	dir := catalogues(t)
	lists, err := filepath.Glob(filepath.Join(dir, "lists", "*.json"))
	if err != nil || len(lists) == 0 {
		t.Fatal("no lists", err)
	}
	var tools, sinks, sinksFound, addressSinks, addressFound, params, paramsFound, clean, alarms, runs, runsFound, writes, writesFound int
	for _, path := range lists {
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		list, labels := catalogue(t, dir, name)
		for _, tool := range list {
			tools++
			l, c := labels[tool.Name], Fallback(tool)
			address := l.addressLike()
			if l.Effect == "execute" {
				runs++
				if c.Exfiltrating {
					runsFound++
				}
			}
			guess := WriteGuess(tool)
			for _, p := range l.WriteParams {
				writes++
				if slices.ContainsFunc(guess, func(s doc.Selector) bool { return s.String() == p }) {
					writesFound++
				}
			}
			switch {
			case l.Sink:
				sinks++
				if c.Exfiltrating {
					sinksFound++
				} else if !l.Doubtful {
					t.Logf("missed sink %s/%s %v", name, tool.Name, l.SinkKinds)
				}
			default:
				clean++
				if c.Exfiltrating {
					alarms++
					t.Logf("false alarm %s/%s %v", name, tool.Name, c.SinkParams)
				}
			}
			if len(address) > 0 {
				addressSinks++
				all := true
				for _, p := range address {
					params++
					if covers(c, p) {
						paramsFound++
					} else {
						all = false
						t.Logf("missed parameter %s/%s %s (%s); found %v", name, tool.Name, p, l.SinkKinds[p], c.SinkParams)
					}
				}
				if all {
					addressFound++
				}
			}
		}
	}
	t.Logf("%d tools: of %d sinks %d found; of %d with address-like destinations %d found whole (%d of %d parameters); of %d tools that execute %d found; of %d tools that are no sinks %d called one; of %d write parameters %d found",
		tools, sinks, sinksFound, addressSinks, addressFound, paramsFound, params, runs, runsFound, clean, alarms, writes, writesFound)
	// What was reached when the fallback was written; lower is a defect.
	if addressFound*100 < addressSinks*95 || paramsFound*100 < params*95 || runsFound < runs {
		t.Error("fewer address-like destinations are found than before")
	}
	if sinksFound*100 < sinks*50 {
		t.Error("fewer sinks are found than before")
	}
	if alarms*100 > clean*2 || writesFound*100 < writes*95 {
		t.Error("more false alarms, or fewer write paths, than before")
	}
}
