package flow

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Carried is a reference in the content of a call for which nobody answers.
type Carried struct {
	Text     string   // in canonical form; hostile; "" when only its source is known
	Origin   Origin   // Untrusted; Inside on a page that the user named; Unknown
	Evidence Evidence // where it was first seen, if it was
	More     bool     // stands for others that are not listed; the rest is then empty
}

// maxCarried bounds what one content reports.
const maxCarried = 8

// Carried finds the links, addresses and accounts in text that were seen in output from
// outside or on an endorsed page, and the links that were never seen: a link that an
// agent makes up can carry data in its path or query. What is known from elsewhere is
// passed over. It returns at most nine; none means that the text carries none. It is safe
// for concurrent use.
//
// trusted says which destinations may stand anywhere; nil: none.
func (l *Ledger) Carried(text string, trusted func(Destination) bool) []Carried {
	c := carrier{l: l, full: l.Full(), trusted: trusted, excused: map[uint64]bool{}, seen: map[string]bool{}, reported: map[string]bool{}}
	c.scan(text)
	unfolded(text, c.scan)
	for i, explain := range []func(string){c.tokens, c.pieces} {
		if i > 0 && c.explained() {
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
	found := append(c.found, c.unknown...)
	if len(found) > maxCarried {
		found, c.more = found[:maxCarried], true
	}
	if c.more {
		found = append(found, Carried{More: true})
	}
	return found
}

// A carrier looks through one content.
type carrier struct {
	l        *Ledger
	trusted  func(Destination) bool
	hits     []hit           // facts of addresses and hosts that outside text shows
	excused  map[uint64]bool // facts of references that come from elsewhere, or are reported
	seen     map[string]bool // words that were looked at
	reported map[string]bool
	found    []Carried
	unknown  []Carried
	more     bool // not all was looked at
	full     bool // the ledger does not know what it has not seen
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
		if !strings.ContainsAny(strings.TrimRight(f, ".:"), "@.:/") {
			continue // a word, at the end of a sentence or not
		}
		for _, t := range typedTokens(f) {
			if t = strings.TrimRight(t, ".,;:!?'\""); t == "" || c.seen[t] || hostileText(t) != "" {
				continue
			}
			c.seen[t] = true
			for _, d := range parseList(t) {
				c.reference(d)
			}
			c.glued(t)
		}
	}
}

// glued looks up the links in a token that stand behind something else: an attribute
// without quotes, a name and a colon, another script.
func (c *carrier) glued(t string) {
	if strings.ContainsAny(t, "()[]<>{}\"'`|,;") {
		return // its parts are looked at
	}
	for from := 0; ; {
		i := strings.Index(t[from:], "//")
		if i < 0 {
			break
		}
		start := from + i
		from = start + 2
		if start > 0 && t[start-1] == ':' {
			end := start - 1
			for start = end; start > 0 && (alnum(t[start-1]) || t[start-1] == '+'); start-- {
			}
			if s := strings.ToLower(t[start:end]); webSchemes[s] == "" {
				for _, known := range []string{"https", "http", "wss", "ws", "ftp"} {
					if strings.HasSuffix(s, known) {
						start = end - len(known)
						break
					}
				}
			}
		} else if start == 0 || strings.IndexByte("=:", t[start-1]) < 0 {
			continue
		}
		c.behind(t, start)
	}
	if i := strings.IndexByte(t, '='); i > 0 && !strings.ContainsAny(t[:i], "/.@") {
		c.behind(t, i+1)
	}
}

// behind looks up what stands from start on in a token, if that is no more than before.
func (c *carrier) behind(t string, start int) {
	if s := t[start:]; start > 0 && s != "" && !c.seen[s] {
		c.seen[s] = true
		for _, d := range wholly(s) {
			c.reference(d)
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

// reference reports d if nobody answers for it, and excuses its facts. What may be the
// name of a file or of code is no host.
func (c *carrier) reference(d Destination) {
	if d.Malformed != "" || d.Kind == Text {
		return
	}
	f := c.l.Lookup(d)
	h := d.parts.host
	file := d.Kind == Host && !isIP(h) && d.parts.port == "" && h != "localhost" && (!knownTop(h) || fileName(h))
	switch {
	case file, c.trusted != nil && c.trusted(d):
	case f.Origin == Untrusted, f.Endorsed, f.Origin == Unknown && c.full:
		c.report(d, f)
	case f.Origin == Unknown && d.Kind != Email && !looksLikeCode(d) && leads(d.Raw):
		c.report(d, f)
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

// looksLikeCode reports what has the form of a host and is more likely a member of something
// (user.name), the seam of two sentences (end.Next), or a range of addresses (10.0.0.0/8).
func looksLikeCode(d Destination) bool {
	h := d.parts.host
	if d.Kind == Host {
		return d.parts.port == "" && !strings.HasPrefix(h, "www.") && wordTops[h[strings.LastIndexByte(h, '.')+1:]]
	}
	bits, isRange := strings.CutPrefix(d.parts.path, "/")
	return isIP(h) && isRange && d.parts.scheme == "" && !strings.HasPrefix(d.Raw, "//") && len(bits) > 0 && len(bits) <= 3 && strings.Trim(bits, "0123456789") == ""
}

// wordTops are top-level domains that are words of prose and names in code.
var wordTops = set("am", "as", "at", "be", "by", "do", "id", "in", "is", "it", "me", "my", "no", "so", "to", "us",
	"audio", "author", "bar", "bio", "book", "box", "build", "call", "case", "cat", "center", "channel", "chat", "click", "codes", "color", "date", "day",
	"direct", "email", "events", "fail", "final", "foo", "group", "guide", "help", "home", "host", "how", "int", "internal", "lambda", "like", "link", "live", "local", "map",
	"media", "menu", "mobile", "name", "network", "new", "next", "now", "one", "open", "page", "parts", "photo", "pin", "place", "play", "plus", "post", "prod", "property",
	"read", "report", "rest", "room", "run", "save", "search", "secure", "security", "select", "services", "show", "social", "space", "stream", "style",
	"support", "surf", "target", "team", "tel", "tools", "total", "video", "vote", "watch", "weather", "win", "work", "works", "you", "zero", "zone")

// leads reports a token that readers and programs take for a link.
func leads(t string) bool {
	return slices.ContainsFunc(wholly(t), func(d Destination) bool {
		return d.Malformed == "" && (d.Kind == URL || d.Kind == Host && !isIP(d.parts.host) && d.parts.port == "")
	})
}

func (c *carrier) report(d Destination, f Finding) {
	key := string(rune(d.Kind)) + d.Canonical
	list := &c.found
	if f.Origin == Unknown {
		list = &c.unknown
	}
	switch {
	case c.reported[key]:
		return
	case len(*list) == maxCarried:
		c.more = true
		return
	}
	c.reported[key] = true
	r := Carried{Text: d.Canonical, Origin: f.Origin}
	if len(f.Evidence) > 0 {
		r.Evidence = f.Evidence[0]
	}
	*list = append(*list, r)
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
			c.found = append(c.found, Carried{Origin: Untrusted, Evidence: e})
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
			first, begun = r.first, c.l.beginsSeen(r) || c.l.dialled(r)
		}
		c.l.mu.RUnlock()
		if !seen && !begun && !c.full {
			return false, true
		}
		if looked++; looked > maxLooked {
			c.more = true
			return false, false
		}
		d := parseText(r.String())
		f := c.l.Lookup(d)
		if (f.Origin == Untrusted || f.Origin == Unknown && c.full) && !c.seen[r.letter] && (c.trusted == nil || !c.trusted(d)) {
			c.seen[r.letter] = true
			c.report(d, f)
		}
		return f.Origin != Unknown, !c.more
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

// dialled reports that some output shows how a number begins that is written +44 or 0044.
// The lock must be held.
func (l *Ledger) dialled(r run) bool {
	if strings.HasPrefix(r.letter, "00") {
		return true
	}
	for n := 1; n <= len(r.letter) && digit(r.letter[n-1]); n++ {
		if (n <= 3 || n == len(r.letter)) && l.has(l.keys[outside][factWord].sip([]byte("00"+r.letter[:n]))) {
			return true
		}
	}
	return false
}

func (l *Ledger) has(h uint64) bool {
	_, ok := l.facts.get(h)
	return ok
}
