package clientconfig

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// B016: an entry starts the gateway by an absolute path, and its environment and directory
// stay for the server.
func TestB016EntryKeepsEnvironment(t *testing.T) {
	f := put(t, "mcp.json", `{"mcpServers":{"a":{"command":"npx","args":["x"],"env":{"PATH":"/usr/bin:/bin"},"cwd":"/srv"}}}`)
	wrapWrite(t, f)
	e := again(t, f.Path).Entries[0]
	if !filepath.IsAbs(e.Launch[0]) || e.Env["PATH"] != "/usr/bin:/bin" || e.Cwd != "/srv" || !slices.Equal(e.Command, []string{"npx", "x"}) {
		t.Errorf("%+v", e)
	}
}

// B017: a cmd /c in front of a batch file stays, and arguments keep every character.
func TestB017CmdStays(t *testing.T) {
	src := `{"mcpServers":{"a":{"command":"cmd","args":["/c","npx","-y","pkg","C:\\My Files\\a&b","x^y","say \"hi\""]},"b":{"command":"C:\\Program Files\\nodejs\\npx.cmd"}}}`
	f := put(t, "mcp.json", src)
	c, err := f.Wrap(`C:\Tools\sallyport.exe`, all)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Write(); err != nil {
		t.Fatal(err)
	}
	a := again(t, f.Path).Entries
	want := []string{"cmd", "/c", "npx", "-y", "pkg", `C:\My Files\a&b`, "x^y", `say "hi"`}
	if !slices.Equal(a[0].Command, want) || a[0].Launch[0] != `C:\Tools\sallyport.exe` || a[0].State != Wrapped {
		t.Errorf("%+v", a[0])
	}
	if !slices.Equal(a[1].Command, []string{`C:\Program Files\nodejs\npx.cmd`}) {
		t.Errorf("%+v", a[1])
	}
	unwrapWrite(t, f.Path)
	if got := contents(t, f.Path); got != src {
		t.Errorf("not restored: %s", got)
	}
}

const richTOML = `# top comment
model = "gpt-5" # inline
"quoted key" = 1_000
a.dotted.key = 'x'
when = 2026-11-30T08:00:00Z
ratio = 0x1F

[mcp_servers.files] # the files
command = "npx"
args = [
    "-y", # yes
    'server', # literal
]
unknown_key = { a = 1, b = [ 1, 2 ] }
startup_timeout_sec = 10.50

[mcp_servers.files.env]
KEY = "v"

[mcp_servers.files.tools.read]
approval_mode = "auto"

[mcp_servers.other]
command = "other"
`

// B112: of a TOML file only the entry's own bytes change, other programs may rewrite the
// rest meanwhile, and undo needs no marks of its own.
func TestB112TOMLKeepsItsBytes(t *testing.T) {
	for name, src := range map[string]string{"lf": richTOML, "crlf": strings.ReplaceAll(richTOML, "\n", "\r\n")} {
		t.Run(name, func(t *testing.T) {
			f := put(t, "config.toml", src)
			c, err := f.Wrap(program, func(e *Entry) bool { return e.Server == "files" })
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Write(); err != nil {
				t.Fatal(err)
			}
			now := contents(t, f.Path)
			if name == "crlf" && strings.Count(now, "\n") != strings.Count(now, "\r\n") {
				t.Errorf("other line ends:\n%q", now)
			}
			changed := diffLines(strings.Split(src, "\n"), strings.Split(now, "\n"))
			if len(changed) != 2 || !strings.HasPrefix(changed[0], `command = "`+program) || !strings.HasPrefix(changed[1], `    "wrap", `) {
				t.Errorf("changed lines: %q", changed)
			}
			// Another program writes the file anew: other line ends, no comments on top.
			foreign := strings.Replace(strings.ReplaceAll(now, "\r\n", "\n"), "# top comment\n", "", 1)
			if err := os.WriteFile(f.Path, []byte(foreign), 0o644); err != nil {
				t.Fatal(err)
			}
			unwrapWrite(t, f.Path)
			if got, want := contents(t, f.Path), strings.Replace(richTOML, "# top comment\n", "", 1); got != want {
				t.Errorf("not restored:\n%s", got)
			}
		})
	}
}

