package clientconfig

import (
	"strings"
	"testing"
)

// What is shown holds no secret of the file, nothing that a terminal obeys, and what
// changes.
func TestDiffHidesAndEscapes(t *testing.T) {
	src := "{\n" +
		`  "apiKey": "s3cret-1", // "old": "s3cret-2"` + "\n" +
		`  "inputs": [{"id": "s3cret-3"}],` + "\n" +
		`  "mcpServers": {` + "\n" +
		`    "a\u001b[2J": {` + "\n" +
		`      "command": "np` + "\u202e\u0085" + `x",` + "\n" +
		`      "args": ["--api-key", "s3cret-4", "--token=s3cret-5", "postgres://me:s3cret-6@db.example/x", "GITHUB_TOKEN=s3cret-7", "plain"],` + "\n" +
		`      "env": {"command": "s3cret-8", "X": "s3cret-9"}, "headers": {"type": "s3cret-10"}` + "\n" +
		`    },` + "\n" +
		`    "b": {"command": "x", "note": "s3cret-11"}, /* B="s3cret-12"` + "\n" + ` */` + "\n" +
		`  }` + "\n}\n"
	f := put(t, "mcp.json", src)
	c, err := f.Wrap(program, all)
	if err != nil {
		t.Fatal(err)
	}
	d := c.Diff()
	if strings.Contains(d, "s3cret") {
		t.Errorf("a secret is shown:\n%s", d)
	}
	if strings.ContainsAny(d, "\x1b\u202e\u0085") {
		t.Errorf("a terminal would obey: %q", d)
	}
	for _, want := range []string{`--- `, `@@ -`, `"plain"`, `+      "command": "` + program + `"`, `np\u{202e}\u{0085}x`} {
		if !strings.Contains(d, want) {
			t.Errorf("%q is missing in:\n%s", want, d)
		}
	}
	if got := RedactedCommand([]string{"npx", "--api-key", "s3cret", "TOKEN=s3cret", "a b", "\x1b"}, 200); got != `npx --api-key *** TOKEN=*** 'a b' \u{001b}` {
		t.Errorf("command %q", got)
	}
	back := strings.ReplaceAll(`[mcp_servers.a]
# token = "s3cret"
command = "x"
multi = """
s3cret
s3cret"""
env = { K = 's3cret' }
`, "\n", "\r\n")
	f = put(t, "c.toml", back)
	if c, err = f.Wrap(program, all); err != nil {
		t.Fatal(err)
	}
	if d := c.Diff(); strings.Contains(d, "s3cret") || strings.Count(d, "\n") != 11 {
		t.Errorf("TOML:\n%s", d)
	}
}

// Secrets have many places on a command line, and not all are texts.
func TestSecretsOfACommandLineAreHidden(t *testing.T) {
	args := []string{
		"X-Api-Key: s3cret-1", "export A=1; MY_TOKEN=s3cret-2 npx x", "https://h.example/sse?key=s3cret-3", "https://h.example/?a=b&auth_token=s3cret-4",
		"--key", "s3cret-5", "--pass", "s3cret-6", `{"token": "s3cret-7"}`, "mysql://h/x?password=s3cret-8",
	}
	plain := []string{"--port", "8080", "https://auth.example:8443/key", "--tokens", "/home/me/secret-plans", "key"}
	src := `{"mcpServers": {"a": {"command": "x", "args": [` + quotedList(append(args, plain...)) + `], "env": {"PIN": 57312, "O": {"command": "s3cret-9"}}}}}`
	f := put(t, "mcp.json", src)
	c, err := f.Wrap(program, all)
	if err != nil {
		t.Fatal(err)
	}
	for name, shown := range map[string]string{"difference": c.Diff(), "command": RedactedCommand(append([]string{"x"}, append(args, plain...)...), 2000)} {
		if strings.Contains(shown, "s3cret") || strings.Contains(shown, "57312") {
			t.Errorf("%s shows a secret:\n%s", name, shown)
		}
		for _, want := range []string{"8080", "https://auth.example:8443/key", "key"} {
			if !strings.Contains(shown, want) {
				t.Errorf("%s hides %q:\n%s", name, want, shown)
			}
		}
	}
}

func quotedList(all []string) string {
	var b []string
	for _, s := range all {
		b = append(b, quoted(s))
	}
	return strings.Join(b, ", ")
}

// The numbers of the lines are right, also where hunks are far from each other.
func TestDiffPlaces(t *testing.T) {
	src := "{\"mcpServers\":{\n\"a\":{\"command\":\"x\"},\n" + strings.Repeat("// l\n", 20) + "\"b\":{\n\"command\":\"y\"}\n}}"
	f := put(t, "mcp.json", src)
	c, err := f.Wrap(program, all)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"@@ -1,5 +1,5 @@\n {\"mcp", "@@ -21,5 +21,6 @@\n // l\n // l\n \"b\":{\n-\"command\":\"y\"}\n+\"command\""} {
		if !strings.Contains(c.Diff(), want) {
			t.Errorf("%q is missing in:\n%s", want, c.Diff())
		}
	}
}

// One line of megabytes is shown around the change.
func TestDiffOfOneLine(t *testing.T) {
	f := put(t, "mcp.json", `{"x":[`+strings.Repeat("1,", 1<<17)+`1],"mcpServers":{"a":{"command":"x"}}}`)
	c, err := f.Wrap(program, all)
	if err != nil {
		t.Fatal(err)
	}
	if d := c.Diff(); len(d) > 3000 || !strings.Contains(d, `"`+program+`"`) {
		t.Errorf("%d bytes: %.3000s", len(d), d)
	}
}

func TestUndoAfterTheUserEditedTheEntry(t *testing.T) {
	for was, edits := range map[string][]string{
		`{"mcpServers":{"a":{"command":"x"}}}`: {
			`"x"]`, `"x", "new"]`, `{"mcpServers":{"a":{"command":"x", "args": ["new"]}}}`,
		},
		`{"mcpServers":{"a":{"command":"x","args":[]}}}`: {
			`"x"]`, `"x",]`, `{"mcpServers":{"a":{"command":"x","args":[]}}}`,
		},
		`{"mcpServers":{"a":{"command":"x" }}}`: {
			`{"command":"` + program + `", "args": ["wrap", "--name", "a", "--entry", "command", "--", "x"] }`,
			`{"args": ["wrap", "--name", "a", "--policy", "p", "--entry", "command", "--", "x"], "command":"` + program + `"}`,
			`{"mcpServers":{"a":{ "command":"x"}}}`,
		},
		`{"mcpServers":{"a":{"command":"x"  }}}`: {
			`{"command":"` + program + `", "args": ["wrap", "--name", "a", "--entry", "command", "--", "x"]  }`,
			`{"command":"` + program + `", "env": {}, "args": ["wrap", "--entry", "command", "--", "x"]}`,
			`{"mcpServers":{"a":{"command":"x", "env": {} }}}`,
		},
	} {
		f := put(t, "mcp.json", was)
		wrapWrite(t, f)
		now := contents(t, f.Path)
		if !strings.Contains(now, edits[0]) {
			t.Fatalf("%s is not in %s", edits[0], now)
		}
		f = put(t, "mcp.json", strings.Replace(now, edits[0], edits[1], 1))
		unwrapWrite(t, f.Path)
		if got := contents(t, f.Path); got != edits[2] {
			t.Errorf("restored %s, want %s", got, edits[2])
		}
	}
}
