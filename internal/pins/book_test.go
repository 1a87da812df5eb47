package pins

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/doc"
)

func TestSessionsFollowEachOther(t *testing.T) {
	store := open(t, storeDir(t))
	const a, a2, b = `{"name":"a","description":"x"}`, `{"name":"a","description":"y"}`, `{"name":"b"}`
	want := func(step string, defs []string, tool, why string) {
		t.Helper()
		s, _ := run(t, store, `{}`, defs...)
		if got := refusal(t, s, tool); (why == "") != (got == "") || !strings.Contains(got, why) {
			t.Errorf("%s: %s is refused with %q, want %q", step, tool, got, why)
		}
	}
	want("first", []string{a}, "a", "")
	want("again", []string{a}, "a", "")
	want("new", []string{a, b}, "b", "it is new since")
	want("beside the new", []string{a, b}, "a", "")
	want("missing", nil, "a", "lists no tool")
	want("back", []string{a}, "a", "")
	want("changed", []string{a2}, "a", "changed since it was pinned (description); a person can see the difference with: sallyport pins diff --upstream u")
	want("still changed", []string{a2}, "a", "changed since")
	if w := the(t, store).Waits(); len(w) != 1 || w[0].Tool != "a" || !w[0].Own || w[0].Was.How != First {
		t.Errorf("%+v waits", w)
	}
	want("as it was", []string{a}, "a", "")
	if w := the(t, store).Waits(); len(w) != 0 {
		t.Errorf("%+v waits although the server took it back", w)
	}
}

// The first session learns what is registered late; sessions that begin after it do not.
func TestOnlyTheFirstSessionLearns(t *testing.T) {
	store := open(t, storeDir(t))
	s := newSession(t)
	b, err := store.Book(here, "u")
	if err != nil {
		t.Fatal(err)
	}
	show := func(b *Book, defs ...string) {
		t.Helper()
		if _, _, err := b.List(context.Background(), s, CapabilitiesOf(value(t, `{}`)), toolsOf(t, defs...)); err != nil {
			t.Fatal(err)
		}
	}
	beside, err := store.Book(here, "u") // a second client, started before the first list
	if err != nil {
		t.Fatal(err)
	}
	show(b, named("a"))
	show(b, named("a"), named("b"), named("c"))
	if why := refusal(t, s, "c"); why != "" {
		t.Errorf("late: %s", why)
	}
	other := s
	s = newSession(t)
	show(beside, named("a"), named("d"))
	if why := refusal(t, s, "d"); why != "" {
		t.Errorf("two first sessions at once: %s", why)
	}
	s = other
	later, _ := run(t, store, `{}`, named("a"), named("e"))
	if why := refusal(t, later, "e"); !strings.Contains(why, "new") {
		t.Errorf("a later session: %q", why)
	}
	if why := refusal(t, later, "a"); why != "" {
		t.Error(why)
	}
}

