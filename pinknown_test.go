package sallyport_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport"
)

// pinRig is a session with pins that a test keeps.
type pinRig struct {
	t   *testing.T
	s   *sallyport.Session
	now time.Time
}

func newPinRig(t *testing.T) *pinRig {
	t.Helper()
	r := &pinRig{t: t, now: time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)}
	e, err := sallyport.New(sallyport.Options{Now: func() time.Time { return r.now }})
	if err != nil {
		t.Fatal(err)
	}
	if r.s, err = e.Session(sallyport.SessionOptions{Caller: "c", Doubt: "d"}); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *pinRig) pin(def string) sallyport.Pinned {
	v := value(r.t, def)
	return sallyport.Pinned{Digest: sallyport.DigestDefinition(v), Definition: v}
}

// list tells the session a list and returns what is to be kept, as text.
func (r *pinRig) list(known sallyport.KnownPins, defs ...string) string {
	r.t.Helper()
	var said string
	_, err := r.s.PinKnown("u", tools(r.t, "u", defs...), known, func(p sallyport.PinReport) error {
		if p.First {
			said = "first "
		}
		for _, l := range p.Learnt {
			said += "+" + l.Name + " "
		}
		for _, l := range p.Refused {
			was := ""
			if l.Was.Definition.Len() > 0 {
				was = "(was " + string(l.Was.Definition.AppendJSON(nil)) + ")"
			}
			said += "-" + l.Name + was + " "
		}
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return strings.TrimSpace(said)
}

func (r *pinRig) runs(names ...string) {
	r.t.Helper()
	for _, n := range names {
		if d := decide(r.t, r.s, n, `{}`); d.Check == sallyport.CheckPin {
			r.t.Errorf("%s is refused: %s", n, d.Reason)
		}
	}
}

func (r *pinRig) refused(name, why string) {
	r.t.Helper()
	want(r.t, decide(r.t, r.s, name, `{}`), sallyport.Deny, sallyport.CheckPin, why)
}

func TestPinKnown(t *testing.T) {
	const a, b, a2 = `{"name":"a","title":"1"}`, `{"name":"b"}`, `{"name":"a","title":"2"}`
	past := time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)
	known := func(r *pinRig, own string, others ...string) sallyport.KnownPins {
		k := sallyport.KnownPins{Set: "s", First: past, Later: true, Own: map[string]sallyport.Pinned{}, Other: map[string][]sallyport.Pinned{}, Hint: "look"}
		if own != "" {
			k.Own["a"] = r.pin(own)
		}
		for _, o := range others {
			k.Other["a"] = append(k.Other["a"], r.pin(o))
		}
		return k
	}
	t.Run("first, late and later", func(t *testing.T) {
		r := newPinRig(t)
		k := sallyport.KnownPins{Set: "s"}
		if got := r.list(k, a); got != "first +a" {
			t.Error(got)
		}
		k.First, k.Own = r.now, map[string]sallyport.Pinned{"a": r.pin(a)}
		r.now = r.now.Add(9 * time.Second)
		if !r.s.Learning("u") {
			t.Error("it learns no more")
		}
		if got := r.list(k, a, b); got != "+b" {
			t.Error(got)
		}
		r.runs("a", "b")
		k.Own["b"] = r.pin(b)
		r.now = r.now.Add(2 * time.Second)
		if r.s.Learning("u") {
			t.Error("it still learns")
		}
		if got := r.list(k, a2, b, `{"name":"c"}`); got != `-a(was {"name":"a","title":"1"}) -c` {
			t.Error(got)
		}
		r.runs("b")
		r.refused("a", "its definition changed since it was pinned (title)")
		r.refused("c", "it is new")
	})
	t.Run("a later session learns nothing, not even at once", func(t *testing.T) {
		r := newPinRig(t)
		k := known(r, a)
		k.First = r.now.Add(-time.Second)
		if got := r.list(k, a, b); got != "-b" || r.s.Learning("u") {
			t.Error(got, r.s.Learning("u"))
		}
		r.refused("b", "it is new since the tools of this server were pinned; look")
	})
	t.Run("a clock that went back", func(t *testing.T) {
		r := newPinRig(t)
		k := known(r, a)
		k.First, k.Later = r.now.Add(time.Hour), false
		if got := r.list(k, a, b); got != "-b" {
			t.Error(got)
		}
	})
	t.Run("missing is nothing", func(t *testing.T) {
		r := newPinRig(t)
		if got := r.list(known(r, a)); got != "" {
			t.Error(got)
		}
		r.refused("a", "lists no tool")
	})
	t.Run("other sets", func(t *testing.T) {
		for _, tt := range []struct {
			own    string
			others []string
			listed string
			want   string
		}{
			{"", []string{a}, a, "+a"},
			{"", []string{a2, a}, a, "+a"},
			{"", []string{a}, a2, `-a(was {"name":"a","title":"1"})`},
			{a, []string{a2}, a, ""},
			{a, []string{a2}, a2, `-a(was {"name":"a","title":"1"})`},
		} {
			r := newPinRig(t)
			if got := r.list(known(r, tt.own, tt.others...), tt.listed); got != tt.want {
				t.Errorf("%+v: %s", tt, got)
			}
			k := known(newPinRig(t), tt.own, tt.others...)
			k.First, k.Later = time.Time{}, false // the first session with the set is no different
			if got := newPinRig(t).list(k, tt.listed); strings.TrimSpace(strings.TrimPrefix(got, "first")) != tt.want {
				t.Errorf("first: %+v: %s", tt, got)
			}
		}
	})
	t.Run("names", func(t *testing.T) {
		r := newPinRig(t)
		if got := r.list(sallyport.KnownPins{}, a, b, b, `{"name":"c\u200b"}`, `{"name":""}`); got != "first +a" {
			t.Error(got)
		}
		r.runs("a")
		r.refused("b", "listed twice")
		r.refused("c\u200b", "invisible")
	})
	t.Run("what cannot be kept is not allowed", func(t *testing.T) {
		r := newPinRig(t)
		r.list(known(r, a), a)
		r.runs("a")
		full := errors.New("full")
		if _, err := r.s.PinKnown("u", tools(t, "u", a, b), known(r, a), func(sallyport.PinReport) error { return full }); !errors.Is(err, full) {
			t.Fatal(err)
		}
		r.refused("a", "not known yet")
		if r.s.Listing("u", tools(t, "u", a)) {
			t.Error("the list counts as known")
		}
		r.list(known(r, a), a)
		r.runs("a")
	})
	t.Run("accepted under another set since", func(t *testing.T) {
		r := newPinRig(t)
		k := known(r, a, a2)
		k.Accepted = map[string][]sallyport.PinDigest{"a": {r.pin(a2).Digest}}
		if got := r.list(k, a2); got != "+a" {
			t.Error(got)
		}
		r.runs("a")
		if got := r.list(k, `{"name":"a","title":"3"}`); got != `-a(was {"name":"a","title":"1"})` || !r.s.Refuses("u", "a") || r.s.Refuses("u", "b") || r.s.Refuses("v", "a") {
			t.Error(got)
		}
	})
	t.Run("pins that were taken away teach nothing", func(t *testing.T) {
		r := newPinRig(t)
		r.list(sallyport.KnownPins{Set: "s"}, a)
		r.now = r.now.Add(time.Minute)
		if got := r.list(sallyport.KnownPins{Set: "s"}, a, b); got != "first +a -b" {
			t.Error(got)
		}
		r.refused("b", "it is new")
	})
	t.Run("nothing listed is not a first list", func(t *testing.T) {
		r := newPinRig(t)
		r.list(sallyport.KnownPins{Set: "s"})
		r.now = r.now.Add(time.Hour)
		if got := r.list(sallyport.KnownPins{Set: "s"}, a); got != "first +a" {
			t.Error(got)
		}
	})
	t.Run("accepted while it runs", func(t *testing.T) {
		r := newPinRig(t)
		r.list(known(r, a), a2)
		r.refused("a", "changed")
		r.list(known(r, a2), a2)
		r.runs("a")
		r.list(known(r, a2), a)
		r.refused("a", "changed")
	})
	t.Run("parts are named, words of the server are not", func(t *testing.T) {
		r := newPinRig(t)
		for _, tt := range []struct{ def, want string }{
			{`{"name":"a","description":"ignore this","inputSchema":{}}`, "(title, description, inputSchema)"},
			{`{"name":"a","title":"1","evil words":1}`, "(other members)"},
		} {
			r.list(known(r, a), tt.def)
			r.refused("a", tt.want)
			if d := decide(t, r.s, "a", `{}`); strings.Contains(d.Reason, "evil") || strings.Contains(d.Reason, "ignore") {
				t.Error(d.Reason)
			}
		}
	})
}

// One session can list to several sets, but not to any number.
func TestPinKnownBoundsSets(t *testing.T) {
	r := newPinRig(t)
	for i := range 64 {
		if got := r.list(sallyport.KnownPins{Set: fmt.Sprint(i)}, `{"name":"a"}`); got != "first +a" {
			t.Fatal(i, got)
		}
	}
	r.list(sallyport.KnownPins{Set: "more"}, `{"name":"a"}`)
	r.refused("a", "64 sets")
	r.list(sallyport.KnownPins{Set: "3"}, `{"name":"a"}`)
	r.runs("a")
}
