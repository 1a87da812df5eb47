package cli

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
)

// What docs/audit.md shows of a command is what the command prints of the sample log: line
// by line in this order, where "…" stands for other lines, or for the rest of one.
func TestAuditDoc(t *testing.T) {
	page, err := os.ReadFile("../../docs/audit.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(samplePack)
	n := 0
	for _, block := range regexp.MustCompile("(?ms)^```console\n\\$ sallyport (audit (?:summary|tail|show) [^\n]*)\n(.*?)^```$").FindAllStringSubmatch(string(page), -1) {
		n++
		var out, errs bytes.Buffer
		if code := Main(strings.Fields(block[1]), strings.NewReader(""), &out, &errs); code != 0 {
			t.Errorf("%s: exit code %d, %s", block[1], code, &errs)
			continue
		}
		printed, next := strings.Split(out.String(), "\n"), 0
		for line := range strings.Lines(block[2]) {
			line = strings.TrimSuffix(line, "\n")
			if line == "…" {
				continue
			}
			want, part := strings.CutSuffix(line, "…")
			for next < len(printed) && printed[next] != line && !(part && strings.HasPrefix(printed[next], want)) {
				next++
			}
			if next == len(printed) {
				t.Errorf("%s does not print %q there, but\n%s", block[1], line, &out)
				break
			}
			next++
		}
	}
	if n != 3 {
		t.Errorf("%d samples were found", n)
	}
}
