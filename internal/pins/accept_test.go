package pins

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/doc"
)

// An update of the server is accepted once, not once for every client.
func TestAnUpdateIsAcceptedOnce(t *testing.T) {
	store := open(t, storeDir(t))
	const a, a2 = `{"name":"a","title":"1"}`, `{"name":"a","title":"2"}`
	run(t, store, `{}`, a)
	run(t, store, `{"roots":{}}`, a)
	old := the(t, store)
	run(t, store, `{}`, a2)
	f := the(t, store)
	waits := f.Waits()
	if len(waits) != 1 {
		t.Fatalf("%+v", waits)
	}
	no := errors.New("no")
	if err := store.Accept(context.Background(), f.ID, waits, time.Now(), func() error { return no }); !errors.Is(err, no) {
		t.Fatal(err)
	}
	if s, _ := run(t, store, `{}`, a2); refusal(t, s, "a") == "" {
		t.Fatal("accepted without a record")
	}
	if err := store.Accept(context.Background(), f.ID, waits, time.Now(), func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	for _, caps := range []string{`{}`, `{"roots":{}}`} {
		s, _ := run(t, store, caps, a2)
		if why := refusal(t, s, "a"); why != "" {
			t.Errorf("%s: %s", caps, why)
		}
	}
	// What was shown is not what waits any more.
	run(t, store, `{}`, `{"name":"a","title":"3"}`)
	if err := store.Accept(context.Background(), old.ID, waits, time.Now(), func() error { return nil }); !errors.Is(err, ErrChanged) {
		t.Errorf("%v", err)
	}
}

// A running session goes on with what was accepted as soon as it lists again.
func TestAcceptReachesARunningSession(t *testing.T) {
	store := open(t, storeDir(t))
	run(t, store, `{}`, named("a"))
	s, _ := run(t, store, `{}`, `{"name":"a","title":"2"}`, named("b"))
	f := the(t, store)
	for _, w := range f.Waits() {
		if err := store.Accept(context.Background(), f.ID, []Waits{w}, time.Now(), func() error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	list(t, store, s, `{}`, `{"name":"a","title":"2"}`, named("b"))
	if why := refusal(t, s, "a") + refusal(t, s, "b"); why != "" {
		t.Error(why)
	}
}

// What was accepted for one client counts for another whose own pin is older. It takes
// nothing from a client that is still shown the old definition, and it is no way back.
func TestAcceptedElsewhere(t *testing.T) {
	const one, two, three = `{"name":"a","title":"1"}`, `{"name":"a","title":"2"}`, `{"name":"a","title":"3"}`
	store := open(t, storeDir(t))
	at := time.Now()
	accept := func(caps, def string) {
		t.Helper()
		run(t, store, caps, def)
		at = at.Add(time.Minute)
		if err := store.Accept(context.Background(), here.id, the(t, store).Waits(), at, func() error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	want := func(caps, def string, refused bool) {
		t.Helper()
		if s, _ := run(t, store, caps, def); (refusal(t, s, "a") != "") != refused {
			t.Errorf("%s is shown %s: %q", caps, def, refusal(t, s, "a"))
		}
	}
	const A, B = `{}`, `{"roots":{}}`
	run(t, store, A, one)
	run(t, store, B, one)
	accept(A, two)
	want(B, one, false)
	want(A, two, false)
	want(B, two, false)
	want(B, one, true) // nobody accepted a way back
	want(A, one, true)

	want(A, two, false)
	accept(B, three) // A still has two
	want(B, two, true)
	want(A, three, false)
	want(A, two, true)
}

// Only what a person accepted counts for others, not what followed from that.
func TestWhatFollowedFromAYesIsNoYes(t *testing.T) {
	one, two := value(t, `{"name":"a","title":"1"}`), value(t, `{"name":"a","title":"2"}`)
	at := time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)
	pin := func(v doc.Value, how How, days int) map[string]Pin {
		return map[string]Pin{"a": {sallyport.Pinned{Digest: sallyport.DigestDefinition(v), Definition: v}, at.AddDate(0, 0, days), how}}
	}
	mine := CapabilitiesOf(value(t, `{}`))
	for _, tt := range []struct {
		how  How
		days int
		want int
	}{{Accepted, 2, 1}, {Accepted, 1, 1}, {Accepted, 0, 0}, {Same, 2, 0}, {First, 2, 0}} {
		f := &File{Sets: []*Set{{ID: mine.id, First: at, Pins: pin(one, First, 1)}, {ID: "other", Pins: pin(two, tt.how, tt.days)}}}
		if got := len(f.known(mine).Accepted["a"]); got != tt.want {
			t.Errorf("%s after %d days: %d accepted, want %d", tt.how, tt.days, got, tt.want)
		}
	}
}