// diffLines are the lines of b that a does not have.
func diffLines(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(b), func(l string) bool { return slices.Contains(a, l) })
}

// B113: what cannot be read strictly is refused with the place, and its bytes stay.
func TestB113UnreadableIsRefused(t *testing.T) {
	server := `{"mcpServers":{"a":{"command":"x"}}`
	for name, c := range map[string]struct{ file, src, want string }{
		"zero bytes":       {"m.json", "", "line 1, column 1: the file is empty"},
		"blank":            {"m.json", " \n", "line 2, column 1: the file is empty"},
		"only a comment":   {"m.json", "// {}\n", "line 2, column 1: the file is empty"},
		"same key":         {"m.json", `{"mcpServers":{"a":{"command":"x"},"a":{"command":"y"}}}`, `the key 'a' stands here twice`},
		"same key escaped": {"m.json", `{"mcpServers":{"a":{},"\u0061":{}}}`, `the key 'a' stands here twice`},
		"same key above":   {"m.json", `{"mcpServers":{},"mcpServers":{}}`, `the key 'mcpServers' stands here twice`},
		"conflict":         {"m.json", "{\n<<<<<<< HEAD\n}", "line 2, column 1: a merge conflict is left here"},
		"conflict in TOML": {"m.toml", "a = 1\n=======\n", "line 2, column 1: a merge conflict is left here"},
		"cut":              {"m.json", server, "the file ends where a comma or } is expected"},
		"after the end":    {"m.json", server + "}}", "unexpected '}' after the end"},
		"two commas":       {"m.json", `{"a":[1,,2]}`, "unexpected ',' where a value"},
		"bare key":         {"m.json", `{a:1}`, "a key in double quotes"},
		"single quotes":    {"m.json", `{'a':1}`, "a key in double quotes"},
		"raw line break":   {"m.json", "{\"a\":\"x\ny\"}", "a control character in a text"},
		"bad escape":       {"m.json", `{"a":"\x"}`, "this escape does not exist"},
		"bad number":       {"m.json", `{"a":01}`, "in a number"},
		"no UTF-8":         {"m.json", "{\"a\":\"\xff\"}", "column 7: this is not UTF-8"},
		"deep":             {"m.json", strings.Repeat("[", 101), "more than 100 levels"},
		"comment":          {"m.json", "{} /* ", "this comment has no end"},
		"no object":        {"m.json", "[]", "an object in braces"},
		"servers a list":   {".mcp.json", `{"mcpServers":[]}`, ""},
		"TOML same key":    {"m.toml", "a = 1\na = 2\n", "line 2, column 1: the key 'a' stands here twice"},
		"TOML same table":  {"m.toml", "[a]\n[a]\n", "line 2, column 2: the key 'a' stands here twice"},
		"TOML no value":    {"m.toml", "a =\n", "line 1, column 4: "},
		"TOML one line":    {"m.toml", "a = 1 b = 2", "where the line should end"},
	} {
		t.Run(name, func(t *testing.T) {
			f := put(t, c.file, c.src)
			if c.want == "" {
				f = Places{}.Read(Location{Path: f.Path, Client: ByID("claude-code")})
			}
			if f.Err == nil || !strings.Contains(f.Err.Error(), c.want) {
				t.Fatalf("error %v, want %q", f.Err, c.want)
			}
			if _, err := f.Wrap(program, all); err == nil {
				t.Error("Wrap goes on")
			}
			if _, err := f.Unwrap(all); err == nil {
				t.Error("Unwrap goes on")
			}
			if contents(t, f.Path) != c.src {
				t.Error("the file changed")
			}
		})
	}
	f := put(t, "m.json", `{"n":`+strings.Repeat("9", 1000)+`e99999,"mcpServers":{"a":{"command":"x"}}}`)
	if f.Err != nil || len(f.Entries) != 1 {
		t.Errorf("a huge number: %v", f.Err)
	}
}

