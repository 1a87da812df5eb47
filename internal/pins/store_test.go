package pins

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func file(t testing.TB, store *Store) string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(store.Dir(), "*.json"))
	if err != nil || len(all) != 1 {
		t.Fatalf("%v %v", all, err)
	}
	return all[0]
}

func remove(t testing.TB, store *Store) {
	t.Helper()
	if err := os.Remove(file(t, store)); err != nil {
		t.Fatal(err)
	}
}

// A step of writing that fails leaves the old file, and the session allows nothing.
func TestAFailedWriteChangesNothing(t *testing.T) {
	for _, step := range []string{"write", "sync", "close", "rename"} {
		t.Run(step, func(t *testing.T) {
			store := open(t, storeDir(t))
			run(t, store, `{}`, named("a"))
			before, err := os.ReadFile(file(t, store))
			if err != nil {
				t.Fatal(err)
			}
			full := errors.New("disk full")
			store.wrote = func(s string) error {
				if s == step {
					return full
				}
				return nil
			}
			b, err := store.Book(here, "u")
			if err != nil {
				t.Fatal(err)
			}
			s := newSession(t)
			_, _, err = b.List(context.Background(), s, CapabilitiesOf(value(t, `{"roots":{}}`)), toolsOf(t, named("a"), named("b")))
			if !errors.Is(err, full) || !errors.Is(err, ErrUnusable) || !strings.Contains(err.Error(), "Make room") {
				t.Errorf("%v", err)
			}
			if why := refusal(t, s, "a"); !strings.Contains(why, "not known yet") {
				t.Errorf("%q", why)
			}
			after, err := os.ReadFile(file(t, store))
			if err != nil || !bytes.Equal(before, after) {
				t.Errorf("the file changed: %v", err)
			}
			if left, _ := filepath.Glob(filepath.Join(store.Dir(), fresh+"*")); len(left) != 0 {
				t.Errorf("left: %q", left)
			}
			store.wrote = nil
			list(t, store, s, `{"roots":{}}`, named("a"), named("b"))
			if why := refusal(t, s, "a") + refusal(t, s, "b"); why != "" {
				t.Errorf("the next list: %s", why)
			}
		})
	}
}

// A session that changes nothing writes nothing.
func TestNothingNewIsNotWritten(t *testing.T) {
	store := open(t, storeDir(t))
	run(t, store, `{}`, named("a"))
	store.wrote = func(string) error { return errors.New("written") }
	s, _ := run(t, store, `{}`, `{"name":"a"}`)
	if why := refusal(t, s, "a"); why != "" {
		t.Error(why)
	}
}

