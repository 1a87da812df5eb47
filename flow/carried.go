package flow

import (
	"strings"
	"unicode"
)

// Carried is a reference in the content of a call for which nobody answers.
type Carried struct {
	Text     string   // as the content has it; hostile; "" when only its source is known
	Origin   Origin   // Untrusted; Inside on a page that the user named; Unknown
	Evidence Evidence // where it was first seen, if it was
}

// maxCarried bounds what one content reports.
const maxCarried = 8

// Carried finds the links, addresses and accounts in text that were seen in output from
// outside or on an endorsed page, and the links that were never seen: a link that an
// agent makes up can carry data in its path or query. What is known from elsewhere is
// passed over. It returns at most a few; none means that the text carries none. It is
// safe for concurrent use.
func (l *Ledger) Carried(text string) []Carried {
	c := carrier{l: l, excused: map[uint64]bool{}, seen: map[string]bool{}}
	c.scan(text)
	unfolded(text, c.scan)
	c.explain(text)
	unfolded(text, c.explain)
	c.accounts(text)
	c.unexplained()
	return c.found
}

// A carrier looks through one content.
type carrier struct {
	l       *Ledger
	hits    []hit           // facts of addresses and hosts that outside text shows
	excused map[uint64]bool // facts of references that come from elsewhere, or are reported
	seen    map[string]bool
	found   []Carried
}

type hit struct {
	fact, evidence uint64
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
		if id, ok := c.l.facts.get(h); ok && !c.excused[h] {
			c.hits = append(c.hits, hit{h, uint64(id)})
		}
	}
}

// explain looks every reference in text up: what outside text shows is reported, what is
// known from elsewhere excuses its facts.
func (c *carrier) explain(text string) {
	for f := range strings.FieldsSeq(text) {
		if !strings.ContainsAny(f, "@.:/") {
			continue
		}
		for _, t := range typedTokens(f) {
			if !c.seen[t] {
				c.seen[t] = true
				c.token(t)
			}
		}
	}
}

func (c *carrier) token(t string) {
	if hostileText(t) != "" {
		return
	}
	for _, d := range parseList(t) {
		if d.Malformed != "" || d.Kind == Text {
			continue
		}
		f := c.l.Lookup(d)
		switch {
		case f.Origin == Untrusted, f.Endorsed:
			c.report(t, f)
		case f.Origin == Unknown && d.Kind != Email && c.leads(t):
			c.report(t, f)
		}
		q := c.l.queries.Get().(*query)
		q.reset(c.l, outside, d)
		for _, h := range append(q.any, q.part...) {
			c.excused[h] = true
		}
		c.l.queries.Put(q)
	}
}

// leads reports a token that readers and programs take for a link: hosts that are also the
// names of files or of code are none.
func (c *carrier) leads(t string) bool {
	for _, d := range wholly(t) {
		if d.Malformed == "" && (d.Kind == URL || d.Kind == Host && !isIP(d.parts.host) && d.parts.port == "") {
			return true
		}
	}
	return false
}

func (c *carrier) report(text string, f Finding) {
	if len(c.found) >= maxCarried {
		return
	}
	r := Carried{Text: text, Origin: f.Origin}
	if len(f.Evidence) > 0 {
		r.Evidence = f.Evidence[0]
	}
	c.found = append(c.found, r)
}

// unexplained reports a source of which the reference could not be cut out.
func (c *carrier) unexplained() {
	if len(c.found) > 0 {
		return
	}
	for _, h := range c.hits {
		if !c.excused[h.fact] {
			c.l.mu.RLock()
			e := c.l.evidence(uint32(h.evidence))
			c.l.mu.RUnlock()
			c.found = append(c.found, Carried{"", Untrusted, e})
			return
		}
	}
}

// accounts looks up what has the form of an account: an IBAN, a card or telephone number,
// a wallet's address.
func (c *carrier) accounts(text string) {
	for _, a := range accountsIn(text) {
		d := parseText(a)
		if d.Malformed != "" || c.seen[a] {
			continue
		}
		c.seen[a] = true
		if f := c.l.Lookup(d); f.Origin == Untrusted {
			c.report(a, f)
		}
	}
}

const (
	maxAccounts  = 200 // in one content
	maxGroups    = 12  // of one number
	shortAccount = 9   // digits that make a number of one group or several an account
)

// accountsIn finds numbers that people and payments are reached by. Dates, times and
// amounts are none.
func accountsIn(text string) []string {
	var all []string
	words := strings.FieldsFunc(text, func(r rune) bool {
		return r != '-' && r != '.' && r != '/' && r != '+' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	for i := 0; i < len(words) && len(all) < maxAccounts; i++ {
		best := ""
		run := ""
		for n := 0; n < maxGroups && i+n < len(words); n++ {
			w := strings.Trim(words[i+n], "-./")
			if n > 0 && !groupOfNumber(w) {
				break
			}
			if run != "" {
				run += " "
			}
			if run += w; accountForm(run) {
				best = run
			}
		}
		if best != "" {
			all = append(all, best)
		}
	}
	return all
}

// groupOfNumber reports a word that can go on a number: four characters, digits or
// capitals as IBANs are printed.
func groupOfNumber(w string) bool {
	digits := 0
	for i := range len(w) {
		switch {
		case w[i] >= '0' && w[i] <= '9':
			digits++
		case w[i] >= 'A' && w[i] <= 'Z', w[i] >= 'a' && w[i] <= 'z':
		default:
			return false
		}
	}
	return digits == len(w) && len(w) > 0 && len(w) <= 6 || len(w) == 4
}

// accountForm reports the form of an IBAN (ISO 13616), of a wallet, or of a number of at
// least nine digits that is no date.
func accountForm(s string) bool {
	compact := strings.Map(func(r rune) rune {
		if r == ' ' || r == '-' || r == '.' || r == '/' {
			return -1
		}
		return r
	}, s)
	digits, letters := 0, 0
	plus := strings.HasPrefix(compact, "+")
	for _, r := range strings.TrimPrefix(compact, "+") {
		switch {
		case r >= '0' && r <= '9':
			digits++
		case r < 128 && unicode.IsLetter(r):
			letters++
		default:
			return false
		}
	}
	n := digits + letters
	switch {
	case letters == 0 && plus:
		return digits >= 7
	case letters == 0:
		return digits >= shortAccount && digits <= 24 && !dateLike(s)
	case n < 14 || n > 64:
		return false
	}
	iban := letter(compact[0]) && letter(compact[1]) && digit(compact[2]) && digit(compact[3]) && n <= 34 && digits >= 8
	wallet := strings.IndexByte(s, ' ') < 0 && n >= 26 && digits >= 4 && letters >= 4 && strings.IndexByte(s, '-') < 0 && strings.IndexByte(s, '/') < 0
	return iban || wallet
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func digit(c byte) bool  { return c >= '0' && c <= '9' }

// dateLike reports digits that start with a year and a month, as times and dates do.
func dateLike(s string) bool {
	groups := strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == '-' || r == '.' || r == '/' })
	for i, g := range groups {
		if len(g) == 4 && (strings.HasPrefix(g, "19") || strings.HasPrefix(g, "20")) && len(groups) > 1 && (i == 0 || i == 2) {
			return true
		}
	}
	return len(groups) == 1 && (len(s) == 12 || len(s) == 14) && strings.HasPrefix(s, "20") // 202611300945
}
