package flow

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
)

// listing is an output of n rows with values that nothing else shows.
func listing(t testing.TB, call uint64, n int) Output {
	rows := make([]any, n)
	for i := range rows {
		rows[i] = map[string]any{"mail": fmt.Sprintf("u%d-%d@row.example", call, i), "note": fmt.Sprintf("note %d of call%d here to read", i, call)}
	}
	return output(t, "list", call, map[string]any{"structuredContent": map[string]any{"rows": rows}})
}

// When the memory is used up, evidence goes first, and the oldest first; what was seen
// stays seen. Only then the ledger is full.
func TestMaxBytes(t *testing.T) {
	const limit = 3 << 20
	l := NewLedger(LedgerOptions{MaxBytes: limit})
	stage, call := 0, uint64(0)
	for !l.Full() {
		if call++; call > 10_000 {
			t.Fatal("never full")
		}
		l.Observe(listing(t, call, 40))
		if n := l.Bytes(); n > limit {
			t.Fatalf("%d bytes of %d after call %d", n, limit, call)
		}
		if l.Full() {
			break
		}
		if call%16 != 0 && call > 16 {
			continue // looking everything up each time is slow
		}
		var known []bool
		for c := uint64(1); c <= call; c++ {
			f := lookup(t, l, fmt.Sprintf("u%d-%d@row.example", c, 39))
			if f.Origin != Untrusted || len(f.Evidence) != 1 {
				t.Fatalf("call %d of %d: %+v", c, call, f)
			}
			e := f.Evidence[0]
			known = append(known, !e.Forgotten)
			if want := (Evidence{Upstream: "desk", Tool: "list", Call: c, Time: noon, Place: "structuredContent[#0][39][#0]"}); e != want && e != (Evidence{Forgotten: true}) {
				t.Fatalf("call %d: %+v", c, e)
			}
		}
		for i := 1; i < len(known); i++ {
			if known[i-1] && !known[i] {
				t.Fatalf("after call %d: that of call %d is forgotten, that of call %d is not", call, i+1, i)
			}
		}
		now := 0
		switch {
		case !known[len(known)-1]:
			now = 2
		case !known[0]:
			now = 1
		}
		if now < stage {
			t.Fatalf("after call %d: stage %d after stage %d", call, now, stage)
		}
		stage = now
	}
	if last := lookup(t, l, fmt.Sprintf("u%d-%d@row.example", call-1, 39)); stage < 1 || !last.Evidence[0].Forgotten {
		t.Errorf("full in stage %d: there was evidence left to drop", stage)
	}
	facts := l.Facts()
	l.Observe(listing(t, call+1, 40))
	if l.Facts() != facts {
		t.Error("a full ledger records")
	}
	for c := uint64(1); c < call; c++ {
		if f := lookup(t, l, fmt.Sprintf("u%d-7@row.example", c)); f.Origin != Untrusted {
			t.Fatalf("full: call %d: %+v", c, f)
		}
	}
	if f := lookup(t, l, fmt.Sprintf("u%d-7@row.example", call+1)); f.Origin != Unknown {
		t.Errorf("what a full ledger was shown: %+v", f)
	}
}

// Numbers of sightings are used again; no fact gets the place of another.
func TestRenumber(t *testing.T) {
	l := NewLedger(LedgerOptions{})
	l.facts.places.next, l.facts.places.dropped = maxSightings-100, maxSightings-101 // as if so many had been
	for call := uint64(1); call <= 20; call++ {
		l.Observe(listing(t, call, 40))
	}
	if l.facts.base == 0 {
		t.Fatal("they still count from 0")
	}
	for call := uint64(1); call <= 20; call++ {
		for i := range 40 {
			f := lookup(t, l, fmt.Sprintf("u%d-%d@row.example", call, i))
			if e := f.Evidence[0]; e.Call != call || e.Place != fmt.Sprintf("structuredContent[#0][%d][#0]", i) {
				t.Fatalf("row %d of call %d: %+v", i, call, e)
			}
		}
	}
	l.facts.rebase()
	if f := lookup(t, l, "u1-0@row.example"); !f.Evidence[0].Forgotten && f.Evidence[0].Call != 1 {
		t.Errorf("%+v", f)
	}
}

