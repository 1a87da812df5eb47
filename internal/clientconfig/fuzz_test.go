package clientconfig

import (
	"encoding/json/jsontext"
	"strings"
	"testing"
)

// there holds what is read to what init promises: either it is refused, or wrapping and
// unwrapping give the bytes back.
func there(t *testing.T, f *File) {
	t.Helper()
	if err := f.parse(f.raw, program); err != nil {
		return
	}
	for _, e := range f.Entries {
		if e.State == Wrapped && e.Wrapper == program {
			return // undo would take these too
		}
	}
	c, err := f.Wrap(program, all)
	if err != nil {
		t.Fatalf("%v", err)
	}
	if c.Empty() {
		return
	}
	if d := c.Diff(); d == "" || strings.ContainsAny(d, "\x1b\r\x00\u202e") {
		t.Fatalf("difference %q", d)
	}
	after := &File{Location: f.Location, toml: f.toml, raw: c.data}
	if err := after.parse(c.data, program); err != nil {
		t.Fatal(err)
	}
	back, err := after.Unwrap(all)
	if err != nil || string(back.data) != string(f.src) {
		t.Fatalf("%v: %q, was %q", err, back.data, f.src)
	}
}

func FuzzJSONC(f *testing.F) {
	for _, s := range []string{
		small,
		"{\"mcpServers\":{\"a\":{\"command\":\"x\",\"args\":[ // c\r\n\t\"-y\",],},},}",
		`{"mcp":{"a":{"command":["x"]}}}`,
		`{"context_servers":{"a":{"command":{"path":"x","args":[]}}}}`,
		`{"mcpServers":{"a":{"args":["y",],"command":"\u0078"}}} /* end */`,
		`{"a":[1.5e-3,true,null,"\ud83d\ude00\ud800"]}`,
		"\ufeff{}", "[[[[", `{"a":1,"\u0061":2}`, "/*", "\"\x00\"",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		_, err := parseJSONC(src)
		if v := jsontext.Value(src); err != nil && v.IsValid() && !strings.Contains(err.Error(), "more than") {
			t.Fatalf("%q is JSON, and is refused: %v", src, err)
		}
		there(t, &File{Location: Location{Client: anyClient}, raw: src})
	})
}

func FuzzTOML(f *testing.F) {
	for _, s := range []string{
		richTOML,
		"[mcp_servers.a]\r\ncommand = '''x'''\r\n",
		"mcp_servers = { a = { command = \"x\" }, b.command = 'y' }",
		"[mcp_servers]\na.command = \"x\" # c\na.args = [ 'y', # z\n ]",
		"[[a]]\n[[a.b]]\nc.d = 1979-05-27 07:32:00\n[a.b.e]\n",
		"a = \"\"\"x\\\n  y\"\"\"\"\"\nb = [inf, +nan, 0b1, 1e5]",
		"a.b = 1\na.b.c = 2", "[a", "= 1", "a = \"\\ud800\"", "\"\"\"a\"\"\" = 1",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		there(t, &File{Location: Location{Client: anyClient}, toml: true, raw: src})
	})
}
