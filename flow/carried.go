package flow

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Carried is a reference in the content of a call that text from outside shows.
type Carried struct {
	Text     string // in canonical form; hostile; "" when only its source is known
	Evidence Evidence
}

// maxCarried bounds what one content reports.
const maxCarried = 8

// Carried finds the links, addresses and accounts in text that were seen in output from
// outside, and of which nothing better is known. It returns at most a few; none means
// that the text carries none. It is safe for concurrent use.
func (l *Ledger) Carried(text string) []Carried {
	c := carrier{l: l, excused: map[uint64]bool{}, seen: map[string]bool{}, reported: map[string]bool{}}
	c.scan(text)
	unfolded(text, c.scan)
	for _, explain := range []func(string){c.tokens, c.pieces} {
		if c.explained() {
			break
		}
		explain(text)
		unfolded(text, explain)
	}
	c.accounts(text)
	if !plainASCII(text) {
		c.accounts(Fold(text))
	}
	c.unexplained()
	if c.more && len(c.found) == 0 {
		c.found = append(c.found, Carried{})
	}
	return c.found
}

// A carrier looks through one content.
type carrier struct {
	l        *Ledger
	hits     []hit           // facts of addresses and hosts that outside text shows
	excused  map[uint64]bool // facts of references that come from elsewhere, or are reported
	seen     map[string]bool // words that were looked at
	reported map[string]bool
	found    []Carried
	more     bool // not all was looked at
}

type hit struct {
	fact     uint64
	evidence uint32
}

// scan collects the facts of text that outside text shows.
func (c *carrier) scan(text string) {
	q := c.l.queries.Get().(*query)
	defer c.l.queries.Put(q)
	q.clear(c.l, outside)
	q.scan.text(text)
	c.l.mu.RLock()
	defer c.l.mu.RUnlock()
	for _, h := range q.any {
		if id, ok := c.l.facts.get(h); ok {
			c.hits = append(c.hits, hit{h, id})
		}
	}
}

// explained reports that every hit is of a reference that was looked up.
func (c *carrier) explained() bool {
	return !slices.ContainsFunc(c.hits, func(h hit) bool { return !c.excused[h.fact] })
}

// tokens looks every reference in text up that stands as a word of its own: what outside
// text shows is reported, what is known from elsewhere excuses its facts.
func (c *carrier) tokens(text string) {
	for f := range strings.FieldsSeq(text) {
		if !strings.ContainsAny(f, "@.:/") {
			continue
		}
		for _, t := range typedTokens(f) {
			if c.seen[t] || hostileText(t) != "" {
				continue
			}
			c.seen[t] = true
			for _, d := range parseList(t) {
				c.reference(d)
			}
		}
	}
}

// pieces looks up what is glued to other things: href=https://x.example, key:x.example.
func (c *carrier) pieces(text string) {
	for f := range strings.FieldsFuncSeq(text, func(r rune) bool { return r < utf8.RuneSelf && !alnum(byte(r)) && !inner(byte(r)) }) {
		f = strings.Trim(f, ".-_+")
		if strings.IndexByte(f, '.') < 0 || c.seen[f] || hostileText(f) != "" {
			continue
		}
		c.seen[f] = true
		c.reference(parseOne(f))
	}
}

// reference reports d if only outside text shows it, and excuses its facts. What may be a
// file's name is no host.
func (c *carrier) reference(d Destination) {
	if d.Malformed != "" || d.Kind == Text {
		return
	}
	h := d.parts.host
	file := d.Kind == Host && !isIP(h) && d.parts.port == "" && h != "localhost" && (!knownTop(h) || fileName(h))
	if !file {
		if f := c.l.Lookup(d); f.Origin == Untrusted {
			c.report(d, f)
		}
	}
	q := c.l.queries.Get().(*query)
	q.reset(c.l, outside, d)
	for _, h := range q.any {
		c.excused[h] = true
	}
	for _, h := range q.part {
		c.excused[h] = true
	}
	c.l.queries.Put(q)
}

func (c *carrier) report(d Destination, f Finding) {
	if key := string(rune(d.Kind)) + d.Canonical; !c.reported[key] && len(c.found) < maxCarried && len(f.Evidence) > 0 {
		c.reported[key] = true
		c.found = append(c.found, Carried{d.Canonical, f.Evidence[0]})
	}
}

// unexplained reports a source of which the reference could not be cut out.
func (c *carrier) unexplained() {
	if len(c.found) > 0 {
		return
	}
	for _, h := range c.hits {
		if !c.excused[h.fact] {
			c.l.mu.RLock()
			e := c.l.evidence(h.evidence)
			c.l.mu.RUnlock()
			c.found = append(c.found, Carried{"", e})
			return
		}
	}
}

// maxLooked bounds the accounts of one content that are looked up, beside those of which
// it is plain that nothing was seen; a content with more counts as carrying one.
const maxLooked = 20_000

// accounts looks up what has the form of an account. A number that is known in another
// spelling is known.
func (c *carrier) accounts(text string) {
	looked, first, begun := 0, -1, false
	key := c.l.keys[outside][factWord]
	accountsIn(text, func(r run) (known, more bool) {
		c.l.mu.RLock()
		seen := c.l.has(key.sip([]byte(r.letter)))
		if !seen && r.first != first {
			first, begun = r.first, c.l.beginsSeen(r)
		}
		c.l.mu.RUnlock()
		if !seen && !begun {
			return false, true
		}
		if looked++; looked > maxLooked {
			c.more = true
			return false, false
		}
		d := parseText(r.String())
		f := c.l.Lookup(d)
		if f.Origin == Untrusted && !c.seen[r.letter] {
			c.seen[r.letter] = true
			c.report(d, f)
		}
		return f.Origin != Unknown, len(c.found) < maxCarried
	})
}

// beginsSeen reports that some output shows a word that the run starts with, without
// which it can stand nowhere in groups. The lock must be held.
func (l *Ledger) beginsSeen(r run) bool {
	for n := minGroup; n <= min(maxGroup, len(r.letter)); n++ {
		if l.has(l.keys[outside][factWord].sip([]byte(r.letter[:n]))) {
			return true
		}
	}
	return len(r.groups[0]) < minGroup && l.has(l.keys[outside][factWord].sip([]byte(r.letter[:len(r.groups[0])])))
}

func (l *Ledger) has(h uint64) bool {
	_, ok := l.facts.get(h)
	return ok
}
