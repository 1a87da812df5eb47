package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/internal/config"
)

// packRow is a row of the page's table of packs.
var packRow = regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\| (.+) \\| (.+) \\| ([0-9]+)[^|]* \\| (yes|no)[^|]* \\|$")

// indented is an example within a list.
var indented = regexp.MustCompile("(?ms)^  ```yaml\n(.*?)^  ```$")

// The page names every pack, with what the pack says of itself; its examples load, and what
// it tells a reader to type are commands.
func TestPacksDoc(t *testing.T) {
	data, err := os.ReadFile("../../docs/packs.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	rows := map[string][]string{}
	for _, row := range packRow.FindAllStringSubmatch(page, -1) {
		rows[row[1]] = row[2:]
	}
	for _, p := range contract.ShippedPacks() {
		i := p.Info()
		row := rows[i.Name]
		delete(rows, i.Name)
		switch {
		case row == nil:
			t.Errorf("the page has no row for %s", i.Name)
		case !strings.Contains(row[1], i.Version), row[2] != fmt.Sprint(i.Tools), row[3] != yesNo(i.Verified):
			t.Errorf("the page says of %s: %q; the pack: %s, %d, %v", i.Name, row, i.Version, i.Tools, i.Verified)
		}
		if server, _, _ := strings.Cut(i.Server, " "); row != nil && !strings.Contains(row[0], server) {
			t.Errorf("the page says that %s is for %s, the pack %s", i.Name, row[0], i.Server)
		}
	}
	for name := range rows {
		t.Errorf("the page has a row for %s, which is no pack", name)
	}
	examples := indented.FindAllStringSubmatch(page, -1)
	for _, e := range examples {
		if _, err := config.Load("packs.md", []byte(e[1]), config.Options{}); err != nil {
			t.Errorf("%v\n%s", err, e[1])
		}
	}
	if len(examples) < 3 {
		t.Errorf("%d examples are found", len(examples))
	}
	typed := 0
	for _, b := range docBlocks(t, "../../docs/packs.md") {
		for line := range strings.Lines(b.text) {
			words := strings.Fields(line)
			if b.info != "sh" || len(words) < 2 || words[0] != "sallyport" {
				continue
			}
			typed++
			if cmd, _, err := newRoot().Find(words[1:]); err != nil || cmd.HasSubCommands() {
				t.Errorf("packs.md:%d: %s is no command (%v)", b.line, strings.TrimSpace(line), err)
			}
			if words[2] == "show" || words[2] == "verify" && !strings.Contains(words[3], "/") {
				if _, err := shippedPack(words[3]); err != nil {
					t.Errorf("packs.md:%d: %v", b.line, err)
				}
			}
		}
	}
	if typed < 6 {
		t.Errorf("%d commands are found", typed)
	}
}

// What show prints is the pack, and verify reads it.
func TestPacksShowIsAPack(t *testing.T) {
	for _, p := range contract.ShippedPacks() {
		shown := append(packSummary(p), p.Source()...)
		again, err := contract.ReadPack("shown.yaml", shown)
		if err != nil {
			t.Fatal(err)
		}
		if again.Info().Name != p.Info().Name || again.Info().Tools != p.Info().Tools {
			t.Errorf("%s: %+v", p.Info().Name, again.Info())
		}
		for line := range strings.Lines(string(packSummary(p))) {
			if len(line) > 110 && !strings.Contains(line, p.Info().Server) {
				t.Errorf("%s: a long line: %s", p.Info().Name, line)
			}
		}
	}
}

// Every recorded list verifies through the command too.
func TestPacksVerifyRecordedLists(t *testing.T) {
	lists, err := filepath.Glob("../../contract/testdata/lists/*.json")
	if err != nil || len(lists) < 10 {
		t.Fatal(lists, err)
	}
	for _, list := range lists {
		name := strings.TrimSuffix(filepath.Base(list), ".json")
		var out strings.Builder
		if code := Main([]string{"packs", "verify", name, "--tools", list}, strings.NewReader(""), &out, io.Discard); code != 0 || !strings.Contains(out.String(), "the pack fits") {
			t.Errorf("%s: exit code %d\n%s", name, code, &out)
		}
	}
}
