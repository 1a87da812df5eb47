package approval

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/policy"
)

func TestYesOnceRunsTheCallOnce(t *testing.T) {
	r := newRig(t)
	d := r.desk()
	q := r.request("send_email", mail("bob@partner.example"))
	asked := r.ask(d, q, Asked)
	a := asked.Approval()
	if !asked.New || a.Caller != "local" || a.Upstream != "mail" || a.Tool != "send_email" || len(a.Questions) != 1 ||
		a.Questions[0].Argument != "to[0]" || a.Questions[0].Destination != "bob@partner.example" || a.Questions[0].Origin != "unknown" ||
		string(a.Arguments) != mail("bob@partner.example") || !a.Expires.Equal(start.Add(DefaultTTL)) || !a.CanLast() {
		t.Fatalf("%+v", asked)
	}
	r.after(10 * time.Second)
	r.answer(a.Code, Answer{Yes: true, By: "me"})
	r.after(4*time.Minute + 59*time.Second)
	out := r.ask(d, r.request("send_email", mail("bob@partner.example")), Granted)
	if out.Approval().ID != a.ID || out.Approval().State != Used {
		t.Errorf("%+v", out)
	}
	again := r.ask(d, r.request("send_email", mail("bob@partner.example")), Asked)
	if !again.New || again.Approval().ID == a.ID || again.Approval().Code == a.Code {
		t.Errorf("the second retry is no new question: %+v", again)
	}
	if want := []string{"asked", "answered", "used", "asked"}; !slices.Equal(r.phases(), want) {
		t.Errorf("records %v, want %v", r.phases(), want)
	}
	for _, rec := range r.records[:3] {
		if rec.Approval != a.ID || rec.Event != "approval" || rec.Session != "s1" || rec.Upstream != "mail" || rec.Target != "send_email" {
			t.Errorf("%+v", rec)
		}
	}
	if got := r.records[1]; got.Duration != 10*time.Second || got.Detail != "yes, once, channel code, by me" || got.Outcome != "allowed" {
		t.Errorf("%+v", got)
	}
	if r.records[2].Call != 2 {
		t.Errorf("used by call %d", r.records[2].Call)
	}
}

// The engine goes on with a yes that was found: answer, start.
func TestCoveredCallContinuesItsDecision(t *testing.T) {
	r := newRig(t)
	d := r.desk()
	first := r.request("send_email", mail("bob@partner.example"))
	a := r.ask(d, first, Asked).Approval()
	if id := d.Continues(t.Context(), first.Call); id != 0 {
		t.Errorf("a retry before the answer continues decision %d", id)
	}
	r.answer(a.Code, Answer{Yes: true})
	other := first.Call
	other.Args = value(t, mail("carol@partner.example"))
	if id := d.Continues(t.Context(), other); id != 0 {
		t.Errorf("another call continues decision %d", id)
	}
	retry := first.Call
	if retry.Continues = d.Continues(t.Context(), retry); retry.Continues != first.Decision.ID {
		t.Fatalf("the retry continues decision %d, want %d", retry.Continues, first.Decision.ID)
	}
	q := r.decided(retry)
	r.ask(d, q, Granted)
	if got := r.session.Answer(t.Context(), q.Decision.ID, true); got.Verdict != sallyport.Allow {
		t.Fatal(got.Reason)
	}
	if got := r.session.Start(t.Context(), q.Decision.ID); !got.Runs() {
		t.Fatal(got.Reason)
	}
	if id := d.Continues(t.Context(), first.Call); id != 0 {
		t.Errorf("a used approval continues decision %d", id)
	}
}