// Places come back as they were added, across blocks and outputs, and after the oldest
// have been dropped.
func TestSightings(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	s := sightings{next: 1}
	var want []string
	b := &batch{}
	for i := range 5000 {
		if r.IntN(20) == 0 || i == 0 {
			b = &batch{info: outputInfo{tool: fmt.Sprint("tool", i)}}
		}
		place := strings.Repeat("a[0].", r.IntN(70)) + fmt.Sprint(r.IntN(100))
		s.add(b, []byte(place))
		want = append(want, b.info.tool+" "+place[:min(len(place), longestPlace)])
		for r.IntN(60) == 0 {
			s.drop()
		}
		size := cap(s.open)
		for _, b := range s.blocks {
			size += cap(b) + blockSize
		}
		for _, o := range s.outputs {
			size += o.size()
		}
		if size != s.size {
			t.Fatalf("%d bytes, counted as %d", size, s.size)
		}
	}
	for i, w := range want {
		o, place, ok := s.find(uint32(i + 1))
		if ok != (uint32(i) >= s.dropped) || ok && o.tool+" "+place != w {
			t.Fatalf("%d: %q %q %v, want %q", i, o.tool, place, ok, w)
		}
	}
	for s.drop() {
	}
	if s.size != 0 || len(s.outputs) != 0 {
		t.Errorf("%d bytes, %d outputs when all is dropped", s.size, len(s.outputs))
	}
	for _, id := range []uint32{0, 1, s.next - 1, s.next, 1 << 31} {
		if _, _, ok := s.find(id); ok {
			t.Errorf("%d is found", id)
		}
	}
}

// What one output only echoed is recorded when another shows it.
func TestEchoIsForgotten(t *testing.T) {
	for _, s := range []string{"eve@x.example", "https://x.example/a", "leaks-external", "Utility Ltd"} {
		l := NewLedger(LedgerOptions{})
		for call := uint64(1); call <= 2; call++ { // a pool of observers may hand out another
			out := output(t, "send", call, result("sent to "+s))
			out.Echo = Flatten("to", value(t, s))
			l.Observe(out)
		}
		if f := lookup(t, l, s); f.Origin != Unknown {
			t.Errorf("%s: the echo made it %v", s, f.Origin)
		}
		for call := uint64(3); call <= 6; call++ {
			l.Observe(output(t, "read", call, result("write to "+s)))
		}
		if f := lookup(t, l, s); f.Origin != Untrusted || f.Evidence[0].Call != 3 {
			t.Errorf("%s after an echo: %+v", s, f)
		}
	}
}

// Many record, look up and compare at once while the memory runs out.
func TestConcurrentBound(t *testing.T) {
	l := NewLedger(LedgerOptions{MaxBytes: 2 << 20})
	var wg sync.WaitGroup
	for g := range uint64(4) {
		wg.Go(func() {
			for i := range uint64(60) {
				call := g<<32 | i
				l.Observe(listing(t, call, 20))
				full := l.Full()
				f := l.Lookup(Flatten("to", value(t, fmt.Sprintf("u%d-7@row.example", call)))[0])
				if f.Origin != Untrusted && !l.Full() {
					t.Errorf("call %d: %+v", call, f)
				} else if len(f.Evidence) == 1 && !f.Evidence[0].Partial && !f.Evidence[0].Forgotten && f.Evidence[0].Call != call {
					t.Errorf("call %d: %+v", call, f)
				}
				c := l.Copied(fmt.Sprintf("note 7 of call%d here to read", call))
				if c.Copied != c.Words && !full && !l.Full() {
					t.Errorf("call %d: %+v", call, c)
				}
				if n := l.Bytes(); n > 2<<20 {
					t.Errorf("%d bytes", n)
				}
			}
		})
	}
	wg.Wait()
}
