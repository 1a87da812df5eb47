package flow

import (
	"strings"
	"unicode/utf8"
)

// A query is the keys of one destination.
type query struct {
	scan  scanner
	any   []uint64 // one of them seen is enough
	words []uint64
	pairs []uint64
	asIs  struct{ words, pairs []uint64 } // of the text as it stands, if look-alikes were taken out of it
	whole []byte                          // account: letters and digits without what separates them
	part  []uint64
	short bool // too short for text: words do not count

	pairFacts bool   // in text of this family, pairs have sightings of their own
	touched   uint64 // nothing of use
}

func newQuery(*Ledger) *query {
	q := &query{}
	q.scan.take = q.fact
	return q
}

// reset makes q the keys of d in text of a family.
func (q *query) reset(l *Ledger, f family, d Destination) {
	q.clear(l, f)
	q.keysOf(d)
}

func (q *query) clear(l *Ledger, f family) {
	q.scan.keys, q.pairFacts = &l.keys[f], pairFacts(f)
	q.any, q.words, q.pairs, q.part = q.any[:0], q.words[:0], q.pairs[:0], q.part[:0]
	q.asIs.words, q.asIs.pairs = q.asIs.words[:0], q.asIs.pairs[:0]
	q.whole, q.short = q.whole[:0], true
}

func (q *query) keysOf(d Destination) {
	switch p := &d.parts; d.Kind {
	case Email:
		q.mailbox(p)
	case URL, Host:
		q.place(p)
		if _, key := hostKey(taintName(p.host), ""); d.Kind == Host && p.port == "" && key == taintName(p.host) {
			q.any = append(q.any, q.scan.keys[factMailDomain].sip([]byte(key))) // everybody there
		}
	default:
		q.plainText(d.Canonical)
		if p.code { // files and fields look like hosts; what is one is a destination of its own
			q.any, q.whole, q.short = q.any[:0], q.whole[:0], len(q.words) < minCopied
		}
	}
}

// fact takes what the scanner finds in plain text.
func (q *query) fact(k kind, h uint64) {
	switch k {
	case factWord:
		q.words = append(q.words, h)
	case factPair:
		q.pairs = append(q.pairs, h)
	case factMailDomain:
		q.part = append(q.part, h)
	default:
		q.any = append(q.any, h)
	}
}

func (q *query) mailbox(p *parts) {
	host := taintName(p.host)
	q.scan.address([]byte(Fold(p.local)), host)
	k, key := hostKey(host, "")
	q.scan.emit(k, key)
	n := len(q.any) - 1
	q.part, q.any = append(q.part, q.any[n]), q.any[:n]
	q.scan.emit(factMailDomain, key)
	if tenantHosts[host] {
		return
	}
	if !strings.ContainsAny(p.local, "!%=") {
		return
	}
	for relay := range strings.FieldsFuncSeq(p.local, func(r rune) bool { return r == '!' || r == '%' || r == '=' }) {
		if strings.IndexByte(relay, '.') > 0 && len(relay) < len(p.local) {
			k, key := hostKey(taintName(strings.ToLower(relay)), "") // a!b@c and b%a@c go by a
			q.scan.emit(k, key)
			q.any = append(q.any, q.scan.keys[factMailDomain].sip([]byte(key)))
		}
	}
}

func (q *query) place(p *parts) {
	host := taintName(p.host)
	q.scan.emit(hostKey(host, p.segment()))
	if _, key := hostKey(host, ""); !tenantHosts[host] {
		q.scan.emit(factMailDomain, key)
	}
	if v4 := inner4(host); v4 != "" {
		q.scan.emit(factHost, v4)
	}
	if strings.IndexByte(host, '.') < 0 && !isIP(host) {
		q.scan.text(host) // an intranet name or bucket: a word in text
		q.short = false
	}
}

func (q *query) plainText(s string) {
	written := s
	if plain, ok := latinised(s); ok {
		q.scan.text(s)
		q.asIs.words, q.words = q.words, q.asIs.words
		q.asIs.pairs, q.pairs = q.pairs, q.asIs.pairs
		s = plain
	}
	q.scan.text(s)
	words, pairs := len(q.words), len(q.pairs)
	unfolded(s, q.scan.text) // for the addresses and hosts that it spells
	q.words, q.pairs = q.words[:words], q.pairs[:pairs]
	fold := Fold(s)
	account := accountLike(s)
	q.short = utf8.RuneCountInString(Fold(written)) < MinText && !account
	if account {
		for i := range len(fold) {
			if alnum(fold[i]) {
				q.whole = append(q.whole, fold[i])
			}
		}
	}
	if a, ok := numericIPv4(fold); ok {
		q.scan.emit(factHost, a.String()) // 3405803783 is an address to some
	}
}

// untrusted looks every key up. The lock must be held.
func (q *query) untrusted(l *Ledger) (id uint32, ok bool) {
	q.ahead(l)
	for _, h := range q.any {
		if id, ok := l.facts.get(h); ok {
			return id, true
		}
	}
	if q.short {
		return 0, false
	}
	if id, ok := q.sequence(l, q.words, q.pairs); ok {
		return id, true
	}
	if id, ok := q.sequence(l, q.asIs.words, q.asIs.pairs); ok {
		return id, true
	}
	return q.account(l)
}

// ahead has far memory answer for all keys at once.
func (q *query) ahead(l *Ledger) {
	q.touched += l.facts.facts.touch(q.any) + l.facts.facts.touch(q.part)
	if q.short {
		return
	}
	q.touched += l.facts.facts.touch(q.words) + l.facts.facts.touch(q.asIs.words)
	for _, pairs := range [][]uint64{q.pairs, q.asIs.pairs} {
		if q.pairFacts {
			q.touched += l.facts.facts.touch(pairs)
		} else {
			q.touched += l.facts.pairs.touch(pairs)
		}
	}
}

// sequence reports that all words were seen, each next to the next; there must be one. The
// evidence is that of the word seen last: before it the text cannot have stood anywhere.
func (q *query) sequence(l *Ledger, words, pairs []uint64) (id uint32, ok bool) {
	for _, h := range pairs {
		e, found := q.pair(l, h)
		if !found {
			return 0, false
		}
		id = max(id, e)
	}
	for _, h := range words {
		e, found := l.facts.get(h)
		if !found {
			return 0, false
		}
		id = max(id, e)
	}
	return id, len(words) > 0
}

// pair reports that a pair of words was seen; the sighting is known in some families.
func (q *query) pair(l *Ledger, h uint64) (id uint32, ok bool) {
	if q.pairFacts {
		return l.facts.get(h)
	}
	return 0, l.facts.pair(h)
}

// partial reports that a part of the destination was seen.
func (q *query) partial(l *Ledger) (id uint32, ok bool) {
	for _, h := range q.part {
		if id, ok := l.facts.get(h); ok {
			return id, true
		}
	}
	return 0, false
}
