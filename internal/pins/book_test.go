package pins

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
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