func TestYesForTheSession(t *testing.T) {
	r := newRig(t)
	d := r.desk()
	a := r.ask(d, r.request("send_email", mail("bob@partner.example")), Asked).Approval()
	if got := r.answer(a.Code, Answer{Yes: true, Lasting: true}); !got.Lasting {
		t.Fatalf("%+v", got)
	}
	for range 3 {
		r.after(time.Hour)
		r.ask(d, r.request("send_email", mail("bob@partner.example")), Granted)
	}
	// Beside somebody else only the other is new, and both are needed.
	both := r.ask(d, r.request("send_email", mail("bob@partner.example", "carol@partner.example")), Asked)
	r.answer(both.Approval().Code, Answer{Yes: true})
	out := r.ask(d, r.request("send_email", mail("bob@partner.example", "carol@partner.example")), Granted)
	if len(out.Approvals) != 1 || out.Approvals[0].ID != both.Approval().ID {
		t.Errorf("%+v", out.Approvals)
	}
	r.ask(d, r.request("send_email", mail("carol@partner.example")), Asked)
	r.ask(d, r.request("share_file", `{"to":"bob@partner.example","file":"x"}`), Asked) // another tool
	if err := d.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.ask(d, r.request("send_email", mail("bob@partner.example")), Asked)
	r.after(MaxLasting)
	r.ask(d, r.request("send_email", mail("bob@partner.example")), Asked)
}

func TestYesForTheSessionEndsAtItsLatest(t *testing.T) {
	r := newRig(t)
	d := r.desk()
	a := r.ask(d, r.request("send_email", mail("bob@partner.example")), Asked).Approval()
	r.answer(a.Code, Answer{Yes: true, Lasting: true})
	r.after(MaxLasting)
	r.ask(d, r.request("send_email", mail("bob@partner.example")), Asked)
}

// What names no destination is about the call as it stands, and is asked each time.
func TestDestructiveCallIsBoundToItsArguments(t *testing.T) {
	r := newRig(t)
	d := r.desk()
	a := r.ask(d, r.request("delete_event", `{"id":5}`), Asked).Approval()
	if a.CanLast() {
		t.Error("a destructive call can be agreed to for the session")
	}
	if got := r.answer(a.Code, Answer{Yes: true, Lasting: true}); got.Lasting || got.State != Granted {
		t.Errorf("%+v", got)
	}
	for _, other := range []string{`{"id":6}`, `{"id":"5"}`, `{"id":5.0}`, `{"id":5,"force":true}`, `{}`} {
		if out, err := d.Claim(t.Context(), r.request("delete_event", other)); err != nil || out.State != Denied {
			t.Errorf("%s is covered by the yes to id 5: %+v, %v", other, out, err)
		}
	}
	r.ask(d, r.request("delete_event", `{"id":5}`), Granted)
	r.ask(d, r.request("delete_event", `{"id":5}`), Asked)
}

func TestSameQuestionIsOpenOnce(t *testing.T) {
	r := newRig(t)
	d, again := r.desk(), r.desk() // two processes of one session
	a := r.ask(d, r.request("send_email", mail("bob@partner.example")), Asked)
	b := r.ask(again, r.request("send_email", mail("bob@partner.example")), Asked)
	if !a.New || b.New || a.Approval().Code != b.Approval().Code || len(r.records) != 1 {
		t.Errorf("%v %v, %d records", a.New, b.New, len(r.records))
	}
}

func TestDeniedIsNotAskedAgainInTheSession(t *testing.T) {
	r := newRig(t)
	d := r.desk()
	a := r.ask(d, r.request("send_email", mail("bob@partner.example")), Asked).Approval()
	r.answer(a.Code, Answer{})
	r.after(time.Hour)
	for _, q := range []Request{
		r.request("send_email", mail("bob@partner.example")),
		r.request("send_email", mail("carol@partner.example", "bob@partner.example")),
		r.request("share_file", `{"to":"bob@partner.example","file":"x"}`),
	} {
		if out := r.ask(d, q, Denied); !strings.Contains(out.Reason, "said no") || out.Approval().ID != a.ID {
			t.Errorf("%+v", out)
		}
	}
	r.ask(d, r.request("send_email", mail("carol@partner.example")), Asked)
	r.ask(r.desk(func(o *DeskOptions) { o.Session = "s2" }), r.request("send_email", mail("bob@partner.example")), Asked)
	d.Use(Settings{Reask: true})
	r.ask(d, r.request("send_email", mail("bob@partner.example")), Asked)
}

