package osresolve

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sallyport-dev/sallyport/confine"
)

// tree is a temporary directory whose own path has no links.
func tree(t testing.TB) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege on Windows")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func mkdir(t testing.TB, path ...string) string {
	t.Helper()
	dir := filepath.Join(path...)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func link(t testing.TB, target string, path ...string) {
	t.Helper()
	if err := os.Symlink(target, filepath.Join(path...)); err != nil {
		t.Fatal(err)
	}
}

func TestResolve(t *testing.T) {
	dir := tree(t)
	mkdir(t, dir, "srv", "deep", "er")
	mkdir(t, dir, "etc")
	if err := os.WriteFile(filepath.Join(dir, "etc", "hostname"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	link(t, filepath.Join(dir, "etc"), dir, "srv", "leak")
	link(t, "../etc", dir, "srv", "relative")
	link(t, "deep/er", dir, "srv", "below")
	link(t, "leak/hostname", dir, "srv", "chain")
	link(t, "../etc/new.txt", dir, "srv", "dangling")
	link(t, "../none/deeper/new.txt", dir, "srv", "dangling-deep")
	link(t, "below/../x", dir, "srv", "up") // from deep/er up to deep
	link(t, ".", dir, "srv", "here")
	link(t, strings.Repeat("../", 60)+"etc", dir, "srv", "top")
	link(t, "/", dir, "srv", "root")

	for path, want := range map[string]string{
		"srv/deep":               "srv/deep",
		"srv/new/file":           "srv/new/file",
		"srv/leak/hostname":      "etc/hostname", // B086
		"srv/leak/new":           "etc/new",      // B087
		"srv/relative/new/x":     "etc/new/x",
		"srv/below":              "srv/deep/er",
		"srv/below/x":            "srv/deep/er/x",
		"srv/chain":              "etc/hostname",
		"srv/dangling":           "etc/new.txt", // B087, the last name
		"srv/dangling-deep":      "none/deeper/new.txt",
		"srv/dangling-deep/a":    "none/deeper/new.txt/a",
		"srv/up":                 "srv/deep/x",
		"srv/here/here/here/new": "srv/new",
		"none/x":                 "none/x",
	} {
		got, err := Resolve(filepath.Join(dir, path))
		if err != nil || got != filepath.Join(dir, want) {
			t.Errorf("%s: got %q, %v; want %s", path, got, err, want)
		}
	}
	for path, want := range map[string]string{"srv/top": "/etc", "srv/root": "/", "srv/root/none-such/x": "/none-such/x"} {
		if got, err := Resolve(filepath.Join(dir, path)); err != nil || got != want {
			t.Errorf("%s: got %q, %v; want %s", path, got, err, want)
		}
	}
	if got, err := Resolve("/"); err != nil || got != "/" {
		t.Errorf("/: got %q, %v", got, err)
	}
}

func TestResolveErrors(t *testing.T) {
	dir := tree(t)
	mkdir(t, dir, "d")
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	link(t, "b", dir, "a")
	link(t, "a", dir, "b")
	link(t, "self/x", dir, "self")
	link(t, "d/self2", dir, "d", "self2")
	link(t, "none/../d", dir, "through-nothing")
	link(t, "file", dir, "to-file")
	for i := range 300 {
		link(t, fmt.Sprintf("chain%d", i+1), dir, fmt.Sprintf("chain%d", i))
	}
	for path, want := range map[string]error{
		"a":                             ErrTooManyLinks,
		"a/x":                           ErrTooManyLinks,
		"self":                          ErrTooManyLinks,
		"chain0":                        ErrTooManyLinks,
		"through-nothing":               os.ErrNotExist,
		"file/x":                        nil, // any error
		"to-file/x":                     nil,
		"d/" + strings.Repeat("n", 300): nil,
	} {
		got, err := Resolve(filepath.Join(dir, path))
		if err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("%s: got %q, %v; want %v", path, got, err, want)
		}
		if got != "" {
			t.Errorf("%s: an error and also %q", path, got)
		}
	}
	if got, err := Resolve(filepath.Join(dir, "chain100")); err != nil || got != filepath.Join(dir, "chain300") {
		t.Errorf("200 links: got %q, %v", got, err)
	}
	if _, err := Resolve("relative/path"); !errors.Is(err, ErrNotAbsolute) {
		t.Errorf("a relative path: %v", err)
	}
	if _, err := Resolve(dir + strings.Repeat("/d", maxSteps)); err == nil {
		t.Error("a path with too many names was resolved")
	}
}

func TestResolveUnreadable(t *testing.T) {
	if os.Getuid() == 0 {
		t.Log("running as root: permissions do not bind, the closed directory cannot be tried")
		return
	}
	dir := tree(t)
	mkdir(t, dir, "closed", "in")
	if err := os.Chmod(filepath.Join(dir, "closed"), 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, "closed"), 0o700) })
	if got, err := Resolve(filepath.Join(dir, "closed", "in", "x")); err == nil {
		t.Errorf("resolved to %q", got)
	}
}

