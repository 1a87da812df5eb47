package sallyport_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/confine"
	"github.com/sallyport-dev/sallyport/confine/osresolve"
	"github.com/sallyport-dev/sallyport/policy"
)

// Each upstream has its own places to write, and its own file system: a link here says
// nothing of a server elsewhere.
func TestPlace(t *testing.T) {
	dir := t.TempDir()
	var roots []*confine.Root
	for _, name := range []string{"a", "b"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		root, err := confine.NewRoot(confine.POSIX, []string{filepath.Join(dir, name)}, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		roots = append(roots, root)
	}
	if err := os.Symlink(filepath.Join(dir, "b"), filepath.Join(dir, "a", "link")); err != nil {
		t.Fatal(err)
	}
	e, err := sallyport.New(sallyport.Options{
		Contracts: contracts(t, "here/write: {write_params: [path]}\nfar/write: {write_params: [path]}\nother/write: {write_params: [path]}"), WriteRoots: roots[0], Resolve: osresolve.Resolve,
		Policy: rules(t, fmt.Sprintf("p: {rules: [{effect: allow, tools: [write]}, {effect: allow, tools: [read], when: {args.path: {within: %q}}}]}", filepath.Join(dir, "a"))),
		Place: func(upstream string) (*confine.Root, confine.Resolver) {
			switch upstream {
			case "here":
				return roots[0], osresolve.Resolve
			case "far":
				return roots[1], nil
			}
			return nil, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := e.Session(sallyport.SessionOptions{Caller: "local", Doubt: "d"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		upstream, tool, path string
		verdict              sallyport.Verdict
		check                sallyport.Check
	}{
		{"here", "write", "a/x", sallyport.Allow, ""},
		{"here", "write", "b/x", sallyport.Deny, sallyport.CheckPath},
		{"here", "write", "a/link/x", sallyport.Deny, sallyport.CheckPath},
		{"far", "write", "b/x", sallyport.Allow, ""},
		{"far", "write", "a/x", sallyport.Deny, sallyport.CheckPath},
		{"far", "write", "a/link/x", sallyport.Deny, sallyport.CheckPath}, // which would lead into b
		{"other", "write", "a/x", sallyport.Deny, sallyport.CheckPath},
		{"here", "read", "a/x", sallyport.Allow, ""},
		{"here", "read", "a/link/x", sallyport.Deny, sallyport.CheckPolicy},
		{"far", "read", "a/link/x", sallyport.Allow, ""},
	} {
		s.Pin(tt.upstream, tools(t, tt.upstream, `{"name":"write"}`, `{"name":"read"}`))
		d := s.Decide(t.Context(), sallyport.Call{
			Subject: policy.Tool, Upstream: tt.upstream, Name: tt.tool, Args: value(t, fmt.Sprintf(`{"path":%q}`, filepath.Join(dir, tt.path))),
		})
		if d.Verdict != tt.verdict || d.Check != tt.check {
			t.Errorf("%s on %s, %s: %v by %q: %s", tt.tool, tt.upstream, tt.path, d.Verdict, d.Check, d.Reason)
		}
	}
}
