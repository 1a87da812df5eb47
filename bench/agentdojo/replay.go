package main

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
	"github.com/sallyport-dev/sallyport/policy"
)

// oracle answers a question about a call, told only whose call it is.
type oracle struct {
	name string
	yes  func(injected bool) bool
}

// The oracles, strictest first.
var oracles = []oracle{
	{"close", func(bool) bool { return false }},
	{"human", func(injected bool) bool { return !injected }},
	{"stamp", func(bool) bool { return true }},
}

// event is one step in the engine's words.
type event struct {
	call     sallyport.Call
	output   doc.Value
	injected bool
	critical bool
}

// outcome is what became of one session.
type outcome struct {
	ran      []bool // by event
	asked    int    // calls
	critical bool   // all critical events ran; all events, if none is critical
}

// replayer replays sessions of one suite. Safe for concurrent use.
type replayer struct {
	engines []*sallyport.Engine // by gate
	tools   []contract.Tool
	suite   string
}

func newReplayer(s *suite, file string, contracts []byte) (*replayer, error) {
	var p strictyaml.Problems
	root := strictyaml.Parse(file, contracts, nil, &p)
	opt := contract.Options{Packs: contract.PackChoice{None: true}}
	entries := contract.Parse(root, &p, opt)
	if err := p.Err(); err != nil {
		return nil, err
	}
	tools, err := s.definitions()
	if err != nil {
		return nil, err
	}
	r := &replayer{nil, tools, s.Name}
	for _, g := range gates {
		set, err := contract.NewSet(g.contracts(entries), opt)
		if err != nil {
			return nil, err
		}
		engine, err := sallyport.New(sallyport.Options{Contracts: set, Flow: g.flow()})
		if err != nil {
			return nil, err
		}
		r.engines = append(r.engines, engine)
	}
	return r, nil
}

// events turns recorded steps into the engine's words.
func (r *replayer) events(steps []step, critical func(int) bool) ([]event, error) {
	var all []event
	for i, st := range steps {
		args, err := doc.Parse(st.Args, doc.Limits{})
		if err != nil {
			return nil, fmt.Errorf("arguments of step %d: %w", i, err)
		}
		out, err := st.result()
		if err != nil {
			return nil, fmt.Errorf("output of step %d: %w", i, err)
		}
		all = append(all, event{
			call:   sallyport.Call{Subject: policy.Tool, Upstream: r.suite, Name: st.Function, Args: args},
			output: out, injected: st.Phase == "injection", critical: critical(i),
		})
	}
	return all, nil
}

// result is what the server would have answered to tools/call.
func (st step) result() (doc.Value, error) {
	text := func(s string) []any { return []any{map[string]any{"type": "text", "text": s}} }
	if st.Error != nil {
		return doc.FromGo(map[string]any{"content": text(st.Text), "isError": true})
	}
	data := bytes.TrimSpace(st.JSON)
	if len(data) == 0 {
		data = []byte("null")
	}
	v, err := doc.Parse(data, doc.Limits{})
	if err != nil {
		return doc.Value{}, err
	}
	if v.Kind() == doc.Object {
		return doc.FromGo(map[string]any{"content": []any{}, "structuredContent": v})
	}
	return doc.FromGo(map[string]any{"content": text(string(v.AppendJSON(nil)))})
}

// replay runs one session.
// cases counts replays: each is a scope of doubt of its own, also beside others.
var cases atomic.Int64

func (r *replayer) replay(n int, o oracle, prompt string, events []event) (outcome, error) {
	g := gates[n]
	s, err := r.engines[n].Session(sallyport.SessionOptions{Caller: "agent", Doubt: fmt.Sprintf("case %d", cases.Add(1))})
	if err != nil {
		return outcome{}, err
	}
	defer s.End()
	s.Pin(r.suite, r.tools)
	if !g.untold {
		s.Prompt(prompt)
	}
	out := outcome{ran: make([]bool, len(events))}
	ctx := context.Background()
	for i, e := range events {
		d := s.Decide(ctx, e.call)
		if d.Verdict == sallyport.Ask {
			out.asked++
			d = s.Answer(ctx, d.ID, o.yes(e.injected))
		}
		if d.Runs() {
			d = s.Start(ctx, d.ID)
		}
		if d.Runs() {
			out.ran[i] = true
			s.Observe(sallyport.Output{Upstream: r.suite, Tool: e.call.Name, Call: d.Call, Value: e.output})
		}
		s.Forget(d.ID)
	}
	out.critical = criticalRan(events, out.ran)
	return out, nil
}

// replayAll runs a session under every oracle. A session in which nothing was asked is
// the same under all of them: the engine's verdicts depend on nothing else.
func (r *replayer) replayAll(n int, prompt string, events []event) ([]outcome, error) {
	all := make([]outcome, len(oracles))
	for i, o := range oracles {
		if i > 0 && all[0].asked == 0 {
			all[i] = all[0]
			continue
		}
		var err error
		if all[i], err = r.replay(n, o, prompt, events); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func criticalRan(events []event, ran []bool) bool {
	any, all, every := false, true, true
	for i, e := range events {
		every = every && ran[i]
		if e.critical {
			any, all = true, all && ran[i]
		}
	}
	if !any {
		return every
	}
	return all
}
