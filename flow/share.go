package flow

import (
	"encoding/binary"
	"errors"
	"slices"
	"time"
)

// An entry is a batch as other processes of the session read it: what is written for them
// in a log that only they can read and that shows when it was changed. It holds keyed
// hashes and where they stood, no text of any output.
//
//	entry   = version foldVersion holds       3 bytes: 4, as in the ledger, a bit for each sort
//	          call time upstream tool         uvarint, 8 bytes, text, text
//	          spans                           uvarint, then for each: uvarint facts, text place
//	          facts pairs runs noted          each: uvarint, then 8 bytes for each
//	          pieces                          uvarint, then for each: uvarint letters, 2 bytes start
//	text    = uvarint length, bytes
//
// Integers of fixed size are little-endian. The facts of the spans stand together, in
// their order. Noted facts were seen nowhere.
const entryVersion = 4

// maxEntryText bounds one text of an entry, in bytes.
const maxEntryText = 4 << 10

var errEntry = errors.New("flow: an entry of another process cannot be read")

// appendEntry writes b.
func (b *batch) appendEntry(e []byte) []byte {
	e = append(e, entryVersion, foldVersion, byte(b.holds))
	e = binary.AppendUvarint(e, b.info.call)
	e = binary.LittleEndian.AppendUint64(e, uint64(b.info.time.UnixNano()))
	e = appendText(appendText(e, []byte(b.info.upstream)), []byte(b.info.tool))
	e = binary.AppendUvarint(e, uint64(len(b.spans)))
	from, place := 0, 0
	for _, s := range b.spans {
		e = appendText(binary.AppendUvarint(e, uint64(s.end-from)), b.places[place:s.place])
		from, place = s.end, s.place
	}
	for _, hashes := range [][]uint64{b.facts, b.pairs, b.runs, b.noted} {
		e = binary.AppendUvarint(e, uint64(len(hashes)))
		e = slices.Grow(e, 8*len(hashes))
		for _, h := range hashes {
			e = binary.LittleEndian.AppendUint64(e, h)
		}
	}
	e = binary.AppendUvarint(e, uint64(len(b.pieces)))
	for _, p := range b.pieces {
		e = binary.LittleEndian.AppendUint16(binary.AppendUvarint(e, uint64(p.letters)), p.start)
	}
	return e
}

func appendText(e, text []byte) []byte {
	text = text[:min(len(text), maxEntryText)]
	return append(binary.AppendUvarint(e, uint64(len(text))), text...)
}

// readEntry reads what appendEntry wrote, and nothing else.
func readEntry(e []byte) (*batch, error) {
	r := entryReader{rest: e}
	if v, fold := r.byte(), r.byte(); r.bad || v != entryVersion || fold != foldVersion {
		return nil, errEntry
	}
	b := &batch{holds: holding(r.byte())}
	if b.holds&^holdsAll != 0 {
		return nil, errEntry
	}
	b.info.call = r.number(1<<63 - 1)
	b.info.time = time.Unix(0, int64(r.fixed()))
	b.info.upstream, b.info.tool = string(r.text()), string(r.text())
	facts := 0
	for range r.number(uint64(len(e))) {
		facts += int(r.number(uint64(len(e))))
		b.places = append(b.places, r.text()...)
		b.spans = append(b.spans, span{facts, len(b.places)})
		if r.bad {
			return nil, errEntry
		}
	}
	for _, into := range []*[]uint64{&b.facts, &b.pairs, &b.runs, &b.noted} {
		n := r.number(uint64(len(r.rest) / 8))
		*into = make([]uint64, 0, n)
		for range n {
			*into = append(*into, r.fixed())
		}
	}
	for range r.number(uint64(len(r.rest))) {
		b.pieces = append(b.pieces, piece{int(r.number(maxSecret)), uint16(r.byte()) | uint16(r.byte())<<8})
	}
	if r.bad || len(r.rest) > 0 || facts != len(b.facts) {
		return nil, errEntry
	}
	return b, nil
}

type entryReader struct {
	rest []byte
	bad  bool
}

func (r *entryReader) take(n int) []byte {
	if r.bad || n > len(r.rest) {
		r.bad = true
		return make([]byte, min(n, 8))
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *entryReader) byte() byte    { return r.take(1)[0] }
func (r *entryReader) fixed() uint64 { return binary.LittleEndian.Uint64(r.take(8)) }

// number reads a count of at most most; 0 if it is more.
func (r *entryReader) number(most uint64) uint64 {
	v, n := binary.Uvarint(r.rest)
	if r.bad || n <= 0 || v > most {
		r.bad = true
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *entryReader) text() []byte {
	n := r.number(maxEntryText)
	if r.bad || n == 0 {
		return nil
	}
	return r.take(int(n))
}

// publish tells the other processes of the session what b holds, before it counts here.
func (l *Ledger) publish(b *batch) {
	if l.share == nil {
		return
	}
	l.mu.Lock()
	if len(l.untold) > 0 {
		b.noted = append(b.noted, l.untold...)
		b.holds |= holdsNamed
	}
	l.untold = l.untold[:0]
	l.mu.Unlock()
	if err := l.share(b.appendEntry(nil)); err != nil {
		l.Damage(err)
	}
}

// maxUntold bounds what waits for the next entry. What is dropped is only asked about here
// and refused elsewhere.
const maxUntold = 4 << 10

// tellLater keeps what the agent named for the next entry: facts that loosen need not be known elsewhere at
// once, and an entry of their own for each call would be half of what sharing costs.
func (l *Ledger) tellLater(noted []uint64) {
	if l.share == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.untold)+len(noted) <= maxUntold {
		l.untold = append(l.untold, noted...)
	}
}

// Take records what another process of the session published: an entry as
// [LedgerOptions].Publish got it there. An entry that cannot be read damages the ledger.
// It is safe for concurrent use.
func (l *Ledger) Take(entry []byte) error {
	b, err := readEntry(entry)
	if err != nil {
		l.Damage(err)
		return err
	}
	l.merge(b)
	return nil
}

// Damage says that something which was shown may be missing here, for good: what is not
// vouched for must be refused from now on.
func (l *Ledger) Damage(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.damage == nil {
		l.damage = why
	}
}

// Damaged returns why something may be missing, nil if nothing is.
func (l *Ledger) Damaged() error {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.damage
}