// A no to several at once says nothing of one of them alone.
func TestDeniedTogetherMayBeAskedAlone(t *testing.T) {
	r := newRig(t)
	d := r.desk()
	a := r.ask(d, r.request("send_email", mail("ana@partner.example", "mallory@evil.example")), Asked).Approval()
	r.answer(a.Code, Answer{})
	r.ask(d, r.request("send_email", mail("ana@partner.example", "mallory@evil.example")), Denied)
	r.ask(d, r.request("send_email", mail("ana@partner.example")), Asked)
}

func TestQuestionsOfASessionAreBounded(t *testing.T) {
	r := newRig(t)
	d := r.desk(func(o *DeskOptions) { o.MaxQuestions = 2 })
	r.ask(d, r.request("send_email", mail("a@partner.example")), Asked)
	r.ask(d, r.request("send_email", mail("b@partner.example")), Asked)
	r.ask(d, r.request("send_email", mail("a@partner.example")), Asked) // open already
	if out := r.ask(d, r.request("send_email", mail("c@partner.example")), Denied); !strings.Contains(out.Reason, "approvals.max_questions") {
		t.Error(out.Reason)
	}
	r.ask(r.desk(func(o *DeskOptions) { o.Session, o.MaxQuestions = "s2", 2 }), r.request("send_email", mail("c@partner.example")), Asked)
}

// Whoever connects anew is not asked anew: the questions of all sessions of one scope count
// together, also of those that have ended, until nothing was asked for long.
func TestQuestionsOfAScopeAreBounded(t *testing.T) {
	r := newRig(t)
	desk := func(caller, session, scope string) *Desk {
		return r.desk(func(o *DeskOptions) { o.Caller, o.Session, o.Scope, o.MaxQuestions = caller, session, scope, 2 })
	}
	q := func(to string) Request { return r.request("send_email", mail(to+"@partner.example")) }
	first := desk("ann", "s1", "g ann")
	r.ask(first, q("a"), Asked)
	if err := first.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.ask(desk("ann", "s2", "g ann"), q("b"), Asked)
	third := desk("ann", "s3", "g ann")
	if out := r.ask(third, q("c"), Denied); !strings.Contains(out.Reason, "approvals.max_questions") {
		t.Error(out.Reason)
	}
	r.ask(desk("ann", "s4", "another gateway's ann"), q("c"), Asked)
	r.ask(desk("bob", "s5", "g ann"), q("c"), Asked)
	r.after(MaxLasting + time.Second)
	r.ask(third, q("c"), Asked)
}

func TestOpenQuestionsAreBounded(t *testing.T) {
	r := newRig(t)
	for i := range MaxOpen {
		d := r.desk(func(o *DeskOptions) {
			o.Caller, o.Session = []string{"local", "phone"}[i%2], "s"+strings.Repeat("i", i)
		})
		r.ask(d, r.request("send_email", mail("a@partner.example")), Asked)
	}
	d := r.desk()
	if out := r.ask(d, r.request("send_email", mail("a@partner.example")), Denied); !strings.Contains(out.Reason, "wait for an answer") {
		t.Error(out.Reason)
	}
	r.after(DefaultTTL)
	r.ask(d, r.request("send_email", mail("a@partner.example")), Asked)
}

