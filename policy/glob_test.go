package policy

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestGlob(t *testing.T) {
	for _, tt := range []struct {
		glob, name string
		want       bool
	}{
		{"read_file", "read_file", true},
		{"read_file", "read_files", false},
		{"read_file", "Read_File", false},
		{"read_*", "read_", true},
		{"read_*", "pre_read_x", false},
		{"*_file", "write_file", true},
		{"*", "", true},
		{"**", "a/b\nc", true},
		{"file:///*", "file:///a/b/c.txt", true},
		{"file:///*/x", "file:///a/b/x", true},
		{"a?c", "abc", true},
		{"a?c", "aéc", true},
		{"a?c", "ac", false},
		{"a?c", "abbc", false},
		{"[abc]x", "bx", true},
		{"[abc]x", "dx", false},
		{"[a-c]x", "bx", true},
		{"[!a-c]x", "bx", false},
		{"[!a-c]x", "dx", true},
		{"[!a-c]x", "x", false},
		{"[]a]", "]", true},
		{"[a-]", "-", true},
		{"[*]", "*", true},
		{"[*]", "x", false},
		{"[[]", "[", true},
		{"[é]", "é", true},
		{"*[!é]", "é", false},
		{"*a*b*c", "xaybzc", true},
		{"*a*b*c", "xaybz", false},
		{"*.txt", "a.txt.txt", true},
		{"a*a", "a", false},
		{"[\uFFFD]", "\xff", false},
		{"a", "a\n", false},
	} {
		g, err := ParseGlob(tt.glob)
		if err != nil {
			t.Errorf("ParseGlob(%q): %v", tt.glob, err)
			continue
		}
		if got := g.Match(tt.name); got != tt.want {
			t.Errorf("%q matches %q: %v, want %v", tt.glob, tt.name, got, tt.want)
		}
	}
}

func TestGlobRefused(t *testing.T) {
	for _, tt := range []struct{ glob, want string }{
		{"", "write * for every name"},
		{`a\*`, "write [*]"},
		{`[\]]`, "escapes nothing"},
		{"{a,b}_x", "its own list entry"},
		{"[abc", "is not closed"},
		{"[]", "is not closed"},
		{"[!]", "is not closed"},
		{"[^a]", "write [!"},
		{"[z-a]", "is empty"},
		{"!delete_*", "does not negate"},
		{" a", "white space"},
		{"a\u200bb", "U+200B"},
		{"a\x00b", "U+0000"},
		{"a\xff", "UTF-8"},
		{strings.Repeat("a", maxGlob+1), "longer"},
	} {
		if _, err := ParseGlob(tt.glob); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("ParseGlob(%.20q): %v, want %q", tt.glob, err, tt.want)
		}
	}
}

// TestGlobIsBounded has a pattern for which backtracking over every star would take
// longer than the test may run.
func TestGlobIsBounded(t *testing.T) {
	g, err := ParseGlob(strings.Repeat("*a", 1000) + "b")
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if g.Match(strings.Repeat("a", 100_000)) {
		t.Error("matched")
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
}

// TestGlobMatchesItsRegexp compares with the standard library's engine.
func TestGlobMatchesItsRegexp(t *testing.T) {
	piece := rapid.SampledFrom([]string{"a", "b", "é", "/", "*", "?", "[ab]", "[!a]", "[a-é]", "[!]b]"})
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOfN(piece, 1, 8).Draw(t, "pattern")
		name := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "é", "/", "\n", "]"}), 0, 10).Draw(t, "name"), "")
		pattern := strings.Join(pieces, "")
		g, err := ParseGlob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		var re strings.Builder
		for _, p := range pieces {
			switch p {
			case "*":
				re.WriteString(".*")
			case "?":
				re.WriteString(".")
			case "[!]b]":
				re.WriteString(`[^\]b]`)
			default:
				if strings.HasPrefix(p, "[") {
					re.WriteString(strings.Replace(p, "!", "^", 1))
				} else {
					re.WriteString(regexp.QuoteMeta(p))
				}
			}
		}
		want := regexp.MustCompile(`(?s)\A(?:` + re.String() + `)\z`).MatchString(name)
		if got := g.Match(name); got != want {
			t.Fatalf("%q matches %q: %v, the regexp says %v", pattern, name, got, want)
		}
	})
}

func FuzzGlob(f *testing.F) {
	for _, s := range []string{"a*b?[c-d]", "[!]x]*", "**", "[", `\`, "é*[é]"} {
		f.Add(s, "aéb")
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		g, err := ParseGlob(pattern)
		if err != nil {
			return
		}
		g.Match(name)
		if g.String() != pattern {
			t.Errorf("String is %q, want %q", g.String(), pattern)
		}
		if g.literal && !g.Match(pattern) {
			t.Errorf("%q does not match itself", pattern)
		}
		if all := (Glob{source: "*" + pattern, parts: append([]part{{kind: anyRun}}, g.parts...)}); g.Match(name) && !all.Match(name) {
			t.Errorf("%q matches %q, *%[1]s does not", pattern, name)
		}
	})
}
