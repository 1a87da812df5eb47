package pins

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/policy"
)

var here = Command([]string{"node", "server.js"})

func value(t testing.TB, text string) doc.Value {
	t.Helper()
	v, err := doc.Parse([]byte(text), doc.Limits{})
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

func toolsOf(t testing.TB, defs ...string) []contract.Tool {
	t.Helper()
	var all []contract.Tool
	for _, d := range defs {
		v := value(t, d)
		all = append(all, contract.Tool{Upstream: "u", Name: v.Get("name").String(), Definition: v})
	}
	return all
}

func open(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func storeDir(t testing.TB) string { return filepath.Join(t.TempDir(), "sallyport", "pins") }

// newSession is a session that has no contracts in the way.
func newSession(t testing.TB) *sallyport.Session {
	t.Helper()
	e, err := sallyport.New(sallyport.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := e.Session(sallyport.SessionOptions{Caller: "local", Doubt: "d"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// run is one session with an upstream: what it lists, once.
func run(t testing.TB, store *Store, caps string, defs ...string) (*sallyport.Session, []Event) {
	t.Helper()
	s := newSession(t)
	return s, list(t, store, s, caps, defs...)
}

func list(t testing.TB, store *Store, s *sallyport.Session, caps string, defs ...string) []Event {
	t.Helper()
	b, err := store.Book(here, "u")
	if err != nil {
		t.Fatal(err)
	}
	_, events, err := b.List(context.Background(), s, CapabilitiesOf(value(t, caps)), toolsOf(t, defs...))
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// refusal is why a tool of u is refused by the pin check, "" if it is not.
func refusal(t testing.TB, s *sallyport.Session, tool string) string {
	t.Helper()
	d := s.Decide(context.Background(), sallyport.Call{Subject: policy.Tool, Upstream: "u", Name: tool})
	if d.Verdict == sallyport.Deny && d.Check == sallyport.CheckPin {
		return d.Reason
	}
	return ""
}

func the(t testing.TB, store *Store) *File {
	t.Helper()
	all, err := store.All()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 1 {
		t.Fatalf("%d files", len(all))
	}
	return all[0]
}

func named(name string) string { return fmt.Sprintf(`{"name":%q}`, name) }
