package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/sallyport-dev/sallyport"

// source is one Go file of the module.
type source struct {
	path    string // relative to the module's root, with slashes
	dir     string // its package's directory, "." for the root
	test    bool   // a _test.go file
	pkg     string // the name in its package clause
	doc     string // the comment above the package clause
	imports []string
	ast     *ast.File
	fset    *token.FileSet
}

// sources parses every Go file of the module, whatever its build constraints say, so
// that a file for another system cannot hide an import.
func sources(t *testing.T) []source {
	t.Helper()
	root := moduleRoot(t)
	var all []source
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			name := d.Name()
			if rel != "." && (name[0] == '.' || name[0] == '_' || name == "node_modules" || name == "testdata" || rel == "tools" || rel == "bin") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") {
			return nil
		}
		s, err := parse(p, rel)
		all = append(all, s)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 10 {
		t.Fatalf("only %d files found under %s: the tests of this package would pass for nothing", len(all), root)
	}
	return all
}

func parse(file, rel string) (source, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return source{}, err
	}
	s := source{
		path: rel, dir: path.Dir(rel), test: strings.HasSuffix(rel, "_test.go"),
		pkg: f.Name.Name, doc: f.Doc.Text(), ast: f, fset: fset,
	}
	for _, i := range f.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			return s, err
		}
		s.imports = append(s.imports, p)
	}
	return s, nil
}

func moduleRoot(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no go.mod above the test")
		}
		dir = up
	}
}

// own returns the directory of one of the module's packages, "" for any other import.
func own(imported string) string {
	if imported == module {
		return "."
	}
	dir, ok := strings.CutPrefix(imported, module+"/")
	if !ok {
		return ""
	}
	return dir
}
