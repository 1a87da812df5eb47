package approval

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

func TestTrustList(t *testing.T) {
	r := newRig(t)
	s := r.store()
	var recorded []string
	record := func(e Trusted) error { recorded = append(recorded, e.Destination); return nil }
	warned := 0
	list := s.Trusted(func(error) { warned++ })
	if got := list(); got != nil {
		t.Errorf("%+v", got)
	}
	for _, e := range []Trusted{
		{Destination: "bob@partner.example", Because: "our partner", Expires: start.Add(30 * 24 * time.Hour)},
		{Destination: "*@firm.example", Tool: "mail/send_email", Because: "colleagues"},
		{Destination: "bob@partner.example", Because: "still our partner", Expires: start.Add(time.Hour)},
	} {
		if _, err := r.store().Trust(t.Context(), e, record); err != nil {
			t.Fatal(err)
		}
	}
	got := list()
	if len(got) != 2 || got[0].Upstream != "mail" || got[0].Tool != "send_email" || !strings.Contains(got[1].Name, "still our partner") {
		t.Fatalf("%+v", got)
	}
	r.after(time.Hour)
	all, err := r.store().TrustList(t.Context())
	if err != nil || len(all) != 2 || !all[1].Over(r.clock()) || all[0].Over(r.clock()) {
		t.Fatalf("%+v %v", all, err)
	}
	if removed, err := r.store().Untrust(t.Context(), all[0].ID, record); err != nil || len(removed) != 1 || removed[0].Destination != "*@firm.example" {
		t.Errorf("%+v %v", removed, err)
	}
	if removed, err := r.store().Untrust(t.Context(), "nobody@firm.example", record); err != nil || removed != nil {
		t.Errorf("%+v %v", removed, err)
	}
	if got := list(); len(got) != 0 {
		t.Errorf("an entry that is over: %+v", got)
	}
	if want := "bob@partner.example *@firm.example bob@partner.example *@firm.example"; strings.Join(recorded, " ") != want {
		t.Errorf("recorded %v", recorded)
	}
	if warned != 0 {
		t.Errorf("%d warnings", warned)
	}
}

// Entries that earlier versions made for a tool of any server hold for none: a server that comes
// later would get what was meant for another. They stay on the list, to be seen and removed.
func TestTrustForAToolOfNoServer(t *testing.T) {
	r := newRig(t)
	s := r.store()
	err := s.changeTrust(t.Context(), func([]Trusted) ([]Trusted, error) {
		return []Trusted{
			{ID: "1", Destination: "bob@partner.example", Tool: "send_email", Because: "b", Added: start},
			{ID: "2", Destination: "bob@partner.example", Tool: "mail/a/b", Because: "b", Added: start},
		}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Trusted(nil)(); len(got) != 1 || got[0].Upstream != "mail" || got[0].Tool != "a/b" {
		t.Errorf("%+v", got)
	}
	if all, err := s.TrustList(t.Context()); err != nil || len(all) != 2 || !all[0].Nowhere() || all[1].Nowhere() {
		t.Errorf("%+v %v", all, err)
	}
}

func TestTrustOfTheFuture(t *testing.T) {
	e := Trusted{Added: start}
	if !e.Over(start.Add(-time.Hour)) || e.Over(start.Add(-time.Second)) || e.Over(start.Add(1000*time.Hour)) {
		t.Error("an entry that is not made yet counts, or one that is made does not")
	}
}

func TestTrustThatIsNotTaken(t *testing.T) {
	r := newRig(t)
	s := r.store()
	ok := func(Trusted) error { return nil }
	for name, e := range map[string]Trusted{
		"no reason":      {Destination: "bob@partner.example", Because: " "},
		"no destination": {Because: "b"},
		"everybody":      {Destination: "*", Because: "b"},
		"a list":         {Destination: "a@x.example, b@y.example", Because: "b"},
		"a huge one":     {Destination: strings.Repeat("a", MaxDestination+1), Because: "b"},
		"a huge reason":  {Destination: "bob@partner.example", Because: strings.Repeat("b", maxBecause+1)},
		"half a tool":    {Destination: "bob@partner.example", Because: "b", Tool: "mail/"},
		"no server":      {Destination: "bob@partner.example", Because: "b", Tool: "send_email"},
		"a nameless one": {Destination: "bob@partner.example", Because: "b", Tool: "/send_email"},
	} {
		if _, err := s.Trust(t.Context(), e, ok); err == nil {
			t.Errorf("%s is trusted", name)
		}
	}
	broken := errors.New("the disk is full")
	if _, err := s.Trust(t.Context(), Trusted{Destination: "bob@partner.example", Because: "b"}, func(Trusted) error { return broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
	if all, err := s.TrustList(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("%+v %v", all, err)
	}
}

// A list that cannot be used trusts nothing, and says so once.
func TestTrustListIsTamperedWith(t *testing.T) {
	for name, spoil := range map[string]func(r *rig){
		"truncated": func(r *rig) { must(t, os.Truncate(r.file("trust"), 30)) },
		"replaced": func(r *rig) {
			must(t, os.WriteFile(r.file("trust"), []byte(`[{"Destination":"*@evil.example"}]`), 0o600))
		},
		"readable": func(r *rig) { must(t, os.Chmod(r.file("trust"), 0o644)) },
		"a link": func(r *rig) {
			must(t, os.Rename(r.file("trust"), r.file("t")))
			must(t, os.Symlink("t", r.file("trust")))
		},
	} {
		r := newRig(t)
		if _, err := r.store().Trust(t.Context(), Trusted{Destination: "bob@partner.example", Because: "b"}, func(Trusted) error { return nil }); err != nil {
			t.Fatal(err)
		}
		warned := 0
		list := r.store().Trusted(func(error) { warned++ })
		if got := list(); len(got) != 1 {
			t.Fatalf("%s: %+v", name, got)
		}
		spoil(r)
		if got := [3]int{len(list()), len(list()), warned}; got != [3]int{0, 0, 1} {
			t.Errorf("%s: trusted, trusted, warned: %v", name, got)
		}
		if _, err := r.store().Trust(t.Context(), Trusted{Destination: "x@partner.example", Because: "b"}, func(Trusted) error { return nil }); err == nil {
			t.Errorf("%s: it was written over", name)
		}
	}
}

func BenchmarkTrusted(b *testing.B) {
	r := newRig(b)
	if _, err := r.store().Trust(b.Context(), Trusted{Destination: "bob@partner.example", Because: "b"}, func(Trusted) error { return nil }); err != nil {
		b.Fatal(err)
	}
	list := r.store().Trusted(nil)
	for b.Loop() {
		if len(list()) != 1 {
			b.Fatal("not trusted")
		}
	}
}

func BenchmarkAskAndAnswer(b *testing.B) {
	r := newRig(b)
	d := r.desk(func(o *DeskOptions) { o.MaxQuestions = 1 << 30 })
	q := r.request("send_email", mail("bob@partner.example"))
	for b.Loop() {
		out, err := d.Ask(b.Context(), q)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := d.Answer(b.Context(), out.Approval().ID, Answer{Yes: true}); err != nil {
			b.Fatal(err)
		}
		if out, err := d.Claim(b.Context(), q); err != nil || out.State != Granted {
			b.Fatal(out, err)
		}
	}
}
