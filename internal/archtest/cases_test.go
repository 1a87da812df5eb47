package archtest

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// caseRow is a row of the table of docs/protocol.md: number, what it is about, why.
var caseRow = regexp.MustCompile(`(?m)^\| (B[0-9]+) \| ([^|]+) \| ([^|]+) \|$`)

// tableOfCases reads which cases are not tested, or not in full.
func tableOfCases(t *testing.T) map[string]bool {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(moduleRoot(t), "docs", "protocol.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(data), "\n## Cases\n")
	if !ok {
		t.Fatal("docs/protocol.md has no section on cases")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	rows := caseRow.FindAllStringSubmatch(section, -1)
	if lines := strings.Count(section, "\n|") - 2; len(rows) != lines || lines < 1 {
		t.Errorf("%d rows can be read, %d are there", len(rows), lines)
	}
	ids := map[string]bool{}
	for _, row := range rows {
		if ids[row[1]] {
			t.Errorf("%s stands in the table twice", row[1])
		}
		ids[row[1]] = true
	}
	return ids
}

func TestTableOfCases(t *testing.T) { tableOfCases(t) }

// caseNumbers finds the numbers that a test's name or comment has: TestB001B002Frames, "B003:".
var caseNumbers = regexp.MustCompile(`(?:\b|Test)((?:B[0-9]{3})+)(?:[^0-9]|$)`)

// testedCases are the numbers in Go tests and scripts.
func testedCases(t *testing.T) map[string]bool {
	t.Helper()
	root, ids := moduleRoot(t), map[string]bool{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git"):
			return fs.SkipDir
		case !strings.HasSuffix(file, "_test.go") && !strings.HasSuffix(file, ".txtar"), filepath.Base(file) == "cases_test.go" && filepath.Base(filepath.Dir(file)) == "archtest":
			return nil
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for _, found := range caseNumbers.FindAllSubmatch(data, -1) {
			for all := string(found[1]); all != ""; all = all[4:] {
				ids[all[:4]] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// Each collected case is tested, or the document says why it is not. The collection is not
// part of this repository; SALLYPORT_SHARED names the folder that holds cases/.
func TestEveryCaseIsTestedOrExplained(t *testing.T) {
	shared := os.Getenv("SALLYPORT_SHARED")
	if shared == "" {
		shared = filepath.Join(moduleRoot(t), "..", "shared")
	}
	data, err := os.ReadFile(filepath.Join(shared, "cases", "relay-and-gateway.json"))
	if err != nil {
		message := "the collected cases are not here; set SALLYPORT_SHARED to the folder that holds cases/"
		if os.Getenv("CI") == "true" {
			t.Fatal(message)
		}
		t.Skip(message)
	}
	var cases []struct{ ID string }
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	table, tested, known := tableOfCases(t), testedCases(t), map[string]bool{}
	for _, c := range cases {
		known[c.ID] = true
		if !table[c.ID] && !tested[c.ID] {
			t.Errorf("%s has no test, and docs/protocol.md does not say why", c.ID)
		}
	}
	if len(known) < 90 {
		t.Errorf("%d cases, want 90", len(known))
	}
	for id := range table {
		if !known[id] {
			t.Errorf("docs/protocol.md explains %s, which is no case", id)
		}
	}
}