func TestNothingCountsThatCannotBeRecorded(t *testing.T) {
	r := newRig(t)
	d := r.desk()
	q := func() Request { return r.request("send_email", mail("bob@partner.example")) }
	r.refuse = PhaseAsked
	if out, err := d.Ask(t.Context(), q()); err == nil || out.State != Denied {
		t.Fatalf("%+v, %v", out, err)
	}
	if all, err := r.store().List(t.Context()); err != nil || len(all) != 0 {
		t.Fatalf("%v, %v", all, err)
	}
	r.refuse = PhaseAnswered
	a := r.ask(d, q(), Asked).Approval()
	if _, err := d.Answer(t.Context(), a.ID, Answer{Yes: true, Channel: ChannelClient}); err == nil {
		t.Fatal("an answer counts that was not recorded")
	}
	if out, err := d.Claim(t.Context(), q()); err != nil || out.State != Denied {
		t.Fatalf("%+v, %v", out, err)
	}
	r.refuse = PhaseUsed
	if _, err := d.Answer(t.Context(), a.ID, Answer{Yes: true, Channel: ChannelClient}); err != nil {
		t.Fatal(err)
	}
	if out, err := d.Claim(t.Context(), q()); err == nil || out.State != Denied {
		t.Fatalf("%+v, %v", out, err)
	}
	r.refuse = ""
	if out, err := d.Claim(t.Context(), q()); err != nil || out.State != Granted {
		t.Fatalf("%+v, %v", out, err)
	}
}

// Two retries race for one approval, in many processes: one of them runs.
func TestTwoRetriesRaceForOneApproval(t *testing.T) {
	r := newRig(t)
	a := r.ask(r.desk(), r.request("send_email", mail("bob@partner.example")), Asked).Approval()
	r.answer(a.Code, Answer{Yes: true})
	const racers = 16
	requests := make([]Request, racers)
	for i := range requests {
		requests[i] = r.request("send_email", mail("bob@partner.example"))
	}
	var wg sync.WaitGroup
	granted := make(chan string, racers)
	for i := range racers {
		d := r.desk()
		wg.Go(func() {
			out, err := d.Ask(t.Context(), requests[i])
			if err != nil {
				t.Error(err)
			}
			if out.State == Granted {
				granted <- out.Approval().ID
			}
		})
	}
	wg.Wait()
	if len(granted) != 1 || <-granted != a.ID {
		t.Errorf("%d of %d retries ran", len(granted)+1, racers)
	}
	if all, err := r.store().List(t.Context()); err != nil || len(all) != 1 || all[0].State != Asked {
		t.Errorf("the others ask one new question: %+v, %v", all, err)
	}
}