// B114: a byte order mark goes, because some clients cannot read a file with one, and comes
// back with undo; line ends stay as they are; UTF-16 is refused.
func TestB114ByteOrderMarkAndLineEnds(t *testing.T) {
	src := "\ufeff{\r\n  \"mcpServers\": {\r\n    \"a\": {\r\n      \"command\": \"x\",\r\n      \"args\": [\r\n        \"y\"\r\n      ]\r\n    },\r\n    \"b\": {\r\n      \"command\": \"x\"\r\n    }\r\n  }\r\n}\r\n"
	f := put(t, "mcp.json", src)
	if c := wrapWrite(t, f); !c.Mark {
		t.Error("nobody is told that the mark goes")
	}
	now := contents(t, f.Path)
	if strings.HasPrefix(now, "\ufeff") || strings.Count(now, "\n") != strings.Count(now, "\r\n") {
		t.Errorf("wrote %q", now)
	}
	unwrapWrite(t, f.Path)
	if got := contents(t, f.Path); got != src {
		t.Errorf("not restored: %q", got)
	}
	for name, src := range map[string]string{
		"UTF-16 LE":      "\xff\xfe{\x00}\x00",
		"UTF-16 BE":      "\xfe\xff\x00{\x00}",
		"UTF-16 no mark": "{\x00}\x00",
		"UTF-32":         "\xff\xfe\x00\x00{\x00\x00\x00",
	} {
		if f := put(t, "mcp.json", src); f.Err == nil || !strings.Contains(f.Err.Error(), "save it as UTF-8") {
			t.Errorf("%s: %v", name, f.Err)
		}
	}
}