// What confine allows with this resolver, the system puts inside: random trees of
// links, random paths, and the file really created, both as written and collapsed.
func TestAllowedFilesAreInside(t *testing.T) {
	base := tree(t)
	n, created := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		dir := filepath.Join(base, fmt.Sprint(n))
		for _, d := range []string{"in/a/b", "in/c", "out/a"} {
			if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		targets := rapid.SampledFrom([]string{
			"..", ".", "a", "a/b", "c", "../..", "../out", "../../out", "a/b/../..", "../in", "none", "l1", "l2", "l3/..",
			dir + "/out", dir + "/in/a", "../none/x", "a/b/../../..",
		})
		for _, l := range []string{"in/l1", "in/a/l2", "out/l3", "in/l3", "l1", "in/a/b/l1"} {
			if rapid.Bool().Draw(t, l) {
				if err := os.Symlink(targets.Draw(t, "target"), filepath.Join(dir, l)); err != nil {
					t.Fatal(err)
				}
			}
		}
		r, err := confine.NewRoot(confine.POSIX, []string{dir + "/in"}, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{"..", ".", "a", "b", "c", "l1", "l2", "l3", "in", "out", "in/a"}), 0, 6)
		path := dir + "/in/" + strings.Join(append(parts.Draw(t, "parts"), "new.txt"), "/")
		resolved, err := r.Check(path, Resolve)
		if err != nil {
			return
		}
		for _, written := range []string{path, filepath.Clean(path)} {
			f, err := os.OpenFile(written, os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				continue // a name on the way does not exist
			}
			_ = f.Close()
			created++
			real, err := filepath.EvalSymlinks(written)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(real, dir+"/in/") {
				t.Fatalf("%s was allowed as %s and written to %s", written, resolved, real)
			}
			if written != path && real != resolved {
				t.Fatalf("%s was compared as %s and written to %s", written, resolved, real)
			}
		}
	})
	if created == 0 {
		t.Error("no path was allowed and could be written: the test shows nothing")
	}
}

func BenchmarkResolve(b *testing.B) {
	dir := mkdir(b, tree(b), "home", "user", "project", "out")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Resolve(filepath.Join(dir, "new.txt")); err != nil {
			b.Fatal(err)
		}
	}
}

// What this process finds behind such a link says nothing of what another one would.
func TestLinksInProcAreRefused(t *testing.T) {
	if runtime.GOOS != "linux" {
		return // no such links
	}
	dir := tree(t)
	link(t, "/proc/self/cwd", dir, "here")
	t.Chdir(dir)
	for _, p := range []string{"/proc/self/cwd/x", "/proc/thread-self/cwd", "/proc/self/root" + dir + "/x", fmt.Sprintf("/proc/%d/cwd/x", os.Getpid()), "/dev/fd/0", dir + "/here/x"} {
		if got, err := Resolve(p); !errors.Is(err, ErrOwnView) {
			t.Errorf("%s: %s, %v", p, got, err)
		}
	}
	if _, err := Resolve("/proc/sys/kernel/hostname"); err != nil {
		t.Errorf("no link: %v", err)
	}
}
