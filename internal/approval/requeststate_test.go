package approval

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"
)

// The way of a client of 2026-07-28: the answer comes with the call's retry and the state.
func TestRequestStateCarriesAQuestionThroughARetry(t *testing.T) {
	r := newRig(t)
	d := r.desk()
	a := r.ask(d, r.request("send_email", mail("bob@partner.example")), Asked).Approval()
	state, err := d.RequestState(t.Context(), a)
	must(t, err)
	if strings.Contains(state, "bob") || len(state) > 100 {
		t.Errorf("the state is %q", state)
	}
	// The gateway may have been restarted meanwhile.
	d = r.desk()
	retry := r.request("send_email", `{"to":["bob@partner.example"],"body":"something else"}`)
	id, err := d.Resume(t.Context(), state, retry)
	if err != nil || id != a.ID {
		t.Fatalf("%q %v", id, err)
	}
	if _, err := d.Answer(t.Context(), id, Answer{Yes: true, Channel: ChannelClient}); err != nil {
		t.Fatal(err)
	}
	if out, err := d.Claim(t.Context(), retry); err != nil || out.State != Granted {
		t.Fatalf("%+v %v", out, err)
	}
	// It counts once.
	again := r.request("send_email", mail("bob@partner.example"))
	if id, err = d.Resume(t.Context(), state, again); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Answer(t.Context(), id, Answer{Yes: true, Channel: ChannelClient}); !errors.Is(err, ErrNotOpen) {
		t.Errorf("a state was used twice: %v", err)
	}
	if out, err := d.Claim(t.Context(), again); err != nil || out.State != Denied {
		t.Errorf("%+v %v", out, err)
	}
}

func TestRequestStateOfAnotherCall(t *testing.T) {
	r := newRig(t)
	d := r.desk()
	q := r.request("send_email", mail("bob@partner.example"))
	a := r.ask(d, q, Asked).Approval()
	state, err := d.RequestState(t.Context(), a)
	must(t, err)
	upstream := q
	upstream.Call.Upstream = "other"
	for name, try := range map[string]func() (string, error){
		"destination": func() (string, error) {
			return d.Resume(t.Context(), state, r.request("send_email", mail("mallory@evil.example")))
		},
		"argument": func() (string, error) {
			return d.Resume(t.Context(), state, r.request("send_email", `{"cc":"bob@partner.example"}`))
		},
		"tool": func() (string, error) {
			return d.Resume(t.Context(), state, r.request("share_file", `{"to":"bob@partner.example"}`))
		},
		"upstream": func() (string, error) { return d.Resume(t.Context(), state, upstream) },
		"caller": func() (string, error) {
			return r.desk(func(o *DeskOptions) { o.Caller = "phone" }).Resume(t.Context(), state, q)
		},
		"session": func() (string, error) {
			return r.desk(func(o *DeskOptions) { o.Session = "s2" }).Resume(t.Context(), state, q)
		},
		"bind": func() (string, error) {
			return r.desk(func(o *DeskOptions) { o.BindCall = true }).Resume(t.Context(), state, q)
		},
		"installation": func() (string, error) { return newRig(t).desk().Resume(t.Context(), state, q) },
		"time":         func() (string, error) { r.after(DefaultTTL); return d.Resume(t.Context(), state, q) },
	} {
		if name == "time" {
			continue // last
		}
		if id, err := try(); !errors.Is(err, ErrState) {
			t.Errorf("another %s: %q %v", name, id, err)
		}
	}
	if id, err := d.Resume(t.Context(), state, q); err != nil || id != a.ID {
		t.Fatalf("%q %v", id, err)
	}
	r.after(DefaultTTL)
	if id, err := d.Resume(t.Context(), state, q); !errors.Is(err, ErrState) {
		t.Errorf("later: %q %v", id, err)
	}
}

// No text but the one that was made opens.
func FuzzOpenState(f *testing.F) {
	key := bytes.Repeat([]byte{7}, 32)
	asked := keyOf("q")
	until := time.Unix(1_800_000_000, 0)
	good := sealState(key, "0123456789abcdef", "local", asked, until)
	f.Add(good)
	for _, s := range []string{"", "sp1.", good[:len(good)-1], good + "A", good + "=", strings.Replace(good, "sp1", "sp2", 1), good[:20] + "\n" + good[20:], "sp1." + base64.RawURLEncoding.EncodeToString(make([]byte, stateSize))} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := openState(key, s, "local", asked, until.Add(-time.Second))
		if (err == nil) != (s == good) || err != nil && (id != "" || !errors.Is(err, ErrState)) || err == nil && id != "0123456789abcdef" {
			t.Fatalf("%q: %q, %v", s, id, err)
		}
		for _, other := range []func() (string, error){
			func() (string, error) { return openState(key, s, "local", asked, until) },
			func() (string, error) { return openState(key, s, "locaL", asked, until.Add(-time.Second)) },
			func() (string, error) { return openState(key, s, "local", keyOf("r"), until.Add(-time.Second)) },
			func() (string, error) { return openState(key[1:], s, "local", asked, until.Add(-time.Second)) },
		} {
			if id, err := other(); err == nil {
				t.Fatalf("%q opens as %q elsewhere", s, id)
			}
		}
	})
}

// A state file is authenticated before it is read; its reading is held against hostile text
// all the same.
func FuzzReadTable(f *testing.F) {
	for _, s := range []string{`{}`, `null`, `{"Approvals":[{"ID":"x","State":"granted","Bound":"00"}]}`, `{"Approvals":[null]}`, `{"Sessions":null,"Guesses":["2026-07-28T14:03:07Z"]}`, `[`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		tab, err := readTable(b)
		if err != nil {
			return
		}
		tab.tick(start)
		tab.cover(bound{})
		tab.count(Key{}, 1, start)
		for _, a := range tab.Approvals {
			if a.State == Granted && !start.Before(a.Expires) {
				t.Fatal("a yes counts whose time is over")
			}
		}
	})
}
