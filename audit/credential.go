package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// RedactText replaces what can be recognised as a credential in a text: private keys,
// the keys and tokens of well-known services, bearer tokens, JSON web tokens, passwords
// in URLs and connection strings, card numbers. A marker says what stood there. It takes
// linear time. The log passes every text through it; logs on standard error and texts for
// an agent are meant to pass through it too. Other text comes back as it is.
//
// Credentials are found as they are and spelled with JSON escapes or percent-encoding, up
// to three deep. A secret without a form of its own (a plain password in a sentence) is
// not recognised.
func RedactText(s string) string {
	if len(s) < minCredential {
		return s
	}
	f := finders.Get().(*finder)
	defer f.release()
	hits := f.find(s)
	if len(hits) == 0 {
		return s
	}
	var b strings.Builder
	at := 0
	for _, h := range hits {
		b.WriteString(s[at:h.from])
		b.WriteString(h.marker())
		at = h.to
	}
	b.WriteString(s[at:])
	return b.String()
}

// minCredential is the length in bytes of the shortest text in which one is recognised.
const minCredential = 7

// hit is a stretch of a text that is a credential.
type hit struct {
	from, to int
	what     string
}

func (h *hit) marker() string { return "[redacted " + h.what + "]" }

// finder finds credentials in texts. It is kept to be used again.
type finder struct {
	text  string
	hits  []hit
	done  int                 // no hit begins before this
	runs  [numClasses]stretch // the last run of each class that was measured
	plain [2]plainText
}

// find returns the credentials in text in order, without overlaps, valid until the next
// call.
func (f *finder) find(text string) []hit {
	f.hits = f.hits[:0]
	if len(text) < minCredential {
		return nil
	}
	f.scan(text)
	// What is spelled with escapes is looked at as it reads, and each hit taken back to
	// where it stands.
	src, found := text, len(f.hits)
	for level := range maxSpellings {
		p := &f.plain[level%2]
		if !p.read(src, f.plain[1-level%2].at, level > 0) {
			break
		}
		src = p.string()
		own := len(f.hits)
		f.scan(src)
		for i := own; i < len(f.hits); i++ {
			h := &f.hits[i]
			h.from, h.to = p.at[h.from], p.at[h.to]
		}
	}
	if len(f.hits) > found {
		f.merge()
	}
	f.text = ""
	return f.hits
}

// merge puts hits of several readings in order and joins those that overlap.
func (f *finder) merge() {
	slices.SortStableFunc(f.hits, func(a, b hit) int { return cmp.Compare(a.from, b.from) })
	n := 0
	for _, h := range f.hits {
		if n > 0 && h.from < f.hits[n-1].to {
			f.hits[n-1].to = max(f.hits[n-1].to, h.to)
			continue
		}
		f.hits[n] = h
		n++
	}
	f.hits = f.hits[:n]
}

// scan adds the credentials that stand in text as they are. Two bytes are looked at at a
// time: only where a credential can begin is more read.
func (f *finder) scan(text string) {
	f.text, f.done, f.runs = text, 0, [numClasses]stretch{}
	for i := 0; i+1 < len(text); i++ {
		group := groupOf[uint16(text[i])<<8|uint16(text[i+1])]
		if group == 0 {
			continue
		}
		for _, k := range groups[group] {
			if h := k.find(f, i); h.to > h.from && h.from >= f.done {
				f.hits = append(f.hits, h)
				f.done = h.to
				i = max(i, h.to-1)
				break
			}
		}
	}
}

// kind is one sort of credential, and the two bytes at which it is looked for.
type kind struct {
	triggers []string
	find     func(f *finder, i int) hit
}

// groupOf says which kinds are looked for at two bytes: an index of groups, 0 for none.
var groupOf, groups = func() (of [1 << 16]uint8, all [][]kind) {
	all = [][]kind{nil}
	byTrigger := map[uint16][]int{}
	for i, k := range kindsOfCredentials {
		for _, t := range k.triggers {
			key := uint16(t[0])<<8 | uint16(t[1])
			byTrigger[key] = append(byTrigger[key], i)
		}
	}
	known := map[string]uint8{}
	for key, kinds := range byTrigger {
		name := fmt.Sprint(kinds)
		if known[name] == 0 {
			known[name] = uint8(len(all)) // far fewer than 256: a test looks for each shape
			var group []kind
			for _, i := range kinds {
				group = append(group, kindsOfCredentials[i])
			}
			all = append(all, group)
		}
		of[key] = known[name]
	}
	return of, all
}()

type stretch struct{ from, to int }

// run returns where the run of characters of a class ends that begins at i. One run is
// measured once, however often it is asked for: that keeps the time linear.
func (f *finder) run(i int, c class) int {
	r := &f.runs[c]
	if i >= r.from && i < r.to {
		return r.to
	}
	end := i
	for end < len(f.text) && chars[f.text[end]]&(1<<c) != 0 {
		end++
	}
	*r = stretch{i, end}
	return end
}

// begins reports whether a token can begin at i: it stands at no word's end.
func (f *finder) begins(i int) bool { return i == 0 || !is(f.text[i-1], inWord) }

// cutShort reports whether the text at i says that a value was cut there.
func (f *finder) cutShort(i int) bool { return strings.HasPrefix(f.text[i:], "…(+") }

// class is a class of characters.
type class uint8

const (
	inWord   class = iota // letters and digits
	inToken               // and _ -
	inBase64              // and + / = . _ ~ -
	inValue               // what a value without quotes can hold
	inDigits
	numClasses
)

func is(b byte, c class) bool { return chars[b]&(1<<c) != 0 }

var chars = func() (t [256]uint8) {
	for c := range 256 {
		b := byte(c)
		digit := b >= '0' && b <= '9'
		word := digit || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
		for class, in := range [numClasses]bool{
			inWord:   word,
			inToken:  word || b == '_' || b == '-',
			inBase64: word || strings.IndexByte("+/=._~-", b) >= 0,
			inValue:  b > ' ' && b != 0x7f && strings.IndexByte(";&\"'`<>,(){}[]|\\", b) < 0,
			inDigits: digit,
		} {
			if in {
				t[c] |= 1 << class
			}
		}
	}
	return t
}()
