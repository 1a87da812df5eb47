package flow

import (
	"strings"
	"unicode/utf8"
)

// MinText is the number of characters below which plain text is never Untrusted:
// short words are in every output. Hosts, addresses and account numbers are looked
// for however short.
const MinText = 6

// Finding is what a ledger knows of one destination.
type Finding struct {
	Origin   Origin     // Malformed, Untrusted, Unknown or Typed
	Evidence []Evidence // where it was first seen; for Unknown, a part of it; for Typed, the prompt's number as place
}

// Lookup says what is known of d. Taint matches any of d's keys; what the user typed
// must be d's whole canonical form, and wins over taint.
func (l *Ledger) Lookup(d Destination) Finding {
	if !d.parts.read {
		d = reread(d)
	}
	if d.Malformed != "" {
		return Finding{Origin: Malformed}
	}
	q := l.queries.Get().(*query)
	defer l.queries.Put(q)
	q.reset(d)
	l.mu.RLock()
	defer l.mu.RUnlock()
	if f, ok := l.lookupTyped(d); ok {
		return f
	}
	if id, ok := q.untrusted(l); ok {
		return Finding{Untrusted, []Evidence{l.evidence(id)}}
	}
	if id, ok := q.partial(l); ok {
		e := l.evidence(id)
		e.Partial = true
		return Finding{Unknown, []Evidence{e}}
	}
	return Finding{Origin: Unknown}
}

// A query is the keys of one destination.
type query struct {
	scan  scanner
	any   []uint64 // one of them seen is enough
	words []uint64
	pairs []uint64
	whole []byte // account: letters and digits without what separates them
	part  []uint64
	short bool // too short for text: words do not count
}

func newQuery(l *Ledger) *query {
	q := &query{}
	q.scan.keys, q.scan.take = &l.keys, q.fact
	return q
}

func (q *query) reset(d Destination) {
	q.any, q.words, q.pairs, q.part = q.any[:0], q.words[:0], q.pairs[:0], q.part[:0]
	q.whole, q.short = q.whole[:0], true
	switch p := &d.parts; d.Kind {
	case Email:
		q.mailbox(p)
	case URL, Host:
		q.place(p)
	default:
		q.plainText(d.Canonical)
	}
}

// fact takes what the scanner finds in plain text.
func (q *query) fact(k kind, h uint64) {
	switch k {
	case factWord:
		q.words = append(q.words, h)
	case factPair:
		q.pairs = append(q.pairs, h)
	default:
		q.any = append(q.any, h)
	}
}

func (q *query) mailbox(p *parts) {
	host := taintName(p.host)
	q.scan.address([]byte(Fold(p.local)), host)
	q.scan.emit(hostKey(host, ""))
	n := len(q.any) - 1
	q.part, q.any = append(q.part, q.any[n]), q.any[:n]
	if tenantHosts[host] {
		return
	}
	for relay := range strings.FieldsFuncSeq(p.local, func(r rune) bool { return r == '!' || r == '%' }) {
		if strings.IndexByte(relay, '.') > 0 && len(relay) < len(p.local) {
			q.scan.emit(hostKey(taintName(strings.ToLower(relay)), "")) // a!b@c and b%a@c go by a
		}
	}
}

func (q *query) place(p *parts) {
	host := taintName(p.host)
	q.scan.emit(hostKey(host, p.segment()))
	if strings.IndexByte(host, '.') < 0 && !isIP(host) {
		q.scan.text(host) // an intranet name or bucket: a word in text
		q.short = false
	}
}

func (q *query) plainText(s string) {
	q.scan.text(s)
	fold := Fold(s)
	account := accountLike(s)
	q.short = utf8.RuneCountInString(fold) < MinText && !account
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
	for _, h := range q.any {
		if id, ok := l.facts.get(h); ok {
			return id, true
		}
	}
	if q.short {
		return 0, false
	}
	if id, ok := q.sequence(l); ok {
		return id, true
	}
	return q.account(l)
}

// sequence reports that all words were seen, each next to the next. The evidence is
// that of the word seen last: before it the text cannot have stood anywhere.
func (q *query) sequence(l *Ledger) (id uint32, ok bool) {
	for _, h := range q.pairs {
		if !l.facts.pair(h) {
			return 0, false
		}
	}
	for _, h := range q.words {
		e, found := l.facts.get(h)
		if !found {
			return 0, false
		}
		id = max(id, e)
	}
	return id, len(q.words) > 0
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
