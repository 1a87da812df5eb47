package flow

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A secret is looked for by its letters and digits alone, whatever stands between them.
const (
	minSecret   = 4  // letters and digits; a shorter value is in every text
	wordSecret  = 8  // below it the secret must stand between word boundaries
	chunkSecret = 24 // longer secrets are also looked for in pieces of this many
	maxSecret   = 64 << 10
)

// secret records a value that must not leave. A number is one however it is written.
func (o *observer) secret(s string) {
	if n, ok := decimal(s); ok {
		o.secretText(n)
		if strings.Trim(s, "0123456789") != "" && o.number {
			return // 1810.0 is not 18100
		}
	}
	o.secretText(s)
}

func (o *observer) secretText(s string) {
	letters, starts := lettersOf(nil, nil, appendFold(nil, s[:min(len(s), maxSecret)]))
	if len(starts)-1 < minSecret {
		return
	}
	o.within(outside)
	key := o.keys[factSecret]
	chunk := func(from, n int) {
		o.fact(factSecret, key.sip(letters[starts[from]:starts[from+n]]))
		o.pieces = append(o.pieces, piece{n, start(key, letters[starts[from]:starts[from+minSecret]])})
	}
	n := len(starts) - 1
	if n <= 2*chunkSecret {
		chunk(0, n)
	}
	for from := 0; from+chunkSecret <= n && n > chunkSecret; from++ {
		chunk(from, chunkSecret)
	}
}

// piece is a secret, or a part of a long one: how many letters and digits it has, and
// which of the starts in [secretStarts] is its.
type piece struct {
	letters int
	start   uint16
}

// secretStarts are the first letters of all secrets, hashed, so that a text is looked up
// only where a secret may start.
type secretStarts [1 << 16 / 64]uint64

func start(key sipKey, first []byte) uint16 { return uint16(key.sip(first)) }

func (s *secretStarts) add(n uint16)      { s[n/64] |= 1 << (n % 64) }
func (s *secretStarts) has(n uint16) bool { return s[n/64]>>(n%64)&1 != 0 }

// lettersOf appends the letters and digits of folded text, and where each starts, with the
// end behind the last.
func lettersOf(letters []byte, starts []int, folded []byte) ([]byte, []int) {
	for i := 0; i < len(folded); {
		r, n := rune(folded[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRune(folded[i:])
		}
		if r < utf8.RuneSelf && alnum(byte(r)) || r >= utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsNumber(r)) {
			starts = append(starts, len(letters))
			letters = append(letters, folded[i:i+n]...)
		}
		i += n
	}
	return letters, append(starts, len(letters))
}

// Secret reports that text holds a value which a contract calls secret, its letters and
// digits in order whatever separates them, as it stands or in one of the disguises that
// output is searched for. Values of fewer than four letters and digits are not looked for.
// When a secret found no room in a full ledger, every text counts as holding it.
func (l *Ledger) Secret(text string) (Evidence, bool) {
	l.mu.RLock()
	lengths := make([]int, 0, len(l.secrets))
	for n := range l.secrets {
		lengths = append(lengths, n)
	}
	lost := l.lost
	l.mu.RUnlock()
	switch {
	case len(lengths) == 0 || text == "":
		return Evidence{}, false
	case lost != nil:
		return *lost, true
	}
	slices.Sort(lengths)
	e, found := l.secretIn(text, lengths)
	if !found {
		unfolded(text, func(s string) {
			if !found {
				e, found = l.secretIn(s, lengths)
			}
		})
	}
	return e, found
}

func (l *Ledger) secretIn(text string, lengths []int) (Evidence, bool) {
	folded := appendFold(nil, text)
	letters, starts := lettersOf(make([]byte, 0, len(folded)), make([]int, 0, len(folded)+1), folded)
	bounds := wordBounds(folded, len(starts))
	key := l.keys[outside][factSecret]
	n := len(starts) - 1
	for from := 0; from < n; from += lookBatch {
		l.mu.RLock()
		for i := from; i < min(n, from+lookBatch) && i+minSecret <= n; i++ {
			if !l.starts.has(start(key, letters[starts[i]:starts[i+minSecret]])) {
				continue
			}
			for _, size := range lengths {
				if i+size > n {
					break
				}
				if size < wordSecret && !(bounds[i] && bounds[i+size]) {
					continue
				}
				if id, ok := l.facts.get(key.sip(letters[starts[i]:starts[i+size]])); ok {
					e := l.evidence(id)
					l.mu.RUnlock()
					return e, true
				}
			}
		}
		l.mu.RUnlock()
	}
	return l.secretNumber(folded, lengths)
}

// lookBatch is how many letters are looked at while the lock is held: who records waits.
const lookBatch = 1024

// secretNumber looks for secrets among numbers that are written with commas and decimals.
func (l *Ledger) secretNumber(folded []byte, lengths []int) (Evidence, bool) {
	for f := range strings.FieldsFuncSeq(string(folded), func(r rune) bool { return r != ',' && r != '.' && (r < '0' || r > '9') }) {
		f = strings.Trim(f, ".,")
		if !strings.ContainsAny(f, ".,") {
			continue
		}
		n, ok := decimal(f)
		if !ok {
			continue
		}
		n = strings.ReplaceAll(n, ".", "")
		if !slices.Contains(lengths, len(n)) {
			continue
		}
		l.mu.RLock()
		id, ok := l.facts.get(l.keys[outside][factSecret].sip([]byte(n)))
		var e Evidence
		if ok {
			e = l.evidence(id)
		}
		l.mu.RUnlock()
		if ok {
			return e, true
		}
	}
	return Evidence{}, false
}

// wordBounds says before which letters, and behind the last, a word starts or ends.
func wordBounds(folded []byte, n int) []bool {
	bounds := make([]bool, n)
	at, apart := 0, true
	for i := 0; i < len(folded); {
		r, size := rune(folded[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(folded[i:])
		}
		if r < utf8.RuneSelf && alnum(byte(r)) || r >= utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsNumber(r)) {
			alone := r >= utf8.RuneSelf && widthOf(r) == wideAlone // written without spaces
			bounds[at] = apart || alone
			at, apart = at+1, alone
		} else {
			apart = true
		}
		i += size
	}
	bounds[n-1] = true
	return bounds
}
