package flow

import (
	"bytes"
	"strings"
)

// standing is what a label makes of a value, weakest first.
type standing byte

const (
	asNothing standing = iota
	asID
	asInside
	asParty
	asVouched
	asAnything // whatever it was
)

// Wrote records what the agent itself put somewhere, of which nobody vouched for the
// origin: being read back gives it no label that it did not have then. It is safe for
// concurrent use.
func (l *Ledger) Wrote(ds []Destination) {
	if len(ds) == 0 {
		return
	}
	q := l.queries.Get().(*query)
	defer l.queries.Put(q)
	b := &batch{holds: holdsWritten}
	l.mu.RLock()
	for _, d := range ds {
		if d.Malformed != "" {
			continue
		}
		q.reset(l, outside, d)
		_, had := l.shown(q, d)
		for _, had := range []standing{had, asAnything} {
			if h := l.writtenKey(d, had); !l.facts.facts.has(h) {
				b.noted = append(b.noted, h)
			}
		}
	}
	l.mu.RUnlock()
	if len(b.noted) > 0 {
		l.publish(b)
		l.merge(b)
	}
}

// writtenKey is the fact that the agent wrote d, whatever a server makes of its spelling
// before it shows it again: another case, scheme, port or query, groups or none.
func (l *Ledger) writtenKey(d Destination, had standing) uint64 {
	form := []byte{byte(had), byte(d.Kind)}
	switch p := &d.parts; d.Kind {
	case Email:
		form = append(appendMailbox(form, skeleton(Fold(p.local))), '@')
		form = append(form, taintName(p.host)...)
	case URL, Host:
		form[1] = byte(URL)
		form = append(form, strings.TrimPrefix(p.placeKey(), "www.")...)
	default:
		text := Fold(d.Canonical)
		if plain, ok := latinised(text); ok {
			text = plain
		}
		letters, _ := lettersOf(nil, nil, []byte(text))
		if digits := bytes.TrimLeft(letters, "0"); len(bytes.Trim(digits, "0123456789")) == 0 {
			letters = digits // a number, for a server that counts with it
		}
		form = append(form, letters...)
	}
	return l.keys[outside][factWritten].sip(form)
}

// mostOf is the most that labels can make of d: what the agent wrote stays what it was.
// A label that was seen before since is not touched. The lock must be held.
func (l *Ledger) mostOf(d Destination) (most standing, since uint32) {
	if l.facts.holds&holdsWritten == 0 {
		return asVouched, 0
	}
	since, ok := l.facts.get(l.writtenKey(d, asAnything))
	if !ok {
		return asVouched, 0
	}
	for had := asNothing; had < asVouched; had++ {
		if _, ok := l.facts.get(l.writtenKey(d, had)); ok {
			return had, since
		}
	}
	return asVouched, since
}

// echoes are the facts that name what a call named, and the names of it that are words:
// those are cut out of text, because facts of words name other things too.
func (l *Ledger) echoes(ds []Destination) (skip map[uint64]struct{}, cuts []string) {
	if len(ds) == 0 {
		return nil, nil
	}
	q := l.queries.Get().(*query)
	defer l.queries.Put(q)
	skip = make(map[uint64]struct{})
	for _, d := range ds {
		switch {
		case d.Malformed != "":
			continue
		case d.Kind == Text && !accountLike(d.Canonical):
			if len(cuts) < maxCuts {
				cuts = append(cuts, lowered(d.Canonical))
			}
			continue
		}
		q.reset(l, outside, d)
		if p := &d.parts; d.Kind == URL || d.Kind == Host {
			q.scan.emit(factPlace, p.placeKey())
		}
		for _, keys := range [][]uint64{q.any, q.part, q.words, q.pairs, q.asIs.words, q.asIs.pairs} {
			for _, h := range keys {
				skip[h] = struct{}{}
			}
		}
		if len(q.whole) > 0 {
			skip[l.keys[outside][factWord].sip(q.whole)] = struct{}{}
		}
	}
	return skip, cuts
}

// maxCuts bounds the names that are cut out of the result of a call.
const maxCuts = 20
