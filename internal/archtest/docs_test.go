package archtest

import (
	"go/ast"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every package says what it is for and what it must never do.
func TestEveryPackageIsDocumented(t *testing.T) {
	docs, names := map[string]string{}, map[string]string{}
	for _, s := range sources(t) {
		if s.test {
			if _, ok := docs[s.dir]; !ok {
				docs[s.dir], names[s.dir] = "", strings.TrimSuffix(s.pkg, "_test")
			}
			continue
		}
		names[s.dir] = s.pkg
		if s.doc != "" && docs[s.dir] != "" {
			t.Errorf("%s: a second package comment", s.path)
		}
		docs[s.dir] += s.doc
	}
	never := regexp.MustCompile(`\bnever\b`)
	for _, dir := range slices.Sorted(maps.Keys(docs)) {
		start := "Package " + names[dir] + " "
		if names[dir] == "main" {
			start = "Command " + path.Base(dir) + " "
		}
		switch doc := docs[dir]; {
		case !strings.HasPrefix(doc, start):
			t.Errorf("%s: the package comment must start with %q, it is %.60q", dir, start, doc)
		case !never.MatchString(doc):
			t.Errorf("%s: the package comment does not say what the package must never do", dir)
		}
	}
}

// Names that say nothing collect everything.
var emptyNames = regexp.MustCompile(`^(utils?|common|helpers?|types|misc)$`)

func TestNoEmptyNames(t *testing.T) {
	for _, s := range sources(t) {
		name := strings.TrimSuffix(strings.TrimSuffix(path.Base(s.path), ".go"), "_test")
		for _, n := range append(strings.Split(s.dir, "/"), name, s.pkg) {
			if emptyNames.MatchString(n) {
				t.Errorf("%s: a package or file called %q says nothing about its job", s.path, n)
			}
		}
	}
}

// maySkip lists the only test files that may skip, with the reason.
var maySkip = map[string]string{
	"audit/disk_linux_test.go":            "only root can mount a small disk",
	"audit/file_test.go":                  "only root can give a file to another user",
	"bench/agentdojo/golden_test.go":      "the recorded suites are not part of this repository; a failure with CI=true",
	"confine/osresolve/osresolve_test.go": "symbolic links need a privilege on Windows",
	"contract/catalogue_test.go":          "the tool lists of real servers are not part of this repository; a failure with CI=true",
	"e2e/main_test.go":                    "the npm servers may not be installed; a failure with CI=true or SALLYPORT_E2E",
}

func TestNothingIsSkippedInSilence(t *testing.T) {
	for _, s := range sources(t) {
		if !s.test || maySkip[s.path] != "" {
			continue
		}
		for _, d := range s.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || strings.HasPrefix(fn.Name.Name, "Fuzz") { // there, a skip drops one input
				continue
			}
			for _, call := range skips(fn) {
				t.Errorf("%s:%d: a test that skips proves nothing", s.path, s.fset.Position(call.Pos()).Line)
			}
		}
	}
}

// skips finds the calls of Skip in fn. A skip of a rapid.T drops one drawn case and
// does not count.
func skips(fn *ast.FuncDecl) []*ast.CallExpr {
	var found []*ast.CallExpr
	drawn := map[string]bool{}
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncType:
			for _, p := range n.Params.List {
				for _, name := range p.Names {
					drawn[name.Name] = isRapid(p.Type)
				}
			}
		case *ast.CallExpr:
			sel, ok := n.Fun.(*ast.SelectorExpr)
			if !ok || !slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, sel.Sel.Name) {
				break
			}
			if on, ok := sel.X.(*ast.Ident); !ok || !drawn[on.Name] {
				found = append(found, n)
			}
		}
		return true
	})
	return found
}

func isRapid(t ast.Expr) bool {
	star, ok := t.(*ast.StarExpr)
	if !ok {
		return false
	}
	sel, ok := star.X.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := sel.X.(*ast.Ident)
	return ok && pkg.Name == "rapid"
}
