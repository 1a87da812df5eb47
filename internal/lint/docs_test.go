package lint

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The reference lists every code as the program has it.
func TestCodesAreDocumented(t *testing.T) {
	data, err := os.ReadFile("../../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range Codes {
		needs := ""
		if c.Needs != "" {
			needs = " (needs " + c.Needs + ")"
		}
		row := fmt.Sprintf("| %s | %s | %s | %s%s |\n", c.ID, c.Severity, c.Name, strings.ReplaceAll(c.Text, "|", `\|`), needs)
		if !strings.Contains(string(data), row) {
			t.Errorf("docs/policy.md does not have the row\n%s", row)
		}
	}
}
