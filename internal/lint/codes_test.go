package lint

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/config"
)

var update = flag.Bool("update", false, "write what is found into testdata, to be read before it is committed")

func env(name string) (string, bool) {
	v, ok := map[string]string{
		"SECRET": "ghp_" + strings.Repeat("a1", 18), "SHORT": "abc", "LONG": "a-value-that-is-long-enough",
	}[name]
	return v, ok
}

func load(t testing.TB, file, text string) *config.Config {
	t.Helper()
	c, err := config.Load(file, []byte(text), config.Options{Lookup: env})
	if err != nil {
		t.Fatalf("%s does not load:\n%v", file, err)
	}
	return c
}

func toolList(t testing.TB, upstream string, data []byte) ToolList {
	t.Helper()
	l, ok := listOf(data)
	if !ok || len(l.Tools) == 0 {
		t.Fatalf("no tools in %s", data)
	}
	l.Upstream = upstream
	for i := range l.Tools {
		l.Tools[i].Upstream = upstream
	}
	return l
}

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// Each code has one archive: bad.yaml with want, the findings of that code in it; and
// good.yaml, in which there is none.
func TestEveryCode(t *testing.T) {
	for _, c := range Codes {
		if c.ID == NotLoaded {
			continue
		}
		t.Run(c.ID, func(t *testing.T) {
			path := filepath.Join("testdata", "codes", c.ID+".txtar")
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			files := map[string]string{}
			opt := Options{Strict: c.Needs == "strict", Now: noon, Home: "/srv/people/me"}
			for _, f := range archive.Files {
				// Assembled here, so that no scanner takes the file for a leak.
				files[f.Name] = strings.ReplaceAll(string(f.Data), "GITHUB_TOKEN_HERE", "ghp_"+strings.Repeat("0a1B", 9))
				if f.Name == "key" {
					opt.BadKey = strings.TrimSpace(string(f.Data))
				}
				if name, ok := strings.CutPrefix(f.Name, "tools/"); ok {
					opt.Tools = append(opt.Tools, toolList(t, strings.TrimSuffix(name, ".json"), f.Data))
				}
			}
			got := found(t, c.ID, "bad.yaml", files["bad.yaml"], opt)
			if *update {
				for i := range archive.Files {
					if archive.Files[i].Name == "want" {
						archive.Files[i].Data = []byte(got)
					}
				}
				if err := os.WriteFile(path, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
			} else if got == "" || got != files["want"] {
				t.Errorf("found\n%swant\n%s", got, files["want"])
			}
			if good := found(t, c.ID, "good.yaml", files["good.yaml"], opt); good != "" {
				t.Errorf("found in what is right:\n%s", good)
			}
			if c.Needs == "strict" {
				opt.Strict = false
			} else {
				opt.Tools = nil
			}
			if without := found(t, c.ID, "bad.yaml", files["bad.yaml"], opt); c.Needs != "" && without != "" {
				t.Errorf("found without %s:\n%s", c.Needs, without)
			}
		})
	}
}

// found lists the findings of one code.
func found(t *testing.T, code, file, text string, opt Options) string {
	t.Helper()
	if strings.TrimSpace(text) == "" {
		t.Fatalf("there is no %s", file)
	}
	var b strings.Builder
	for _, f := range Check(load(t, file, text), opt).Findings {
		if f.Code == code {
			b.WriteString(f.String() + "\n")
		}
		if f.Text == "" || f.Line > 0 && f.Col == 0 || f.File != file {
			t.Errorf("not complete: %+v", f)
		}
	}
	return b.String()
}

// Nothing in testdata may be for a code that is gone.
func TestNoArchiveIsLeftOver(t *testing.T) {
	files, err := os.ReadDir("testdata/codes")
	if err != nil || len(files) != len(Codes)-1 {
		t.Errorf("%d files for %d codes, %v", len(files), len(Codes)-1, err)
	}
}

// The table in the package comment is the one that documents copy.
func TestTableIsDocumented(t *testing.T) {
	src, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, c := range Codes {
		want = append(want, c.row())
	}
	got := regexp.MustCompile(`(?m)^//\tSP.*$`).FindAllString(string(src), -1)
	if *update {
		table := strings.Join(want, "\n")
		text := regexp.MustCompile(`(?m)(^//\tSP.*\n)+`).ReplaceAllLiteralString(string(src), table+"\n")
		if err := os.WriteFile("doc.go", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !slices.Equal(got, want) {
		t.Errorf("doc.go has\n%s\nand Codes says\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func (c Code) row() string {
	needs := ""
	if c.Needs != "" {
		needs = " (" + c.Needs + ")"
	}
	return "//\t" + c.ID + "  " + c.Severity.String() + strings.Repeat(" ", 9-len(c.Severity.String())) + c.Name + needs + ": " + c.Text
}

func TestCodesAreStable(t *testing.T) {
	names := map[string]bool{}
	last := ""
	for _, c := range Codes {
		if !acceptCode.MatchString(c.ID) || c.ID <= last || names[c.Name] || c.Text == "" || !regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`).MatchString(c.Name) {
			t.Errorf("%+v", c)
		}
		last, names[c.Name] = c.ID, true
	}
}

// listOf reads a list of tools if it is one.
func listOf(data []byte) (l ToolList, ok bool) {
	v, err := doc.Parse(data, doc.Limits{})
	if err != nil {
		return l, false
	}
	for _, e := range v.Get("tools").Elements() {
		l.Tools = append(l.Tools, contract.Tool{Name: e.Get("name").String(), Definition: e})
	}
	return l, true
}
