package confine

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func root(t testing.TB, style Style, prefixes []string, base string, deny ...string) *Root {
	t.Helper()
	r, err := NewRoot(style, prefixes, base, deny)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// links is a file system that holds nothing but links to absolute paths; every other
// name exists.
func links(m map[string]string) Resolver {
	return func(path string) (string, error) {
		for range 20 {
			next := path
			for link, target := range m {
				if path == link || strings.HasPrefix(path, link+"/") {
					next = target + strings.TrimPrefix(path, link)
				}
			}
			if next == path {
				return path, nil
			}
			path = next
		}
		return "", errors.New("a loop")
	}
}

func TestCheckPOSIX(t *testing.T) {
	r := root(t, POSIX, []string{"/srv/share", "/data/"}, "")
	for path, want := range map[string]string{
		"/srv/share/a":           "/srv/share/a",
		"/srv/share":             "/srv/share",
		"/srv/share/":            "/srv/share",
		"/srv//share/./x":        "/srv/share/x",
		"/srv/share/a/../b":      "/srv/share/b",
		"/../srv/share/x":        "/srv/share/x",
		"/srv/other/../share/x":  "/srv/share/x",
		"/data/deep/er":          "/data/deep/er",
		"/srv/share/...":         "/srv/share/...",
		"/srv/share/a b (1).txt": "/srv/share/a b (1).txt",
		"/srv/share/é日本.txt":     "/srv/share/é日本.txt",
		"/srv/share/..a/b..":     "/srv/share/..a/b..",
		"/srv/share/file":        "/srv/share/file",
		"/srv/share/CON":         "/srv/share/CON",
		"/srv/share/ x ":         "/srv/share/ x ",
		"/srv/share/ﬁle-名～":      "/srv/share/ﬁle-名～",
		"//srv/share/x":          "/srv/share/x",
	} {
		for name, resolve := range map[string]Resolver{"lexical": nil, "resolved": links(nil)} {
			got, err := r.Check(path, resolve)
			if err != nil || got != want {
				t.Errorf("%s, %s: got %q, %v; want %q", path, name, got, err, want)
			}
		}
	}
	for path, reason := range map[string]string{
		"":                             "empty",
		"a":                            "relative",
		"./a":                          "relative",
		"/srv/share-secret/a":          "outside", // B088
		"/srv/share/../share-secret/a": "outside",
		"/srv/share/../../etc/passwd":  "outside",
		"/srv":                         "outside",
		"/":                            "outside",
		"/..":                          "outside",
		"/srv/Share/a":                 "outside",
		"/etc/passwd":                  "outside",
		"~/x":                          "~",
		"/srv/share/~root/x":           "~",
		"/srv/share/x~":                "~",
		"/srv/share/$HOME/x":           "$",
		"$HOME/x":                      "$",
		"/srv/share/%2e%2e/%2e%2e/etc": "%",
		`/srv/share/..\..\x`:           `\`,
		`\srv\share`:                   `\`,
		"/srv/share/a\x00b":            "U+0000",
		"/srv/share/a\nb":              "U+000A",
		"/srv/share/a\x7f":             "U+007F",
		"/srv/share/a\u0085":           "U+0085",
		"/srv/share/a\u2028":           "U+2028",
		"/srv/share/\xff":              "UTF-8",
		"file:///srv/share/x":          "URI",
		"FILE:/srv/share/x":            "URI",
		"/srv/share/file:/etc/passwd":  "URI",
		"https://x.example/srv/share":  "URI",
		"/srv/share/.. ":               "white space beside",
		"/srv/share/sub/\u2003../x":    "white space beside",
		"/srv/share/. /x":              "white space beside",
		"/srv/share/\u2025/\u2025/etc": "look like",
		"/srv/share/．．/x":              "look like",
		"/srv/share/a／b":               "look like",
		"/srv/share/a＼..＼b":            "look like",
		"/srv/share/" + long(4096):     "longer",
		"/srv/share/" + strings.Repeat("a/../", 40) + "x": `too many ".."`,
	} {
		got, err := r.Check(path, links(nil))
		if err == nil {
			t.Errorf("%q was allowed as %q", path, got)
			continue
		}
		if got != "" || !strings.Contains(err.Error(), reason) {
			t.Errorf("%q: got %q, %v; want a reason with %q", path, got, err, reason)
		}
		if strings.ContainsAny(err.Error(), "\x00\n\x7f\u0085\u2028") || len(err.Error()) > 600 {
			t.Errorf("%q: the error is not safe to show: %q", path, err)
		}
	}
}

func long(n int) string { return strings.Repeat("a", n) }

func TestCheckLexicalHasNoClimbLimit(t *testing.T) {
	r := root(t, POSIX, []string{"/srv"}, "")
	if got, err := r.Check("/srv/"+strings.Repeat("a/../", 40)+"x", nil); err != nil || got != "/srv/x" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestCheckBase(t *testing.T) {
	r := root(t, POSIX, []string{"/srv/share"}, "/srv/share/jobs")
	for path, want := range map[string]string{
		"x": "/srv/share/jobs/x", ".": "/srv/share/jobs", "./a/b": "/srv/share/jobs/a/b", "../y": "/srv/share/y",
		"/srv/share/z": "/srv/share/z", "a/../../y": "/srv/share/y",
	} {
		if got, err := r.Check(path, links(nil)); err != nil || got != want {
			t.Errorf("%s: got %q, %v; want %q", path, got, err, want)
		}
	}
	for _, path := range []string{"../../x", "..//../share-secret/x", "~", "$X", "", long(4090)} {
		if got, err := r.Check(path, links(nil)); err == nil {
			t.Errorf("%q was allowed as %q", path, got)
		}
	}
}

// Only a path that was read and lies outside is ErrOutside: a message may then say what
// is inside.
func TestErrOutside(t *testing.T) {
	r := root(t, POSIX, []string{"/srv/share", "/data/"}, "", "/srv/share/own")
	if got := strings.Join(r.Prefixes(), " "); got != "/srv/share /data" {
		t.Errorf("prefixes %q", got)
	}
	for path, outside := range map[string]bool{"/etc/passwd": true, "/srv": true, "~/x": false, "x": false, "/srv/share/own": false} {
		if _, err := r.Check(path, nil); err == nil || errors.Is(err, ErrOutside) != outside {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestB086LinkInsideLeadsOut(t *testing.T) {
	r := root(t, POSIX, []string{"/srv"}, "")
	fs := links(map[string]string{"/srv/leak": "/etc", "/srv/ok": "/srv/real"})
	if got, err := r.Check("/srv/leak/hostname", fs); err == nil {
		t.Errorf("allowed as %q", got)
	}
	if _, err := r.Check("/srv/leak", fs); err == nil {
		t.Error("the link itself was allowed")
	}
	if got, err := r.Check("/srv/ok/x", fs); err != nil || got != "/srv/real/x" {
		t.Errorf("a link that stays inside: %q, %v", got, err)
	}
}

func TestB087ErrorsRefuse(t *testing.T) {
	r := root(t, POSIX, []string{"/srv"}, "")
	for name, resolve := range map[string]Resolver{
		"error":    func(string) (string, error) { return "/srv/x", errors.New("permission denied\x1b[2J") },
		"relative": func(string) (string, error) { return "srv/x", nil },
		"empty":    func(string) (string, error) { return "", nil },
		"loop":     links(map[string]string{"/srv/a": "/srv/b", "/srv/b": "/srv/a"}),
	} {
		got, err := r.Check("/srv/a/new.txt", resolve)
		if err == nil || got != "" {
			t.Errorf("%s: allowed as %q", name, got)
		} else if strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%s: the error is not escaped: %q", name, err)
		}
	}
}

// A resolver's answer is judged after it is cleaned.
func TestResolverAnswerIsCleaned(t *testing.T) {
	r := root(t, POSIX, []string{"/srv"}, "")
	evil := func(path string) (string, error) {
		if path == "/srv" {
			return path, nil
		}
		return "/srv/../etc/passwd", nil
	}
	if got, err := r.Check("/srv/x", evil); err == nil {
		t.Errorf("allowed as %q", got)
	}
}

func TestPrefixBehindALink(t *testing.T) {
	r := root(t, POSIX, []string{"/tmp/x"}, "/tmp/x")
	fs := links(map[string]string{"/tmp": "/private/tmp"})
	for _, path := range []string{"/tmp/x/a", "/private/tmp/x/a", "a"} {
		if got, err := r.Check(path, fs); err != nil || got != "/private/tmp/x/a" {
			t.Errorf("%s: got %q, %v", path, got, err)
		}
	}
	if got, err := r.Check("/tmp/y", fs); err == nil {
		t.Errorf("allowed as %q", got)
	}
	// What the prefix's text names is not inside when a link leads it elsewhere.
	moved := links(map[string]string{"/tmp/x": "/elsewhere", "/tmp/x2": "/tmp/x"})
	if got, err := r.Check("/tmp/x2/a", moved); err != nil || got != "/elsewhere/a" {
		t.Errorf("got %q, %v", got, err)
	}
}

// One prefix whose links cannot be resolved must not close the others, nor open itself.
func TestBrokenPrefix(t *testing.T) {
	r := root(t, POSIX, []string{"/broken", "/srv"}, "")
	fs := func(path string) (string, error) {
		if path == "/broken" {
			return "", errors.New("denied")
		}
		return path, nil
	}
	if _, err := r.Check("/srv/a", fs); err != nil {
		t.Errorf("the good prefix: %v", err)
	}
	if _, err := r.Check("/broken/a", fs); err == nil || !strings.Contains(err.Error(), "allowed directory") {
		t.Errorf("the broken prefix: %v", err)
	}
}

// ".." behind a link leads to different places, depending on who reads the path: it
// must be inside either way.
func TestClimbBehindALink(t *testing.T) {
	r := root(t, POSIX, []string{"/srv"}, "")
	fs := links(map[string]string{"/srv/out": "/etc/deep", "/srv/in": "/srv/a/b", "/up": "/srv/a"})
	for _, path := range []string{
		"/srv/out/../x",      // the text says /srv/x, the system /etc/x
		"/srv/in/../../../y", // the text says /y, collapsed at the top
		"/up/../x",           // the text says /x, the system /srv/x
		"/srv/a/../out/../z",
	} {
		if got, err := r.Check(path, fs); err == nil {
			t.Errorf("%s was allowed as %q", path, got)
		}
	}
	if got, err := r.Check("/srv/in/../y", fs); err != nil || got != "/srv/y" {
		t.Errorf("inside either way: %q, %v", got, err)
	}
}

func TestOwnFiles(t *testing.T) {
	r := root(t, POSIX, []string{"/home/u"}, "", "/home/u/.config/sallyport", "/home/u/audit.jsonl", "/odd/a$b~")
	fs := links(map[string]string{"/home/u/innocent": "/home/u/.config", "/odd": "/home/u/odd", "/home/u/audit.jsonl": "/home/u/logs/audit.jsonl"})
	for _, path := range []string{
		"/home/u/.config/sallyport", "/home/u/.config/sallyport/sallyport.yaml", "/home/u/audit.jsonl",
		"/home/u/innocent/sallyport/x", "/home/u/.config", "/home/u", "/home/u/.config/x/../sallyport/y",
		"/home/u/logs/audit.jsonl", "/home/u/logs", "/home/u/odd",
	} {
		if got, err := r.Check(path, fs); err == nil {
			t.Errorf("%s was allowed as %q", path, got)
		} else if !strings.Contains(err.Error(), "own files") {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, path := range []string{"/home/u/.config/sallyport2/x", "/home/u/.config/other", "/home/u/audit.jsonl2", "/home/u/logs/x"} {
		if _, err := r.Check(path, fs); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	blind := func(path string) (string, error) {
		if strings.Contains(path, "audit") {
			return "", errors.New("denied")
		}
		return path, nil
	}
	if _, err := r.Check("/home/u/x", blind); err == nil {
		t.Error("allowed although an own file could not be resolved")
	}
}

func TestDarwin(t *testing.T) {
	r := root(t, Darwin, []string{"/Users/Ann/Pr\u00e9"}, "", "/Users/Ann/Pr\u00e9/stra\u00dfe")
	for _, path := range []string{"/users/ann/pr\u00e9/x", "/Users/Ann/Pre\u0301/x", "/USERS/ANN/PRE\u0301/x", "/Users/Ann/PR\u00c9/x"} {
		if _, err := r.Check(path, links(nil)); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, path := range []string{
		"/Users/Ann/Pre/x", "/Users/Ann2/Pr\u00e9/x",
		"/Users/Ann/Pr\u00e9/STRASSE/x", "/Users/Ann/Pr\u00e9/stra\u017f\u017fe", // an own file under another spelling
	} {
		if got, err := r.Check(path, links(nil)); err == nil {
			t.Errorf("%s was allowed as %q", path, got)
		}
	}
	// A looser folding than the file system's must not open a directory.
	if got, err := root(t, Darwin, []string{"/srv/strasse"}, "").Check("/srv/stra\u00dfe/x", links(nil)); err == nil {
		t.Errorf("allowed as %q", got)
	}
}

func TestB089Windows(t *testing.T) {
	r := root(t, Windows, []string{`C:\jobs`, "d:/Data"}, "")
	for path, want := range map[string]string{
		`C:\jobs\a.txt`: `C:\jobs\a.txt`, `c:/JOBS/x`: `C:\JOBS\x`, `C:\jobs\sub\..\x`: `C:\jobs\x`,
		`C:\jobs`: `C:\jobs`, `D:\data\x`: `D:\data\x`, `C:\\jobs//x`: `C:\jobs\x`, `C:\jobs\console.txt`: `C:\jobs\console.txt`,
		`C:\jobs\.gitignore`: `C:\jobs\.gitignore`, `C:\jobs\com10`: `C:\jobs\com10`,
	} {
		if got, err := r.Check(path, nil); err != nil || got != want {
			t.Errorf("%s: got %q, %v; want %q", path, got, err, want)
		}
	}
	for _, path := range []string{
		`C:\PROGRA~1\x`, `\\localhost\C$\x`, `\\?\C:\jobs\x`, `\\.\C:\jobs\x`, `//?/C:/jobs/x`, `//localhost/jobs/x`, `\??\C:\jobs\x`,
		`C:\jobs\a.txt::$DATA`, `C:\jobs\a.txt:stream`, `C:\jobs\secret.txt.`, `C:\jobs\secret.txt `, `C:\jobs\dir.\x`, `C:\jobs\...\x`,
		`C:relative`, `C:`, `C:..\x`, `NUL`, `C:\jobs\NUL`, `C:\jobs\CON.txt`, `C:\jobs\con .txt`, `C:\jobs\aux.tar.gz`, `C:\jobs\COM1`,
		`C:\jobs\lpt9.x`, "C:\\jobs\\COM\u00b9", `C:\jobs\CONIN$`, `\jobs\x`, `/jobs/x`, `jobs\x`, `x`, `C:\jobsshop\x`, `D:\jobs\x`,
		`C:\jobs\..\x`, `C:\jobs\a*b`, `C:\jobs\a?b`, `C:\jobs\a"b`, `C:\jobs\a<b`, `C:\jobs\a|b`, `1:\jobs\x`, `é:\jobs\x`, `C:\jobs\%TEMP%`,
		"C:\\jobs\\a\x00", `file:///C:/jobs/x`, `CC:\jobs\x`,
	} {
		if got, err := r.Check(path, nil); err == nil {
			t.Errorf("%s was allowed as %q", path, got)
		}
	}
	based := root(t, Windows, []string{`C:\jobs`}, `C:\jobs\b`)
	for path, want := range map[string]string{`x\y`: `C:\jobs\b\x\y`, `..\y`: `C:\jobs\y`, `x/y`: `C:\jobs\b\x\y`} {
		if got, err := based.Check(path, nil); err != nil || got != want {
			t.Errorf("%s: got %q, %v; want %q", path, got, err, want)
		}
	}
	for _, path := range []string{`..\..\y`, `C:y`, `\y`, `NUL`} {
		if got, err := based.Check(path, nil); err == nil {
			t.Errorf("%s was allowed as %q", path, got)
		}
	}
	own := root(t, Windows, []string{`C:\jobs`}, "", `C:\Jobs\Sallyport.yaml`)
	if got, err := own.Check(`c:\jobs\sallyport.YAML`, nil); err == nil {
		t.Errorf("an own file was allowed as %q", got)
	}
	resolved := func(path string) (string, error) { return `\\server\share`, nil }
	if got, err := r.Check(`C:\jobs\x`, resolved); err == nil {
		t.Errorf("a link to a share was allowed as %q", got)
	}
}

func TestNewRootErrors(t *testing.T) {
	for name, c := range map[string]struct {
		style          Style
		prefixes, deny []string
		base           string
	}{
		"empty prefix":       {prefixes: []string{""}},
		"relative prefix":    {prefixes: []string{"out"}},
		"dotted prefix":      {prefixes: []string{"/srv/../etc"}},
		"home prefix":        {prefixes: []string{"~/out"}},
		"variable prefix":    {prefixes: []string{"/srv/$X"}},
		"relative base":      {prefixes: []string{"/srv"}, base: "srv"},
		"dotted base":        {prefixes: []string{"/srv"}, base: "/srv/.."},
		"relative own file":  {prefixes: []string{"/srv"}, deny: []string{"audit.jsonl"}},
		"empty own file":     {prefixes: []string{"/srv"}, deny: []string{""}},
		"POSIX on Windows":   {style: Windows, prefixes: []string{"/srv"}},
		"Windows on POSIX":   {prefixes: []string{`C:\srv`}},
		"short name":         {style: Windows, prefixes: []string{`C:\PROGRA~1`}},
		"own file, no drive": {style: Windows, deny: []string{`\x`}},
	} {
		if _, err := NewRoot(c.style, c.prefixes, c.base, c.deny); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	none := root(t, POSIX, nil, "")
	if got, err := none.Check("/x", nil); err == nil {
		t.Errorf("with no prefix, allowed as %q", got)
	}
}

// The rows of the list of evasions that are about paths.
func TestEvasions(t *testing.T) {
	r := root(t, POSIX, []string{"/srv/project"}, "")
	for id, c := range map[string]struct {
		path  string
		allow bool
	}{
		"E161": {"/srv/project/%2e%2e/%2e%2e/etc/passwd", false},
		"E162": {"/srv/project-secrets/x", false},
		"E165": {"~/.ssh/id_test", false},
		"E166": {"file:///srv/project/../.ssh/id_test", false},
		"E167": {`/srv/project/..\..\secret`, false},
		"E168": {"/srv/project/src/main.go", true},
	} {
		t.Run(id, func(t *testing.T) {
			if got, err := r.Check(c.path, links(nil)); (err == nil) != c.allow {
				t.Errorf("%s: %q, %v", c.path, got, err)
			}
		})
	}
}

// However a path is put together, what is allowed lies inside, read by a plain second
// implementation.
func TestAllowedIsInside(t *testing.T) {
	part := rapid.SampledFrom([]string{"srv", "share", "share2", "..", ".", "", "a", "...", "~", "$x", "..a"})
	r := root(t, POSIX, []string{"/srv/share"}, "")
	rapid.Check(t, func(t *rapid.T) {
		path := "/" + strings.Join(rapid.SliceOfN(part, 0, 12).Draw(t, "parts"), "/")
		_, err := r.Check(path, nil)
		var stack []string
		for _, p := range strings.Split(path, "/") {
			switch p {
			case "", ".":
			case "..":
				if len(stack) > 0 {
					stack = stack[:len(stack)-1]
				}
			default:
				stack = append(stack, p)
			}
		}
		want := len(stack) >= 2 && stack[0] == "srv" && stack[1] == "share" && !strings.ContainsAny(path, "~$")
		if (err == nil) != want {
			t.Fatalf("%s: %v, want allowed %v", path, err, want)
		}
	})
}

func FuzzCheck(f *testing.F) {
	for _, s := range []string{"/srv/share/x", "../x", `C:\jobs\x`, `\\?\C:\x`, "~", "/srv/share/../share/a", "/SRV/sHare/\u0130", "a／b", long(4090)} {
		f.Add(s)
	}
	roots := map[Style]*Root{}
	for style, dir := range map[Style]string{POSIX: "/srv/share", Darwin: "/srv/share", Windows: `C:\jobs`} {
		r, err := NewRoot(style, []string{dir}, dir, []string{dir + "/own"})
		if err != nil {
			f.Fatal(err)
		}
		roots[style] = r
	}
	f.Fuzz(func(t *testing.T, path string) {
		for style, r := range roots {
			got, err := r.Check(path, nil)
			if err != nil {
				if strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' || r == 0x7f }) {
					t.Fatalf("unsafe error %q", err)
				}
				continue
			}
			dir := "/srv/share"
			if style == Windows {
				dir = `C:\jobs`
			}
			if len(got) < len(dir) || !strings.EqualFold(got[:len(dir)], dir) || strings.Contains(got, "/../") || strings.Contains(got, `\..\`) {
				t.Fatalf("style %d: %q was allowed as %q", style, path, got)
			}
			// What was compared is itself allowed, and stays the same.
			if again, err := r.Check(got, nil); err != nil || again != got {
				t.Fatalf("style %d: %q was allowed as %q, which is %q, %v", style, path, got, again, err)
			}
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	r := root(b, POSIX, []string{"/home/user/project"}, "", "/home/user/.config/sallyport", "/home/user/.local/state/sallyport")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Check("/home/user/project/out/report.md", nil); err != nil {
			b.Fatal(err)
		}
	}
}
