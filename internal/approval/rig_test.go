package approval

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/policy"
)

var start = time.Date(2026, 7, 28, 14, 3, 7, 0, time.UTC)

// rig is a state directory, a clock, and an engine whose asks are real ones.
type rig struct {
	t   testing.TB
	dir string

	mu      sync.Mutex
	now     time.Time
	records []audit.Record
	refuse  string // a phase that cannot be recorded

	session *sallyport.Session
}

const definitions = `[
 {"name":"send_email","inputSchema":{"type":"object","properties":{"to":{"type":"array","items":{"type":"string"}},"cc":{"type":"string"},"body":{"type":"string"}}}},
 {"name":"share_file","inputSchema":{"type":"object","properties":{"to":{"type":"string"},"file":{"type":"string"}}}},
 {"name":"pay","inputSchema":{"type":"object","properties":{"recipient":{}}}},
 {"name":"delete_event","inputSchema":{"type":"object","properties":{"id":{}}}},
 {"name":"read_ticket"}
]`

func newRig(t testing.TB) *rig {
	t.Helper()
	r := &rig{t: t, dir: filepath.Join(t.TempDir(), "sallyport"), now: start}
	destructive, err := contract.NewSet([]*contract.Contract{
		{Upstream: "mail", Tool: "delete_event", Destructive: true, Source: "test"},
		{Upstream: "mail", Tool: "pay", Exfiltrating: true, Source: "test"},
	}, contract.Options{})
	if err != nil {
		t.Fatal(err)
	}
	flow, _ := sallyport.Profile("balanced")
	flow.Untrusted = sallyport.Ask
	e, err := sallyport.New(sallyport.Options{Contracts: destructive, Flow: &flow, Now: func() time.Time { return start }})
	if err != nil {
		t.Fatal(err)
	}
	if r.session, err = e.Session(sallyport.SessionOptions{Caller: "local", Doubt: "d"}); err != nil {
		t.Fatal(err)
	}
	for _, upstream := range []string{"mail", "other"} {
		var list []contract.Tool
		for _, def := range value(t, definitions).Elements() {
			list = append(list, contract.Tool{Upstream: upstream, Name: def.Get("name").String(), Definition: def})
		}
		r.session.Pin(upstream, list)
	}
	return r
}

func value(t testing.TB, json string) doc.Value {
	t.Helper()
	v, err := doc.Parse([]byte(json), doc.Limits{})
	if err != nil {
		t.Fatalf("%s: %v", json, err)
	}
	return v
}

func (r *rig) clock() time.Time { r.mu.Lock(); defer r.mu.Unlock(); return r.now }

func (r *rig) after(d time.Duration) { r.mu.Lock(); defer r.mu.Unlock(); r.now = r.now.Add(d) }

// store is one process's.
func (r *rig) store() *Store { return NewStore(StoreOptions{Dir: r.dir, Now: r.clock}) }

func (r *rig) record(rec audit.Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if rec.Phase == r.refuse {
		return errors.New("the disk is full")
	}
	r.records = append(r.records, rec)
	return nil
}

func (r *rig) options() DeskOptions {
	return DeskOptions{Caller: "local", Session: "s1", Record: r.record, Log: "/log"}
}

func (r *rig) desk(change ...func(*DeskOptions)) *Desk {
	o := r.options()
	for _, c := range change {
		c(&o)
	}
	return NewDesk(r.store(), o)
}

// request decides a call, which has to be an ask.
func (r *rig) request(tool, args string) Request {
	r.t.Helper()
	c := sallyport.Call{Subject: policy.Tool, Upstream: "mail", Name: tool, Args: value(r.t, args)}
	return r.decided(c)
}

func (r *rig) decided(c sallyport.Call) Request {
	r.t.Helper()
	d := r.session.Decide(r.t.Context(), c)
	if d.Verdict != sallyport.Ask {
		r.t.Fatalf("%s %s: %v (%s)", c.Name, c.Args.AppendJSON(nil), d.Verdict, d.Reason)
	}
	return Request{Call: c, Decision: d, Policy: "p1"}
}

// ask asks and wants a state.
func (r *rig) ask(d *Desk, q Request, want State) Outcome {
	r.t.Helper()
	out, err := d.Ask(r.t.Context(), q)
	if err != nil {
		r.t.Fatal(err)
	}
	if out.State != want {
		r.t.Fatalf("%s, want %s (%s)", out.State, want, out.Reason)
	}
	return out
}

// answer answers as a terminal does, in a process of its own.
func (r *rig) answer(code string, ans Answer) Approval {
	r.t.Helper()
	s := r.store()
	a, err := s.Lookup(r.t.Context(), code)
	if err != nil {
		r.t.Fatal(err)
	}
	ans.Channel = ChannelCode
	a, err = s.Answer(r.t.Context(), a.ID, ans, DefaultTTL, func(a Approval) error { return r.record(a.Record(PhaseAnswered, 0, r.clock())) }, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	return a
}

func (r *rig) phases() (all []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rec := range r.records {
		all = append(all, rec.Phase)
	}
	return all
}

func (r *rig) file(name string) string { return filepath.Join(r.dir, "approvals", name) }

func (r *rig) bytes(name string) []byte {
	r.t.Helper()
	b, err := os.ReadFile(r.file(name))
	if err != nil {
		r.t.Fatal(err)
	}
	return b
}

func mail(to ...string) string {
	list := ""
	for i, a := range to {
		if i > 0 {
			list += ","
		}
		list += fmt.Sprintf("%q", a)
	}
	return `{"to":[` + list + `],"body":"hello there"}`
}
