package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// What the README shows of an approval is what a new user sees: the refusal, and then, line by
// line, the terminal.
func TestREADMEShowsAnApproval(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), "\n## When it asks you\n")
	if !ok {
		t.Fatal("the README has no section on approvals")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	fenced := regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$").FindAllStringSubmatch(section, -1)
	if len(fenced) < 2 || fenced[0][1] != "" || fenced[1][1] != "console" {
		t.Fatalf("the section has %d blocks", len(fenced))
	}
	refusal, terminal := fenced[0][2], fenced[1][2]
	lines := strings.Split(strings.TrimSuffix(terminal, "\n"), "\n")
	if !strings.HasPrefix(lines[0], "$ bin/sallyport approve ") {
		t.Fatalf("the terminal begins with %s", lines[0])
	}
	var script strings.Builder
	script.WriteString("[windows] skip 'no pseudo-terminal'\nmkdir world/outbox\nttyin answer\nexec converse session sallyport wrap --name helpdesk -- sallyport __demo-server --dir world\n")
	script.WriteString("stdout '" + strings.ReplaceAll(pattern(strings.TrimSuffix(refusal, "\n")), `\n`, `\\n`) + "'\n")
	for _, l := range lines[1:] {
		if l = strings.TrimSuffix(strings.TrimSpace(l), ": y"); l != "" {
			script.WriteString("ttyout '" + pattern(l) + "'\n")
		}
	}
	script.WriteString(`stdout '"id":3,.*"sent to bob@partner.example"'

-- world/tickets.json --
[]
-- world/customers.json --
[]
-- answer --
y
-- session --
{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"script","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"send_email","arguments":{"to":"bob@partner.example","subject":"Report","body":"The report is attached."}}}
approve
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"send_email","arguments":{"to":"bob@partner.example","subject":"Report","body":"The report is attached."}}}
`)
	file := filepath.Join(t.TempDir(), "readme.txtar")
	if err := os.WriteFile(file, []byte(script.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{Files: []string{file}, Setup: ownHome})
}

// pattern matches a text, with any code, time and duration in the place of those in it.
func pattern(text string) string {
	p := regexp.QuoteMeta(text)
	p = regexp.MustCompile(`\d\d:\d\d:\d\d`).ReplaceAllString(p, `\d\d:\d\d:\d\d`)
	p = regexp.MustCompile(`\d+ s ago`).ReplaceAllString(p, `\d+ s ago`)
	p = regexp.MustCompile(`[A-Z2-9]{3}-[A-Z2-9]{4}`).ReplaceAllString(p, `[A-Z2-9]{3}-[A-Z2-9]{4}`)
	p = strings.ReplaceAll(p, "\n", `\n`)
	return strings.ReplaceAll(p, `'`, `''`)
}
