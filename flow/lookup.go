package flow

import "strings"

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
	if id, ok := l.partly(q, d); ok {
		e := l.evidence(id)
		e.Partial = true
		return Finding{Origin: Unknown, Evidence: []Evidence{e}}, asNothing
	}
	return Finding{Origin: Unknown}, asNothing
}

// partly reports that the domain of d was seen: in text from outside, of people inside, or of
// a page that the user named. The lock must be held.
func (l *Ledger) partly(q *query, d Destination) (id uint32, ok bool) {
	if id, ok = q.partial(l); ok || d.Kind == Text {
		return id, ok
	}
	for _, of := range [...]struct {
		holds  holding
		family family
	}{{holdsInside, inside}, {holdsEndorsed, endorsed}} {
		if l.facts.holds&of.holds == 0 {
			continue
		}
		q.reset(l, of.family, d)
		q.part = append(q.part, q.any...)
		if at, found := q.partial(l); found && (!ok || at < id) {
			id, ok = at, true
		}
	}
	return id, ok
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
