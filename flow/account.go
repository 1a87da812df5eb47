package flow

import "bytes"

import "strings"

// accountLike reports text that may be an account, card or phone number or an opaque
// id: groups of ASCII letters and digits between spaces, "-", "." or "/", with at least
// three digits, or one group of capitals and digits. Such text is looked for without
// its separators, and however short it is, from four characters on.
func accountLike(s string) bool {
	digits, letters, small, groups := 0, 0, false, 1
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			digits++
		case alnum(c):
			letters++
			small = small || c >= 'a'
		case strings.IndexByte(" -./+()", c) >= 0:
			groups++
		default:
			return false
		}
	}
	if digits+letters < 4 || len(s) > maxAccount*2 {
		return false
	}
	return digits >= 3 || digits > 0 && letters > 0 && !small && groups == 1
}

const (
	maxAccount = 64 // letters and digits; an IBAN has at most 34
	minGroup   = 2  // characters of a group when a number is looked for in groups
	maxGroup   = 16
)

// account reports that the number was seen written in one piece, or in groups that
// are other than in the destination: a way to cut it exists in which each group was
// seen next to the one after it. That errs to taint where output is full of numbers.
func (q *query) account(l *Ledger) (id uint32, ok bool) {
	if id, ok := q.accountAs(l, q.whole); ok || len(q.whole) < shortAccount || len(bytes.Trim(q.whole, "0123456789")) > 0 {
		return id, ok
	}
	if bare, ok := bytes.CutPrefix(q.whole, []byte("00")); ok { // 0044 is dialled for +44
		return q.accountAs(l, bare)
	}
	return q.accountAs(l, append([]byte("00"), q.whole...))
}

func (q *query) accountAs(l *Ledger, whole []byte) (id uint32, ok bool) {
	n := len(whole)
	if n == 0 || n > maxAccount {
		return 0, false
	}
	if id, ok := l.facts.get(q.scan.keys[factWord].sip(whole)); ok {
		return id, true
	}
	// reach[i] holds the groups that end at i, and that a chain of seen pairs leads to.
	type group struct {
		from int
		word uint64
		id   uint32
	}
	var reach [maxAccount + 1][]group
	for from := 0; from+1 <= n; from++ {
		if from > 0 && len(reach[from]) == 0 {
			continue
		}
		for to := from + 1; to <= min(n, from+maxGroup); to++ {
			if to-from < minGroup && to < n || to == n && from == 0 {
				continue
			}
			word := q.scan.keys[factWord].sip(whole[from:to])
			e, seen := l.facts.get(word)
			switch {
			case !seen:
			case from == 0:
				reach[to] = append(reach[to], group{from, word, e})
			default:
				for _, g := range reach[from] {
					if e2, seen := q.pair(l, q.scan.keys[factPair].pair(g.word, word)); seen {
						reach[to] = append(reach[to], group{from, word, max(e, e2, g.id)})
						break
					}
				}
			}
		}
	}
	for _, g := range reach[n] {
		return g.id, true
	}
	return 0, false
}
