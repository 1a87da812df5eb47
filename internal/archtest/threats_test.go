package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var testFunction = regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)

// A row of docs/threats.md that says that an attack is handled names tests, and they exist.
func TestThreatsNameTheirTests(t *testing.T) {
	root := moduleRoot(t)
	exists := map[string]bool{}
	for _, s := range sources(t) {
		if !s.test {
			continue
		}
		data, err := os.ReadFile(filepath.Join(root, s.path))
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range testFunction.FindAllStringSubmatch(string(data), -1) {
			exists[found[1]] = true
		}
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "threats.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows, name := 0, regexp.MustCompile("`(Test\\w+)`")
	for i, line := range strings.Split(string(page), "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 6 || strings.HasPrefix(cells[2], "---") || strings.TrimSpace(cells[1]) == "attack" {
			continue
		}
		rows++
		tests := name.FindAllStringSubmatch(cells[4], -1)
		switch state := strings.TrimSpace(cells[2]); state {
		case "handled", "partly":
			if len(tests) == 0 {
				t.Errorf("docs/threats.md:%d: %s, and no test shows it", i+1, state)
			}
		case "not":
		default:
			t.Errorf("docs/threats.md:%d: %q is neither handled nor partly nor not", i+1, state)
		}
		for _, found := range tests {
			if !exists[found[1]] {
				t.Errorf("docs/threats.md:%d: there is no test %s", i+1, found[1])
			}
		}
	}
	if rows < 30 {
		t.Errorf("%d rows can be read", rows)
	}
}