func TestOneAnswerCounts(t *testing.T) {
	r := newRig(t)
	d := r.desk()
	a := r.ask(d, r.request("send_email", mail("bob@partner.example")), Asked).Approval()
	var wg sync.WaitGroup
	var mu sync.Mutex
	counted := 0
	for i := range 8 {
		s := r.store()
		wg.Go(func() {
			_, err := s.Answer(t.Context(), a.ID, Answer{Yes: i%2 == 0, Channel: ChannelCode}, DefaultTTL, nil, nil)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				counted++
			} else if !errors.Is(err, ErrNotOpen) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if counted != 1 {
		t.Errorf("%d answers counted", counted)
	}
}

// A client that gives up, a session that ends: what comes after is no yes.
func TestLateYesIsNone(t *testing.T) {
	r := newRig(t)
	d := r.desk()
	for name, end := range map[string]func(id string) error{
		"withdrawn": func(id string) error { return d.Withdraw(t.Context(), id, "the client cancelled the call") },
		"ended":     func(string) error { return d.End(t.Context()) },
		"expired":   func(string) error { r.after(DefaultTTL); return nil },
	} {
		a := r.ask(d, r.request("send_email", mail(name+"@partner.example")), Asked).Approval()
		if err := end(a.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Answer(t.Context(), a.ID, Answer{Yes: true}); !errors.Is(err, ErrNotOpen) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := r.store().Lookup(t.Context(), a.Code); !errors.Is(err, ErrNotOpen) {
			t.Errorf("%s: its code: %v", name, err)
		}
		if out, err := d.Claim(t.Context(), r.request("send_email", mail(name+"@partner.example"))); err != nil || out.State != Denied {
			t.Errorf("%s: %+v %v", name, out, err)
		}
	}
}

func TestGrantedAndNotUsedExpires(t *testing.T) {
	r := newRig(t)
	d := r.desk()
	a := r.ask(d, r.request("send_email", mail("bob@partner.example")), Asked).Approval()
	r.answer(a.Code, Answer{Yes: true})
	r.after(DefaultTTL)
	r.ask(d, r.request("send_email", mail("bob@partner.example")), Asked)
	if want := []string{"asked", "answered", "expired", "asked"}; !slices.Equal(r.phases(), want) || r.records[2].Approval != a.ID {
		t.Errorf("records %v, want %v", r.phases(), want)
	}
}

// The client answers an elicitation that was never sent, or one of another session.
func TestAnswerToWhatWasNeverAsked(t *testing.T) {
	r := newRig(t)
	d := r.desk()
	if _, err := d.Answer(t.Context(), "0123456789abcdef", Answer{Yes: true}); !errors.Is(err, ErrNotOpen) {
		t.Error(err)
	}
	theirs := r.ask(r.desk(func(o *DeskOptions) { o.Caller, o.Session = "phone", "s9" }), r.request("send_email", mail("bob@partner.example")), Asked).Approval()
	if _, err := d.Answer(t.Context(), theirs.ID, Answer{Yes: true}); !errors.Is(err, ErrNotOpen) {
		t.Error(err)
	}
	if all, err := r.store().List(t.Context()); err != nil || len(all) != 1 || all[0].State != Asked {
		t.Errorf("%+v %v", all, err)
	}
}

func TestDecisionsThatCannotBeAskedAbout(t *testing.T) {
	r := newRig(t)
	d := r.desk()
	long := r.request("share_file", `{"to":"https://files.example/`+strings.Repeat("a", MaxDestination)+`"}`)
	if out := r.ask(d, long, Denied); !strings.Contains(out.Reason, "cannot be shown") {
		t.Error(out.Reason)
	}
	var many []string
	for i := range MaxQuestions + 1 {
		many = append(many, "u"+strings.Repeat("x", i)+"@partner.example")
	}
	if out := r.ask(d, r.request("send_email", mail(many...)), Denied); !strings.Contains(out.Reason, "split it") {
		t.Error(out.Reason)
	}
	allowed := sallyport.Call{Subject: policy.Tool, Upstream: "mail", Name: "read_ticket", Args: value(t, `{}`)}
	if out := r.ask(d, Request{Call: allowed, Decision: r.session.Decide(t.Context(), allowed)}, Denied); out.Reason == "" {
		t.Error("an allowed call is asked about")
	}
}

// What has expired is in the log once, whoever notices it first.
func TestExpiredIsRecordedOnce(t *testing.T) {
	r := newRig(t)
	d := r.desk()
	a := r.ask(d, r.request("send_email", mail("bob@partner.example")), Asked).Approval()
	r.after(DefaultTTL)
	if _, err := r.store().Lookup(t.Context(), a.Code); !errors.Is(err, ErrNotOpen) { // has no log
		t.Fatal(err)
	}
	r.after(time.Hour)
	for range 2 {
		if err := r.desk().End(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"asked", "expired"}; !slices.Equal(r.phases(), want) || r.records[1].Approval != a.ID {
		t.Errorf("records %v, want %v", r.phases(), want)
	}
}

// Of a call that is made again while its question is open, the first decision is the one that
// goes on: the others need not be kept.
func TestTheFirstDecisionIsKept(t *testing.T) {
	r := newRig(t)
	d := r.desk()
	first := r.request("send_email", `{"to":["bob@partner.example"],"body":"x"}`)
	for i, c := range []struct {
		request Request
		kept    bool
	}{
		{first, true},
		{r.request("send_email", `{"body":"x","to":["bob@partner.example"]}`), false},
		{r.request("send_email", `{"to":["bob@partner.example"],"body":"y"}`), true},
	} {
		out, err := d.Ask(t.Context(), c.request)
		if err != nil || out.State != Asked || out.Kept != c.kept {
			t.Errorf("%d: %+v, %v", i, out, err)
		}
		if i == 2 {
			if _, err := d.Answer(t.Context(), out.Approval().ID, Answer{Yes: true}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := d.Continues(t.Context(), first.Call); got != first.Decision.ID {
		t.Errorf("the call goes on with %d, want %d", got, first.Decision.ID)
	}
}
