package flow

import (
	"slices"
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

// secret records a value that must not leave.
func (o *observer) secret(s string) {
	letters, starts := lettersOf(nil, nil, appendFold(nil, s[:min(len(s), maxSecret)]))
	if len(starts)-1 < minSecret {
		return
	}
	o.within(outside)
	key := o.keys[factSecret]
	chunk := func(from, n int) {
		o.fact(factSecret, key.sip(letters[starts[from]:starts[from+n]]))
		if k := len(o.lengths); k == 0 || o.lengths[k-1] != n {
			o.lengths = append(o.lengths, n)
		}
	}
	n := len(starts) - 1
	if n <= 2*chunkSecret {
		chunk(0, n)
	}
	for from := 0; from+chunkSecret <= n && n > chunkSecret; from++ {
		chunk(from, chunkSecret)
	}
}

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
func (l *Ledger) Secret(text string) (Evidence, bool) {
	l.mu.RLock()
	lengths := make([]int, 0, len(l.secrets))
	for n := range l.secrets {
		lengths = append(lengths, n)
	}
	l.mu.RUnlock()
	if len(lengths) == 0 {
		return Evidence{}, false
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
	for _, size := range lengths {
		for from := 0; from+size <= n; from++ {
			if size < wordSecret && !(bounds[from] && bounds[from+size]) {
				continue
			}
			h := key.sip(letters[starts[from]:starts[from+size]])
			l.mu.RLock()
			id, ok := l.facts.get(h)
			var e Evidence
			if ok {
				e = l.evidence(id)
			}
			l.mu.RUnlock()
			if ok {
				return e, true
			}
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
			bounds[at] = apart
			at, apart = at+1, false
		} else {
			apart = true
		}
		i += size
	}
	bounds[n-1] = true
	return bounds
}
