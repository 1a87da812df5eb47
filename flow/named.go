package flow

import "strings"

// Named records what a call that runs gives in its arguments and no output has shown: the
// agent has it from the user or from what it knows, so that being read back later does
// not make it untrusted. It stays Unknown. Call it before the call runs. It is safe for
// concurrent use.
func (l *Ledger) Named(ds []Destination) {
	if len(ds) == 0 {
		return
	}
	q := l.queries.Get().(*query)
	defer l.queries.Put(q)
	b := &batch{holds: holdsNamed}
	l.mu.RLock()
	for _, d := range ds {
		if d.Malformed != "" || l.damage != nil {
			continue
		}
		q.reset(l, outside, d)
		if _, tainted := q.untrusted(l); tainted {
			continue
		}
		if h := l.exactKey(factNamed, d, d.parts.sigil); !l.facts.facts.has(h) {
			b.noted = append(b.noted, h)
		}
	}
	l.mu.RUnlock()
	if len(b.noted) > 0 {
		l.merge(b)
		l.tellLater(b.noted)
	}
}

// named reports that the agent named d before any output showed it. The lock must be held.
func (l *Ledger) named(d Destination) bool {
	return l.facts.holds&holdsNamed != 0 && l.facts.facts.has(l.exactKey(factNamed, d, d.parts.sigil))
}

// serverOwn reports that d stands where an id of the server's belongs, and that this
// server gave it for one. The lock must be held.
func (l *Ledger) serverOwn(d Destination) bool {
	return d.Kind == Text && d.Upstream != "" && idName(lastName(d.Place)) && l.facts.facts.has(l.ownID(d.Upstream, d.Canonical))
}

// IsOwnID reports that s, at a place of a call to upstream that is named like an id, is one
// that this server gave. It is safe for concurrent use.
func (l *Ledger) IsOwnID(upstream, place, s string) bool {
	if !idName(lastName(place)) || !idText(s) {
		return false
	}
	d := parseText(trimSpace(s))
	d.Place, d.Upstream = place, upstream
	l.mu.RLock()
	defer l.mu.RUnlock()
	return d.Malformed == "" && l.serverOwn(d)
}

// ownID is the fact that a server gave a value for an id of its own.
func (l *Ledger) ownID(upstream, id string) uint64 {
	b := make([]byte, 0, 128)
	b = append(append(b, upstream...), 0)
	return l.keys[outside][factOwnID].sip(append(b, id...))
}

// idName reports the name of a field or parameter that holds an opaque id of its server's:
// message_id, issueKey, thread_ts. Account and telephone numbers are called otherwise.
func idName(name string) bool {
	n := len(name)
	if n < 2 || n > 64 {
		return false
	}
	switch [2]byte{name[n-2] | 0x20, name[n-1] | 0x20} { // most names end in none of them
	case [2]byte{'i', 'd'}, [2]byte{'d', 's'}, [2]byte{'t', 's'}, [2]byte{'h', 'a'}, [2]byte{'e', 'f'}, [2]byte{'e', 'y'}, [2]byte{'y', 's'}:
	default:
		return false
	}
	last, words := "", 0
	for w := range nameParts(name) {
		last = w
		words++
	}
	return idWords[last] && !(last == "key" && (words == 1 || strings.Contains(strings.ToLower(name), "api")))
}

var idWords = set("id", "ids", "uuid", "uuids", "guid", "ts", "sha", "ref", "key", "keys")

// inDocument reports that the observer stands in what the server itself put together: the
// structured content or, without one, the first text if that is JSON. JSON that is a text
// in there, or a later one, may be a message that somebody wrote to look like it.
func (o *observer) inDocument() bool {
	texts := 0
	for i, h := range o.path {
		if h.kind != hopJSON {
			continue
		}
		texts++
		if i != 3 || o.structured || o.path[0].name != "content" || o.path[1].pos != 0 || o.path[2].name != "text" {
			return false
		}
	}
	return texts <= 1
}

// serverID records the id that the observer stands at, if the field's name says that it is
// one and the value can be one.
func (o *observer) serverID(s string) {
	n := len(o.path)
	if n > 1 && o.path[n-1].kind == hopElement {
		n--
	}
	if n == 0 || o.path[n-1].kind != hopMember || !o.idName(&o.path[n-1]) || !o.inDocument() || !idText(s) {
		return
	}
	if d := parseText(trimSpace(s)); d.Malformed == "" {
		o.fact(factOwnID, o.ledger.ownID(o.info.upstream, d.Canonical))
	}
}
