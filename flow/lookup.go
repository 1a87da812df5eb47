package flow

import (
	"strings"
	"unicode/utf8"
)

// MinText is the number of characters below which plain text is never Untrusted:
// short words are in every output. Hosts, addresses and account numbers are looked
// for however short.
const MinText = 6

// minCopied is how many words of a command must have been seen in a row for it to be
// Untrusted.
const minCopied = 5

// Finding is what a ledger knows of one destination.
type Finding struct {
	Origin   Origin     // any but Approved and Trusted, which the engine gives
	Evidence []Evidence // where it was first seen; for Unknown, a part of it; for Typed, the prompt's number as place
	Named    bool       // Unknown though output shows it: the agent named it before
	Site     bool       // Unknown though output shows it: the user named another page of its site
	Own      bool       // Unknown though output shows it: it is an id of the server's own
	Endorsed bool       // Inside only because the user named the page or file
}

// Lookup says what is known of d. The strongest origin wins. Taint matches any of d's
// keys; for everything else d's whole canonical form must have been seen.
func (l *Ledger) Lookup(d Destination) Finding {
	if !d.parts.read {
		d = reread(d)
	}
	if d.Malformed != "" {
		return Finding{Origin: Malformed}
	}
	q := l.queries.Get().(*query)
	defer l.queries.Put(q)
	q.reset(l, outside, d)
	l.mu.RLock()
	defer l.mu.RUnlock()
	if f, ok := l.lookupTyped(d); ok {
		return f
	}
	f, _ := l.shown(q, d)
	return f
}

// shown says what outputs make of d, and which label that is. The lock must be held.
func (l *Ledger) shown(q *query, d Destination) (Finding, standing) {
	most, since := l.mostOf(d)
	if id, ok := l.grantOf(holdsVouched, factVouched, d); ok && (most >= asVouched || id < since) {
		return Finding{Origin: Vouched, Evidence: []Evidence{l.evidence(id)}}, asVouched
	}
	if id, ok := l.grantOf(holdsParty, factParty, d); ok && (most >= asParty || id < since) {
		return Finding{Origin: Party, Evidence: []Evidence{l.evidence(id)}}, asParty
	}
	taint, tainted := q.untrusted(l)
	if l.facts.holds&(holdsInside|holdsEndorsed) != 0 && (most >= asInside || since > 1) {
		if f, id, ok := l.lookupInside(q, d); ok && (most >= asInside || id < since) {
			return f, asInside
		}
		q.reset(l, outside, d)
	}
	if id, ok := l.grantOf(holdsID, factID, d); ok && (most >= asID || id < since) {
		return Finding{Origin: Unknown, Evidence: []Evidence{l.evidence(id)}, Own: true}, asID
	}
	if tainted && l.named(d) {
		return Finding{Origin: Unknown, Evidence: []Evidence{l.evidence(taint)}, Named: true}, asNothing
	}
	if tainted && l.typedSite(d) {
		return Finding{Origin: Unknown, Evidence: []Evidence{l.evidence(taint)}, Site: true}, asNothing
	}
	if tainted && l.serverOwn(d) {
		return Finding{Origin: Unknown, Evidence: []Evidence{l.evidence(taint)}, Own: true}, asNothing
	}
	if tainted {
		return Finding{Origin: Untrusted, Evidence: []Evidence{l.evidence(taint)}}, asNothing
	}
	if id, ok := q.partial(l); ok {
		e := l.evidence(id)
		e.Partial = true
		return Finding{Origin: Unknown, Evidence: []Evidence{e}}, asNothing
	}
	return Finding{Origin: Unknown}, asNothing
}

// grantOf reports that d is, as a whole, a field with a label. The lock must be held.
func (l *Ledger) grantOf(holds holding, k kind, d Destination) (id uint32, ok bool) {
	if l.facts.holds&holds == 0 {
		return 0, false
	}
	for _, sigil := range d.sigils() {
		if id, ok := l.facts.get(l.exactKey(k, d, sigil)); ok {
			return id, true
		}
	}
	return 0, false
}

// lookupInside reports that d was first seen in text of people inside, or is seen in a
// page or file that the user named and nowhere outside. The lock must be held.
func (l *Ledger) lookupInside(q *query, d Destination) (f Finding, id uint32, ok bool) {
	here, ofInside := l.seenExactly(q, holdsInside, inside, d)
	page, ofPage := l.seenExactly(q, holdsEndorsed, endorsed, d)
	if !ofInside && !ofPage {
		return Finding{}, 0, false
	}
	first, shown := l.firstOutside(q, d)
	switch {
	case ofInside && (!shown || here < first):
		return Finding{Origin: Inside, Evidence: []Evidence{l.evidence(here)}}, here, true
	case ofPage && !shown:
		return Finding{Origin: Inside, Evidence: []Evidence{l.evidence(page)}, Endorsed: true}, page, true
	}
	return Finding{}, 0, false
}

// seenExactly reports that text of a family shows d as it stands. The lock must be held.
func (l *Ledger) seenExactly(q *query, holds holding, f family, d Destination) (id uint32, ok bool) {
	if l.facts.holds&holds == 0 {
		return 0, false
	}
	if d.Kind == Text {
		q.reset(l, f, d)
		return q.untrusted(l)
	}
	return l.facts.get(keyOf(l.keys[f][factExact], d, d.parts.sigil))
}

// firstOutside reports that text from outside shows d itself, whatever its disguise. The
// lock must be held.
func (l *Ledger) firstOutside(q *query, d Destination) (id uint32, ok bool) {
	q.reset(l, outside, d)
	if p := &d.parts; (d.Kind == URL || d.Kind == Host) && p.host != "" {
		host := taintName(p.host)
		q.any = q.any[:0]
		q.scan.emit(factPlace, p.placeKey())
		if !strings.Contains(host, ".") || isIP(host) {
			q.place(p) // it has no registered name: the host is all there is
		}
	}
	for _, h := range q.any {
		if e, found := l.facts.get(h); found && (!ok || e < id) {
			id, ok = e, true
		}
	}
	q.any = q.any[:0]
	if e, found := q.untrusted(l); found && (!ok || e < id) {
		id, ok = e, true
	}
	return id, ok
}

// placeKey is the place in the form in which text shows it.
func (p *parts) placeKey() string {
	return placeKey(taintName(p.host), pathBehind([]byte(Fold(p.path))))
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
	if id, ok := q.sequence(l); ok {
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
	q.touched += l.facts.facts.touch(q.words)
	if q.pairFacts {
		q.touched += l.facts.facts.touch(q.pairs)
	} else {
		q.touched += l.facts.pairs.touch(q.pairs)
	}
}

// sequence reports that all words were seen, each next to the next. The evidence is
// that of the word seen last: before it the text cannot have stood anywhere.
func (q *query) sequence(l *Ledger) (id uint32, ok bool) {
	for _, h := range q.pairs {
		e, found := q.pair(l, h)
		if !found {
			return 0, false
		}
		id = max(id, e)
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
