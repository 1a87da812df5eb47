package clientconfig

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// source is a generator of files in one syntax.
type source struct {
	t *rapid.T
	b strings.Builder
	n int // of comments, so that each is another
}

func (s *source) pick(list ...string) string { return rapid.SampledFrom(list).Draw(s.t, "pick") }
func (s *source) yes() bool                  { return rapid.Bool().Draw(s.t, "yes") }
func (s *source) count(max int) int          { return rapid.IntRange(0, max).Draw(s.t, "count") }

func (s *source) put(parts ...string) {
	for _, p := range parts {
		s.b.WriteString(p)
	}
}

var oddTexts = []string{`"npx"`, `"a b"`, `"-y"`, `"--"`, `""`, `"wrap"`, `"\u0041\n\\"`, `"ü日本"`, `"${input:key}"`, `"C:\\x"`, `"/bin/sallyport"`}

// blank is white space and comments.
func (s *source) blank() {
	for range s.count(2) {
		s.n++
		s.put(s.pick("", " ", "\t", "\n", "\r\n  ", "\n\n", fmt.Sprintf("/* c%d \" */", s.n), fmt.Sprintf("// c%d ]}\n", s.n)))
	}
}

// list writes what is between two brackets.
func (s *source) list(open, end string, n int, item func(i int)) {
	s.put(open)
	for i := range n {
		s.blank()
		item(i)
		s.blank()
		if i < n-1 || s.yes() {
			s.put(",")
		}
	}
	s.blank()
	s.put(end)
}

func (s *source) key(k string) {
	s.put(k)
	s.blank()
	s.put(":")
	s.blank()
}

func (s *source) texts() {
	s.list("[", "]", s.count(4), func(int) { s.put(s.pick(oddTexts...)) })
}

func (s *source) other() {
	s.put(s.pick("1", "null", "true", "[]", "{}", `"x"`, "-0.5e9", `{"command": "no", "args": ["a"]}`, "123456789012345678901234567890"))
}

// entry writes one server, in a shape that init may or may not understand.
func (s *source) entry() {
	type part struct {
		key   string
		value func()
	}
	var parts []part
	if s.count(5) > 0 {
		parts = append(parts, part{`"command"`, func() { s.put(s.pick(oddTexts...)) }})
		if s.yes() {
			parts = append(parts, part{`"args"`, s.texts})
		}
	} else {
		parts = append(parts, part{`"command"`, func() {
			s.list("[", "]", 1+s.count(3), func(int) { s.put(s.pick(oddTexts...)) })
		}})
	}
	for _, p := range []part{
		{`"env"`, func() { s.put(`{"A": "b"}`) }},
		{`"url"`, func() { s.put(`"https://x.example"`) }},
		{`"disabled"`, func() { s.put(s.pick("true", "false")) }},
		{`"x"`, s.other},
	} {
		if s.count(3) == 0 {
			parts = append(parts, p)
		}
	}
	parts = rapid.Permutation(parts).Draw(s.t, "order")
	s.list("{", "}", len(parts), func(i int) {
		s.key(parts[i].key)
		parts[i].value()
	})
}

// jsoncFile is a configuration with comments and trailing commas.
func jsoncFile(t *rapid.T) string {
	s := &source{t: t}
	s.blank()
	groups := s.count(2)
	keys := []string{`"mcpServers"`, `"servers"`, `"mcp"`}
	s.list("{", "}", groups+1, func(i int) {
		if i == groups {
			s.key(`"else"`)
			s.other()
			return
		}
		s.key(keys[i])
		names := []string{`"a"`, `"b c"`, `"-x"`, `"\u0064"`}
		s.list("{", "}", s.count(3), func(j int) {
			s.key(names[j])
			s.entry()
		})
	})
	s.blank()
	return s.b.String()
}

var tomlTexts = []string{`"npx"`, `'a b'`, `"""x"""`, `'''y'''`, `"-y"`, `"--"`, `"\u00e9\\"`, `""`, `'C:\x'`}