// B116: a client may write the file anew while it runs. Written anew with other white space
// and order, the entries are still known and undone; written from memory without them,
// nothing is claimed. On Windows both places of the file are looked at.
func TestB116ClientWritesAnew(t *testing.T) {
	f := put(t, "mcp.json", `{"mcpServers":{"a":{"env":{"K":"v"},"command":"x","args":["y"]},"b":{"command":"z"}},"theme":"dark"}`)
	original := contents(t, f.Path)
	wrapWrite(t, f)
	var v any
	if err := json.Unmarshal([]byte(contents(t, f.Path)), &v); err != nil {
		t.Fatal(err)
	}
	anew, err := json.MarshalIndent(v, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.Path, anew, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, e := range again(t, f.Path).Entries {
		if e.State != Wrapped || !e.ByInit {
			t.Errorf("written anew: %+v", e)
		}
	}
	unwrapWrite(t, f.Path)
	var got, want any
	if json.Unmarshal([]byte(contents(t, f.Path)), &got) != nil || json.Unmarshal([]byte(original), &want) != nil {
		t.Fatalf("restored: %s", contents(t, f.Path))
	}
	if g, w := marshal(t, got), marshal(t, want); g != w {
		t.Errorf("restored %s, want %s", g, w)
	}

	if err := os.WriteFile(f.Path, []byte(original), 0o644); err != nil {
		t.Fatal(err)
	}
	if e := again(t, f.Path).Entries[0]; e.State != Plain {
		t.Errorf("from memory: %+v", e)
	}

	home := t.TempDir()
	p := Places{GOOS: "windows", AppData: filepath.Join(home, "Roaming"), LocalAppData: filepath.Join(home, "Local")}
	var paths []string
	for _, file := range []string{"Roaming/Claude", "Local/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude"} {
		dir := filepath.Join(home, filepath.FromSlash(file))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "claude_desktop_config.json")
		if err := os.WriteFile(path, []byte(original), 0o644); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	var found []string
	for _, f := range p.Find() {
		found = append(found, f.Path)
	}
	if !slices.Equal(found, paths) {
		t.Errorf("found %q, want %q", found, paths)
	}
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// B118: every client's key for servers, and what each entry says of itself.
func TestB118EntriesOfEveryKind(t *testing.T) {
	f := put(t, "mcp.json", `{
  "inputs": [{"id": "key", "type": "promptString", "password": true}],
  "servers": {
    "plain": {"type": "stdio", "command": "npx", "args": ["${workspaceFolder}"], "env": {"K": "${input:key}"}, "envFile": "x", "dev": {"watch": "*.js"}},
    "url": {"url": "https://x.example/mcp"},
    "sse": {"type": "sse", "url": "https://x.example/sse"},
    "off": {"command": "npx", "disabled": true},
    "boxed": {"command": "npx", "sandboxEnabled": true},
    "debug": {"command": "node", "dev": {"debug": {"type": "node"}}},
    "both": {"command": "npx", "url": "https://x.example"},
    "none": {"gallery": true},
    "line": {"command": "npx -y server"},
    "number": {"command": "npx", "args": [1]},
    "text": "npx",
    "hand": {"command": "/usr/bin/sallyport", "args": ["wrap", "--", "npx"]},
    "gateway": {"command": "sallyport", "args": ["run"]}
  }
}`)
	if f.Err != nil {
		t.Fatal(f.Err)
	}
	want := map[string]struct {
		state  State
		reason string
	}{
		"plain":   {Plain, ""},
		"url":     {Remote, "URL"},
		"sse":     {Remote, "URL"},
		"off":     {Disabled, "switched off"},
		"boxed":   {Unclear, "sandbox"},
		"debug":   {Unclear, "dev.debug"},
		"both":    {Unclear, "command and a URL"},
		"none":    {Unclear, "no command"},
		"line":    {Unclear, "line for a shell"},
		"number":  {Unclear, "args are no list of texts"},
		"text":    {Unclear, "no object"},
		"hand":    {Wrapped, "by hand, by '/usr/bin/sallyport', which is not this program's path"},
		"gateway": {Wrapped, "sallyport run"},
	}
	if len(f.Entries) != len(want) {
		t.Errorf("%d entries, want %d", len(f.Entries), len(want))
	}
	for _, e := range f.Entries {
		w := want[e.Server]
		if e.State != w.state || !strings.Contains(e.Reason, w.reason) || (e.State == Plain) != (e.Reason == "") {
			t.Errorf("%s: %s, %q", e.Server, e.State, e.Reason)
		}
	}
	c := wrapWrite(t, f)
	if len(c.Entries) != 1 || !strings.Contains(contents(t, f.Path), `"env": {"K": "${input:key}"}`) {
		t.Errorf("wrote:\n%s", contents(t, f.Path))
	}
	// What init did not write, undo leaves.
	unwrapWrite(t, f.Path)
	if !strings.Contains(contents(t, f.Path), `"args": ["wrap", "--", "npx"]`) {
		t.Error("what was wrapped by hand is gone")
	}
}

// B119: variables stay where the client replaces them, letter by letter; a name with one is
// not made an argument.
func TestB119VariablesStay(t *testing.T) {
	texts := []string{"${VAR}", "${VAR:-x}", "${env:VAR}", "$VAR", "%VAR%", "{env:VAR}", "pa$$w0rd", "~"}
	list := marshal(t, texts)
	src := `{"mcpServers":{"${name}":{"command":"${userHome}/srv","args":` + list + `,"env":{"K":"${VAR:-x}","P":"pa$$w0rd%"}}}}`
	f := put(t, "mcp.json", src)
	wrapWrite(t, f)
	e := again(t, f.Path).Entries[0]
	if !slices.Equal(e.Command, append([]string{"${userHome}/srv"}, texts...)) || e.Env["P"] != "pa$$w0rd%" || e.Env["K"] != "${VAR:-x}" {
		t.Errorf("%+v", e)
	}
	if slices.Contains(e.Flags, "--name") {
		t.Errorf("flags %q", e.Flags)
	}
}
