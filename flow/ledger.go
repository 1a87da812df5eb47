package flow

import (
	"crypto/rand"
	"encoding/binary"
	"sync"
	"time"

	"github.com/sallyport-dev/sallyport/doc"
)

// DefaultMaxFacts is the bound of [LedgerOptions.MaxFacts] when none is given. At that
// many facts a ledger holds some 200 MB. A megabyte of text makes 30,000 to 150,000.
const DefaultMaxFacts = 8_000_000

// Evidence is where a value was first seen.
type Evidence struct {
	Upstream string
	Tool     string    // the tool, or the method for what is no tool's output; "" for what the user typed
	Call     uint64    // the session's call number; 0 when it was no call
	Time     time.Time // when the output was recorded
	// Place is the position in the output: content[0].text. Names that an upstream
	// chose are given as positions ([#2]: the third member), because a place is shown to
	// people. " (JSON)" goes into text that is a JSON value, " (name)" means the name of
	// the member.
	Place   string
	Partial bool // only a part of the destination was seen: the domain of an address
}

// Output describes one recorded output.
type Output struct {
	Upstream string
	Tool     string
	Call     uint64
	Time     time.Time
	Value    doc.Value     // the whole result, params or error object
	Labels   []FieldLabel  // of the tool's contract; those that loosen do not hold if Value says isError
	Endorsed bool          // a page or file that the user named: what is outside counts as [Inside]
	Echo     []Destination // what the call itself named with somebody's consent: reading it back taints nothing
}

// Ledger is the record of every value that output has shown in one session. It is
// safe for concurrent use. The cost of a lookup does not depend on how much was
// recorded. It keeps hashes (SipHash-2-4 under a session key), no text: see [Fold]
// and the package documentation for what counts as seen.
type Ledger struct {
	keys      [families][factKinds]sipKey
	max       int
	observers sync.Pool // *observer
	queries   sync.Pool // *query

	mu      sync.RWMutex
	facts   table
	seen    []sighting
	outputs []outputInfo
	typed   map[uint64]uint32 // canonical forms, and the prompt they stood in, from 1
	secrets map[int]struct{}  // lengths of what must not leave, in letters and digits
	starts  secretStarts
	lost    *Evidence // the first output with a secret for which there was no room
	prompts uint32
	full    bool
}

// sighting is one place in one output.
type sighting struct {
	output uint32
	place  string
}

type outputInfo struct {
	upstream, tool string
	call           uint64
	time           time.Time
}

// LedgerOptions configures a [Ledger]; the zero value is usable.
type LedgerOptions struct {
	Key      [16]byte // session key of the hashes; zero: random
	MaxFacts int      // beyond it the ledger is full; 0: DefaultMaxFacts
}

// NewLedger returns an empty ledger.
func NewLedger(o LedgerOptions) *Ledger {
	if o.Key == [16]byte{} {
		rand.Read(o.Key[:]) // does not fail: crypto/rand ends the program instead
	}
	if o.MaxFacts <= 0 {
		o.MaxFacts = DefaultMaxFacts
	}
	l := &Ledger{max: o.MaxFacts, typed: make(map[uint64]uint32), secrets: make(map[int]struct{})}
	session := sipKey{binary.LittleEndian.Uint64(o.Key[:8]), binary.LittleEndian.Uint64(o.Key[8:])}
	for f := range l.keys {
		for k := range l.keys[f] {
			l.keys[f][k] = sipKey{session.sip([]byte{foldVersion, byte(k), byte(f), 0}), session.sip([]byte{foldVersion, byte(k), byte(f), 1})}
		}
	}
	l.observers.New = func() any { return newObserver(l) }
	l.queries.New = func() any { return newQuery(l) }
	return l
}

// foldVersion goes into every fact: facts made by another folding never match.
const foldVersion = 2

// Full reports that the ledger no longer records. What [Ledger.Lookup] then calls
// Unknown must count as Untrusted.
func (l *Ledger) Full() bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.full
}

// Facts returns how many facts are recorded.
func (l *Ledger) Facts() int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.facts.count
}

// Observe records every string, number and member name of out. When it returns,
// lookups see it.
func (l *Ledger) Observe(out Output) {
	o := l.observers.Get().(*observer)
	o.observe(out)
	l.observers.Put(o)
}

// merge takes what an observer has collected so far.
func (l *Ledger) merge(o *observer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range o.pieces {
		l.secrets[p.letters] = struct{}{}
		l.starts.add(p.start)
	}
	from := 0
	for _, sp := range o.spans {
		l.mergeSpan(o, o.facts[from:sp.end], sp.place)
		from = sp.end
	}
	if l.full && len(o.pieces) > 0 && l.lost == nil {
		l.lost = &Evidence{Upstream: o.info.upstream, Tool: o.info.tool, Call: o.info.call, Time: o.info.time}
	}
}

func (l *Ledger) mergeSpan(o *observer, facts []uint64, place string) {
	id, known := uint32(0), false
	for i, h := range facts {
		if _, echo := o.skip[h]; echo {
			continue
		}
		if i%touchAhead == 0 {
			l.facts.touch(facts[i:min(len(facts), i+touchAhead)])
		}
		if l.facts.count >= l.max {
			if _, ok := l.facts.get(h); !ok {
				l.full = true
			}
			continue
		}
		evidence, found := l.facts.slot(h)
		if found {
			continue
		}
		if !known {
			if !o.recorded {
				l.outputs = append(l.outputs, o.info)
				o.recorded, o.output = true, uint32(len(l.outputs)-1)
			}
			l.seen = append(l.seen, sighting{o.output, place})
			id, known = uint32(len(l.seen)-1), true
		}
		*evidence = id
	}
}

// evidence spells a sighting out. The lock must be held.
func (l *Ledger) evidence(id uint32) Evidence {
	s := l.seen[id]
	o := l.outputs[s.output]
	return Evidence{Upstream: o.upstream, Tool: o.tool, Call: o.call, Time: o.time, Place: s.place}
}