func TestSetsOfCapabilities(t *testing.T) {
	store := open(t, storeDir(t))
	const a, b, a2 = `{"name":"a","title":"1"}`, `{"name":"b"}`, `{"name":"a","title":"2"}`
	run(t, store, `{}`, a)
	s, events := run(t, store, `{"roots":{}}`, a, b)
	if refusal(t, s, "a")+refusal(t, s, "b") != "" || len(events) != 1 {
		t.Errorf("another set: %q %q %v", refusal(t, s, "a"), refusal(t, s, "b"), events)
	}
	s, _ = run(t, store, `{"sampling":{}}`, a2, b)
	if why := refusal(t, s, "a"); !strings.Contains(why, "pinned for a client with other capabilities (title)") {
		t.Errorf("%q", why)
	}
	if why := refusal(t, s, "b"); why != "" {
		t.Error(why)
	}
	w := the(t, store).Waits()
	if len(w) != 1 || w[0].Own || w[0].Was.How != First {
		t.Fatalf("%+v", w)
	}
	if err := store.Accept(context.Background(), the(t, store).ID, w, time.Now(), func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	for caps, def := range map[string]string{`{}`: a, `{"roots":{}}`: a, `{"sampling":{}}`: a2} {
		if s, _ = run(t, store, caps, def); refusal(t, s, "a") != "" {
			t.Errorf("%s: %s", caps, refusal(t, s, "a"))
		}
	}
	// Now that both are pinned, a further set may have either.
	if s, _ = run(t, store, `{"tasks":{}}`, a2); refusal(t, s, "a") != "" {
		t.Error(refusal(t, s, "a"))
	}
}

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

// Taking the file away does not let a running session forget.
func TestTheFileIsRemovedWhileASessionRuns(t *testing.T) {
	dir := storeDir(t)
	store := open(t, dir)
	s, _ := run(t, store, `{}`, named("a"))
	remove(t, store)
	list(t, store, s, `{}`, `{"name":"a","title":"2"}`)
	if why := refusal(t, s, "a"); !strings.Contains(why, "not the one that this session pinned") {
		t.Errorf("%q", why)
	}
}

func TestBoundsOfAReport(t *testing.T) {
	store := open(t, storeDir(t))
	run(t, store, `{}`, named("a"))
	var many []string
	for i := range maxWaiting + 50 {
		many = append(many, named(fmt.Sprintf("t%d", i)))
	}
	s, events := run(t, store, `{}`, many...)
	if len(events) != maxEvents+1 || !strings.Contains(events[maxEvents].Detail, "more") {
		t.Errorf("%d events, the last %q", len(events), events[len(events)-1].Detail)
	}
	if n := len(the(t, store).Waits()); n != maxWaiting {
		t.Errorf("%d wait", n)
	}
	if why := refusal(t, s, many[0][9:len(many[0])-2]); why == "" {
		t.Error("a new tool runs")
	}
	if why := refusal(t, s, fmt.Sprintf("t%d", maxWaiting+49)); why == "" {
		t.Error("one that is not kept runs")
	}
	// Waiting definitions are bounded in bytes too, and never cost a pin.
	large := strings.Repeat("x", 200<<10)
	many = nil
	for i := range 50 {
		many = append(many, fmt.Sprintf(`{"name":"l%d","description":"`, i)+large+`"}`)
	}
	run(t, store, `{}`, many...)
	if n := len(the(t, store).Waits()); n < 30 || n > 45 {
		t.Errorf("%d large definitions wait", n)
	}
	s, _ = run(t, store, `{}`, named("a"))
	if why := refusal(t, s, "a"); why != "" {
		t.Error(why)
	}
	s, _ = run(t, store, `{"roots":{}}`, fmt.Sprintf(`{"name":"huge","description":%q}`, strings.Repeat("x", 300<<10)))
	if why := refusal(t, s, "huge"); !strings.Contains(why, "larger than 256 KiB") {
		t.Errorf("%q", why)
	}
}

// A server whose list cannot be kept has no tool that runs.
func TestAListTooLargeToKeep(t *testing.T) {
	store := open(t, storeDir(t))
	var many []string
	for i := range 140 {
		many = append(many, fmt.Sprintf(`{"name":"l%d","description":"`, i)+strings.Repeat("x", 250<<10)+`"}`)
	}
	s := newSession(t)
	b, err := store.Book(here, "u")
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = b.List(context.Background(), s, CapabilitiesOf(value(t, `{}`)), toolsOf(t, many...))
	if !errors.Is(err, ErrUnusable) || !strings.Contains(err.Error(), "larger than can be pinned") {
		t.Fatal(err)
	}
	if why := refusal(t, s, "l0"); !strings.Contains(why, "not known yet") {
		t.Errorf("%q", why)
	}
}

func TestSetsAreBounded(t *testing.T) {
	store := open(t, storeDir(t))
	for i := range maxSets {
		run(t, store, fmt.Sprintf(`{"experimental":{"n":%d}}`, i), named("a"))
	}
	b, err := store.Book(here, "u")
	if err != nil {
		t.Fatal(err)
	}
	s := newSession(t)
	if _, _, err := b.List(context.Background(), s, CapabilitiesOf(value(t, `{"one":{}}`)), toolsOf(t, named("a"))); !errors.Is(err, ErrUnusable) {
		t.Errorf("%v", err)
	}
	if refusal(t, s, "a") == "" {
		t.Error("it runs")
	}
	if s, _ = run(t, store, `{"experimental":{"n":0}}`, named("a")); refusal(t, s, "a") != "" {
		t.Error("a known set is refused")
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

// A server that lists nothing yet has not been seen: its first list is the next one.
func TestAnEmptyFirstListPinsNothing(t *testing.T) {
	store := open(t, storeDir(t))
	s, events := run(t, store, `{}`)
	if len(events) != 0 {
		t.Errorf("%v", events)
	}
	list(t, store, s, `{}`, named("a"))
	other, _ := run(t, store, `{}`, named("a"))
	if why := refusal(t, s, "a") + refusal(t, other, "a"); why != "" {
		t.Error(why)
	}
}

// What a session does with a list after it was kept keeps no other process waiting.
func TestTheLockIsFreeOnceAListIsKept(t *testing.T) {
	store := open(t, storeDir(t))
	err := store.update(context.Background(), here, func(_ *File, save func() error) error {
		if err := save(); err != nil {
			return err
		}
		release, err := store.lock(context.Background())
		if err == nil {
			release()
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func BenchmarkLaterSession(b *testing.B) {
	store := open(b, storeDir(b))
	var defs []string
	for i := range 17 {
		defs = append(defs, fmt.Sprintf(`{"name":"t%d","description":"%s","inputSchema":{"type":"object","properties":{"to":{"type":"string"}},"required":["to"]}}`, i, strings.Repeat("x", 500)))
	}
	run(b, store, `{}`, defs...)
	tools := toolsOf(b, defs...)
	c := CapabilitiesOf(value(b, `{}`))
	for b.Loop() {
		book, err := store.Book(here, "u")
		if err != nil {
			b.Fatal(err)
		}
		if _, _, err := book.List(context.Background(), newSession(b), c, tools); err != nil {
			b.Fatal(err)
		}
	}
}