func (s *source) tomlList() {
	n := s.count(4)
	s.put("[")
	for i := range n {
		s.put(s.pick("", " ", "\n  ", " # c ]\n"), s.pick(tomlTexts...), s.pick("", " ", "\n"))
		if i < n-1 || s.yes() {
			s.put(",")
		}
	}
	s.put(s.pick("", " ", "\n", "# e\n"), "]")
}

// tomlFile is a configuration of Codex.
func tomlFile(t *rapid.T) string {
	s := &source{t: t}
	end := s.pick("\n", "\r\n")
	s.put(s.pick("", "# mine"+end, `model = "x" # y`+end, "d = 2026-11-30"+end))
	for i, n := range []string{"a", `"b c"`, "'d.e'", "f"}[:s.count(4)] {
		if i == 3 {
			s.put("[mcp_servers]", end, "f = { command = ", s.pick(tomlTexts...))
			if s.yes() {
				s.put(", args = [ ", s.pick(tomlTexts...), " ]")
			}
			s.put(" }", end, "g.command = ", s.pick(tomlTexts...), end)
			continue
		}
		s.put("[mcp_servers.", n, "]", s.pick("", " # t"), end)
		lines := []func(){func() { s.put("command = ", s.pick(tomlTexts...)) }}
		if s.yes() {
			lines = append(lines, func() { s.put("args = "); s.tomlList() })
		}
		if s.yes() {
			lines = append(lines, func() { s.put("startup_timeout_sec = 1_0.5") })
		}
		for _, l := range rapid.Permutation(lines).Draw(t, "order") {
			s.put(s.pick("", "  ", "\t"))
			l()
			s.put(s.pick("", " # c", " "), end, s.pick("", end))
		}
		if s.yes() {
			s.put("[mcp_servers.", n, ".env]", end, `K = "v"`, end)
		}
	}
	text := s.b.String()
	if s.yes() {
		text = strings.TrimSuffix(text, end)
	}
	return text
}

func parsed(t *rapid.T, text string, toml bool) *File {
	f := &File{Location: Location{Client: anyClient}, toml: toml, raw: []byte(text)}
	if err := f.parse(f.raw, program); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return f
}

// Whatever a file looks like: init and undo give its bytes back, the commands stay the
// same, a second init changes nothing, and what somebody wrote elsewhere meanwhile stays.
func TestThereAndBackProperty(t *testing.T) {
	for name, gen := range map[string]func(*rapid.T) string{"jsonc": jsoncFile, "toml": tomlFile} {
		toml := name == "toml"
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			text := gen(t)
			f := parsed(t, text, toml)
			c, err := f.Wrap(program, all)
			if err != nil {
				t.Fatalf("%v in:\n%s", err, text)
			}
			w := parsed(t, string(c.data), toml)
			for i, e := range w.Entries {
				was := f.Entries[i]
				if was.State == Plain && (e.State != Wrapped || !e.ByInit || !slices.Equal(e.Command, was.Command) || e.Launch[0] != program) {
					t.Fatalf("%+v became %+v in:\n%s", was, e, c.data)
				}
				if was.State != Plain && e.State != was.State {
					t.Fatalf("%+v changed in:\n%s", was, c.data)
				}
			}
			second, err := w.Wrap(program, all)
			if err != nil || !second.Empty() {
				t.Fatalf("a second init changes %d: %v", len(second.Entries), err)
			}
			before, after := "// foreign\n", "\n/* foreign */"
			if toml {
				before, after = "# foreign\n", "\n# foreign"
			}
			for _, foreign := range []bool{false, true} {
				now, want := string(c.data), text
				if foreign {
					now, want = before+now+after, before+want+after
				}
				byInit := func(e *Entry) bool { return e.Wrapper == program }
				back, err := parsed(t, now, toml).Unwrap(byInit)
				if err != nil || string(back.data) != want {
					t.Fatalf("undo: %v\n%s\nwas:\n%s\nwrapped:\n%s", err, back.data, want, now)
				}
			}
			if d := c.Diff(); !c.Empty() && !strings.Contains(d, "\n+") || strings.ContainsAny(d, "\x1b\r") {
				t.Fatalf("difference: %q", d)
			}
		}))
	}
}
