package lint

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/sallyport-dev/sallyport/internal/config"
)

// Whatever loads can be looked through: with a place for each finding, the same each
// time, nothing unescaped, and nothing that a comment accepts is lost.
func FuzzCheck(f *testing.F) {
	files, err := filepath.Glob("testdata/codes/*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatal(err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range txtar.Parse(b).Files {
			if strings.HasSuffix(file.Name, ".yaml") {
				f.Add(file.Data, []byte(`{"tools": [{"name": "read_file", "inputSchema": {"properties": {"a": {"enum": [1]}}}}]}`))
			}
		}
	}
	f.Fuzz(func(t *testing.T, text, tools []byte) {
		c, err := config.Load("f.yaml", text, config.Options{Lookup: env})
		if err != nil {
			t.Skip("does not load")
		}
		opt := Options{Strict: true, Now: noon, Home: "/home/me"}
		if l, ok := listOf(tools); ok {
			opt.Tools = []ToolList{l}
		}
		r := Check(c, opt)
		if again := Check(c, opt); !reflect.DeepEqual(r, again) {
			t.Error("two reports on one file")
		}
		lines := bytes.Count(text, []byte("\n")) + bytes.Count(text, []byte("\r")) + strings.Count(string(text), "\u0085") + 1
		for _, found := range r.Findings {
			if _, ok := byID[found.Code]; !ok || found.Text == "" || found.File != "f.yaml" || found.Line > lines || (found.Line > 0) != (found.Col > 0) {
				t.Errorf("%+v", found)
			}
			if s := found.String(); strings.ContainsAny(s, "\x00\x1b\r\n") {
				t.Errorf("not safe to show: %q", s)
			}
		}
		var out bytes.Buffer
		if err := r.WriteSARIF(&out, ""); err != nil {
			t.Error(err)
		}
		// Without tools and strictness there is only less.
		if less := Check(c, Options{Now: noon, Home: "/home/me"}); len(less.Findings) > len(r.Findings)+len(r.Accepted) {
			t.Errorf("%d findings, %d with tools and strict", len(less.Findings), len(r.Findings))
		}
	})
}
