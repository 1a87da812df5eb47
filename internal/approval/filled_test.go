package approval

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Sessions that come, ask and go must not use up what others ask with: neither the number of
// sessions that are counted, nor the room of the state file.
func TestSessionsThatAskedAndEndedLeaveNothingBehind(t *testing.T) {
	r := newRig(t)
	q := r.request("send_email", mail("bob@partner.example"))
	s := r.store()
	at := func(i int) *Desk {
		return NewDesk(s, DeskOptions{Caller: "noisy", Session: fmt.Sprint(i), Settings: Settings{MaxQuestions: 1}})
	}
	tab := &table{Sessions: map[Key]*counted{}}
	for i := range maxSessions - 1 { // as if they had asked
		tab.Sessions[keyOf("session", "noisy", fmt.Sprint(i))] = &counted{Questions: 1, Last: r.clock()}
	}
	if err := s.change(t.Context(), nil, func(to *table, _ time.Time) (bool, error) { to.Sessions = tab.Sessions; return true, nil }); err != nil {
		t.Fatal(err)
	}
	last := at(maxSessions)
	r.ask(last, q, Asked)
	if out := r.ask(r.desk(), q, Denied); !strings.Contains(out.Reason, "sessions") || strings.Contains(out.Reason, "max_questions") {
		t.Errorf("the reason is %q", out.Reason)
	}
	if err := last.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.ask(r.desk(), q, Asked)
}

// Of sessions that have ended the count is dropped that is the oldest, and only where another
// has no room.
func TestCountsOfEndedSessionsGoOldestFirst(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	tab := &table{Sessions: map[Key]*counted{}}
	for i := range maxSessions {
		tab.Sessions[keyOf(fmt.Sprint(i))] = &counted{Questions: 1, Last: now.Add(time.Duration(i) * time.Second), Ended: i == 7 || i == 5}
	}
	for _, c := range []struct {
		session string
		full    bool
		gone    string
	}{{"3", false, ""}, {"new", false, "5"}, {"newer", false, "7"}, {"newest", true, ""}} {
		before := len(tab.Sessions)
		full := tab.full(keyOf(c.session))
		if full != c.full || c.gone != "" && tab.Sessions[keyOf(c.gone)] != nil || c.gone == "" && len(tab.Sessions) != before {
			t.Errorf("%s: full %v, %d sessions of %d", c.session, full, len(tab.Sessions), before)
		}
		if !full && !tab.count(keyOf(c.session), 9, now) {
			t.Errorf("%s is not counted", c.session)
		}
	}
}

// What is over is kept to say what became of it; what nobody is shown any more is not.
func TestWhatIsOverTakesNoRoom(t *testing.T) {
	r := newRig(t)
	big := strings.Repeat("x", 1000)
	args := `{"to":["bob@partner.example"],"body":"x"`
	for i := range 25 {
		args += fmt.Sprintf(`,"a%d":"%s"`, i, big)
	}
	q := r.request("send_email", args+"}")
	for i := range 40 {
		d := NewDesk(r.store(), DeskOptions{Caller: "noisy", Session: fmt.Sprint(i)})
		a := r.ask(d, q, Asked).Approval()
		switch i % 4 {
		case 0:
			r.answer(a.Code, Answer{})
		case 1:
			r.answer(a.Code, Answer{Yes: true})
			r.ask(d, q, Granted)
		case 2:
			if err := d.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		default:
			r.after(DefaultTTL)
		}
	}
	if n := len(r.bytes(stateFile)); n > 100<<10 {
		t.Errorf("40 approvals that are over take %d bytes", n)
	}
}

// A no is remembered for its session, however much other sessions ask meanwhile.
func TestANoIsNotPushedOut(t *testing.T) {
	r := newRig(t)
	d, q := r.desk(), r.request("send_email", mail("bob@partner.example"))
	r.answer(r.ask(d, q, Asked).Approval().Code, Answer{})
	if err := d.store.change(t.Context(), nil, func(to *table, now time.Time) (bool, error) {
		for i := range maxKept {
			to.Approvals = append(to.Approvals, &Approval{ID: fmt.Sprint(i), State: Revoked, Ended: now})
		}
		return true, nil
	}); err != nil {
		t.Fatal(err)
	}
	r.ask(d, r.request("send_email", mail("carol@partner.example")), Asked)
	r.ask(d, q, Denied)
}

// One caller's questions do not keep another from being asked.
func TestOneCallerDoesNotFillTheQuestionsOfAll(t *testing.T) {
	r := newRig(t)
	q := r.request("send_email", mail("bob@partner.example"))
	s, opened := r.store(), 0
	for i := range MaxOpen {
		d := NewDesk(s, DeskOptions{Caller: "noisy", Session: fmt.Sprint(i)})
		out, err := d.Ask(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if out.State == Asked {
			opened++
		} else if !strings.Contains(out.Reason, "48 questions wait") {
			t.Errorf("the reason is %q", out.Reason)
		}
	}
	if opened != MaxOpenOfOne {
		t.Errorf("%d were opened", opened)
	}
	r.ask(r.desk(), q, Asked)
}
