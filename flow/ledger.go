package flow

import (
	"crypto/rand"
	"encoding/binary"
	"sync"
	"time"

	"github.com/sallyport-dev/sallyport/doc"
)

// DefaultMaxBytes is the bound of [LedgerOptions.MaxBytes] when none is given. It is
// enough for 200 to 400 MB of text.
const DefaultMaxBytes = 256 << 20

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
	// Forgotten means that the value was seen, but it is no longer known where: the
	// ledger had no memory left for that. The other fields are then empty.
	Forgotten bool
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
// recorded. It keeps hashes (SipHash-1-3 under a session key), no text: see [Fold]
// and the package documentation for what counts as seen. Of a hash it keeps 51 bits, of
// the hash of two neighbouring words 43: with n of them recorded, a value that was never
// seen is taken for seen with a probability of n/2^51, and two words for neighbours with
// n/2^43; four words with another word beside them count for a run of five by chance once
// in four thousand, and always where the four were seen beside many. What was seen is always
// found.
type Ledger struct {
	*recorded
	typed   map[uint64]uint32 // canonical forms, and the prompt they stood in, from 1
	prompts uint32
}

// recorded is what ledgers side by side have in common. Its lock guards their typed words
// too.
type recorded struct {
	keys      [families][factKinds]sipKey
	copies    bool
	share     func(entry []byte) error // nil: with nobody
	observers sync.Pool                // *observer
	queries   sync.Pool                // *query
	readers   sync.Pool                // *copyReader

	mu      sync.RWMutex
	facts   table
	secrets map[int]struct{} // lengths of what must not leave, in letters and digits
	starts  secretStarts
	lost    *Evidence // the first output with a secret for which there was no room
	untold  []uint64  // facts that the next entry tells other processes
	damage  error     // why something that was shown may be missing; nil: nothing is
}

type outputInfo struct {
	upstream, tool string
	call           uint64
	time           time.Time
}

// LedgerOptions configures a [Ledger]; the zero value is usable.
type LedgerOptions struct {
	Key [16]byte // session key of the hashes; zero: random
	// MaxBytes bounds the memory that the ledger holds, the working space of calls that
	// are under way and what the user typed aside; 0: DefaultMaxBytes. When it is
	// reached, evidence goes, the oldest first, so that values are still known to have
	// been seen but not where ([Evidence].Forgotten). When there is none left to go, the
	// ledger is full.
	MaxBytes int
	// Publish tells the other processes of the session what is recorded, in pieces, each
	// before it counts here and before Observe returns; see [Ledger.Take]. It keeps no
	// entry and may be called by several goroutines at once. An error damages the ledger.
	// nil: the ledger is this process's own.
	Publish  func(entry []byte) error
	NoCopies bool // do not record runs of words, which take most of the memory; Copied then finds nothing
}

// NewLedger returns an empty ledger.
func NewLedger(o LedgerOptions) *Ledger {
	if o.Key == [16]byte{} {
		rand.Read(o.Key[:]) // does not fail: crypto/rand ends the program instead
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	l := &Ledger{recorded: &recorded{copies: !o.NoCopies, share: o.Publish, secrets: make(map[int]struct{})}}
	l.facts.init(o.MaxBytes, !o.NoCopies)
	session := sipKey{binary.LittleEndian.Uint64(o.Key[:8]), binary.LittleEndian.Uint64(o.Key[8:])}
	for f := range l.keys {
		for k := range l.keys[f] {
			l.keys[f][k] = sipKey{session.sip([]byte{foldVersion, byte(k), byte(f), 0}), session.sip([]byte{foldVersion, byte(k), byte(f), 1})}
		}
	}
	l.observers.New = func() any { return newObserver(l) }
	l.queries.New = func() any { return newQuery(l) }
	l.readers.New = func() any { return newCopyReader(l) }
	return l.Beside()
}

// Beside returns a ledger that records where l does and knows all that l knows, but for
// what the user typed: that belongs to one conversation, and output to all of a caller's.
// It takes no memory of its own before something is typed.
func (l *Ledger) Beside() *Ledger {
	return &Ledger{recorded: l.recorded, typed: make(map[uint64]uint32)}
}

// foldVersion goes into every fact: facts made by another folding never match.
const foldVersion = 4

// Full reports that the ledger no longer records. What [Ledger.Lookup] then calls
// Unknown must count as Untrusted.
func (l *Ledger) Full() bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.facts.full
}

// Facts returns how many facts are recorded: values, pairs and runs of words.
func (l *Ledger) Facts() int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.facts.count()
}

// Bytes returns the memory that [LedgerOptions].MaxBytes bounds.
func (l *Ledger) Bytes() int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.facts.bytes()
}

// Observe records every string, number and member name of out. When it returns,
// lookups see it.
func (l *Ledger) Observe(out Output) {
	o := l.observers.Get().(*observer)
	o.observe(out)
	l.observers.Put(o)
}

// merge takes what an observer has collected so far, or what another process has. The
// lock is held for one batch, which is small.
func (l *Ledger) merge(b *batch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range b.pieces {
		l.secrets[p.letters] = struct{}{}
		l.starts.add(p.start)
	}
	l.facts.merge(b)
	if l.facts.full && len(b.pieces) > 0 && l.lost == nil {
		l.lost = &Evidence{Upstream: b.info.upstream, Tool: b.info.tool, Call: b.info.call, Time: b.info.time}
	}
}

// evidence spells a sighting out. The lock must be held.
func (l *Ledger) evidence(id uint32) Evidence {
	o, place, ok := l.facts.places.find(id)
	if !ok {
		return Evidence{Forgotten: true}
	}
	return Evidence{Upstream: o.upstream, Tool: o.tool, Call: o.call, Time: o.time, Place: place}
}