// Whatever is wrong with a file, nothing of it is used, and every way in says so.
func TestHostileFiles(t *testing.T) {
	good := func(t *testing.T) (*Store, string, string) {
		store := open(t, storeDir(t))
		run(t, store, `{"roots":{}}`, `{"name":"a","title":"x"}`)
		run(t, store, `{"roots":{}}`, `{"name":"a","title":"x"}`, named("new"))
		p := file(t, store)
		data, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		return store, p, string(data)
	}
	replace := func(old, now string) func(string) string {
		return func(s string) string {
			if !strings.Contains(s, old) {
				panic(old)
			}
			return strings.Replace(s, old, now, 1)
		}
	}
	for name, change := range map[string]func(string) string{
		"empty":               func(string) string { return "" },
		"torn":                func(s string) string { return s[:len(s)/2] },
		"more after it":       func(s string) string { return s + "{}" },
		"a list":              func(s string) string { return "[" + s + "]" },
		"a name twice":        replace(`"version":1`, `"version":1,"version":1`),
		"no version":          replace(`"version":1`, `"vers":1`),
		"another version":     replace(`"version":1`, `"version":2`),
		"an unknown member":   replace(`"version":1`, `"version":1,"x":1`),
		"in a set":            replace(`"capabilities"`, `"x":1,"capabilities"`),
		"in a pin":            replace(`"how":"first"`, `"how":"first","x":1`),
		"another definition":  replace(`"title":"x"`, `"title":"y"`),
		"another tool's":      replace(`"pins":{"a"`, `"pins":{"b"`),
		"another reason":      replace(`"how":"first"`, `"how":"always"`),
		"no reason":           replace(`"how":"first",`, ``),
		"a bad time":          replace(`"since":"2`, `"since":"x`),
		"the wrong upstream":  replace(`"id":"`+here.id, `"id":"`+URL("https://other.example/").id),
		"a short id":          replace(here.id, here.id[1:]),
		"names are no texts":  replace(`"names":["u"]`, `"names":[1]`),
		"a definition unused": replace(`"definitions":{`, `"definitions":{"`+toolDigest(t, `{"name":"z"}`)+`":{"name":"z"},`),
		"too large":           func(s string) string { return s + strings.Repeat(" ", MaxFile) },
		"not UTF-8":           replace(`"u"`, "\"\xff\""),
	} {
		t.Run(name, func(t *testing.T) {
			store, path, data := good(t)
			if err := os.WriteFile(path, []byte(change(data)), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := store.All(); !errors.Is(err, ErrUnusable) || !strings.Contains(err.Error(), "Nothing of it is used") {
				t.Errorf("All: %v", err)
			}
			b, err := store.Book(here, "u")
			if !errors.Is(err, ErrUnusable) {
				t.Errorf("Book: %v", err)
			}
			s := newSession(t)
			if _, _, err := b.List(context.Background(), s, CapabilitiesOf(value(t, `{}`)), toolsOf(t, named("a"))); !errors.Is(err, ErrUnusable) {
				t.Errorf("List: %v", err)
			}
			if refusal(t, s, "a") == "" {
				t.Error("a tool runs")
			}
			if err := store.Accept(context.Background(), here.id, nil, time.Now(), func() error { return nil }); !errors.Is(err, ErrUnusable) {
				t.Errorf("Accept: %v", err)
			}
			if got, _ := os.ReadFile(path); string(got) != change(data) {
				t.Error("the file was changed")
			}
		})
	}
}

func toolDigest(t testing.TB, def string) string {
	t.Helper()
	s := open(t, storeDir(t))
	run(t, s, `{}`, def)
	for _, p := range the(t, s).Sets[0].Pins {
		return p.Digest.String()
	}
	return ""
}

func TestUpstreams(t *testing.T) {
	ids := map[string]string{}
	for _, u := range []Upstream{
		Command([]string{"a", "b"}), Command([]string{"a b"}), Command([]string{"ab"}), Command([]string{"b", "a"}),
		Command([]string{"a", "b", ""}), Command([]string{"url", "x"}), URL("x"), URL("a"), Command(nil), Command([]string{"1:a"}),
	} {
		if was, ok := ids[u.ID()]; ok {
			t.Errorf("%q and %q are one", was, u.shown)
		}
		ids[u.ID()] = u.shown
	}
	for _, tt := range []struct{ got, want string }{
		{Command([]string{"npx", "-y", "server", "--api-key", "k3y", "x"}).shown, "npx -y server --api-key … x"},
		{Command([]string{"s", "--token=abc", "API_KEY=def", "--port=1"}).shown, "s --token=… API_KEY=… --port=1"},
		{Command([]string{"s", "--password", "--verbose"}).shown, "s --password --verbose"},
		{Command([]string{"s", "postgres://u:p@db.example/x?sslkey=1#f"}).shown, "s postgres://…@db.example/x?…"},
		{URL("https://u:p@api.example/mcp?key=1").shown, "https://…@api.example/mcp?…"},
		{URL("https://api.example/mcp").shown, "https://api.example/mcp"},
		{URL("https://[bad").shown, "…"},
		{Command([]string{strings.Repeat("é", 3000)}).shown, strings.Repeat("é", 2048)},
	} {
		if tt.got != tt.want {
			t.Errorf("got %.80q, want %.80q", tt.got, tt.want)
		}
	}
}

func TestNamesOfAnUpstream(t *testing.T) {
	f := &File{ID: here.id}
	for i := range 20 {
		f.wrappedAs(fmt.Sprintf("n%d", i))
	}
	f.wrappedAs("n5")
	f.wrappedAs("")
	if len(f.Names) != maxNames || f.Names[maxNames-1] != "n5" || !f.Is("n5") || f.Is("n0") || !f.Is(here.Short()) || f.Is(here.id[:4]) {
		t.Errorf("%q", f.Names)
	}
}

// The command in a refusal is one that a person can paste.
func TestAnUpstreamIsNamedPlainly(t *testing.T) {
	for name, want := range map[string]string{"mail": "mail", "@x/mail": here.Short(), "a b": here.Short(), "--tool": here.Short(), "x;rm": here.Short(), "": here.Short()} {
		b := Book{upstream: here, name: name}
		if got := b.named(); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
