package flow

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// readEach is read without skimming: each byte is looked at.
func (r *reader) readEach(s string) {
	for i := 0; i < len(s); {
		switch k := signs[s[i]]; {
		case k == sgnNone:
			i++
		case k&runByte != 0:
			i = r.run(s, i)
		case k == sgnWide:
			i = r.wide(s, i)
		default:
			i = r.other(k, s, i)
		}
	}
	for d := range disguises {
		r.close(d, s)
	}
}

// wrapEndSlowly is wrapEnd without a first look at what is short and plain.
func wrapEndSlowly(s string, i int) int {
	end := i
	if end > 0 && s[end-1] == '\r' {
		end--
	}
	start := end
	for start > 0 && end-start < maxHead && s[start-1] > ' ' {
		start--
	}
	return wrapsAt(s[start:end], s, i)
}

// sameReadings fails unless the fast ways come to what the plain ones do.
func sameReadings(t *testing.T, s string) {
	t.Helper()
	all := func(read func(*reader)) (found []string) {
		r := reader{use: func(u string) { found = append(found, u) }}
		for i := range r.budget {
			r.budget[i] = firstPerByte*len(s) + 1024
		}
		read(&r)
		return found
	}
	want, got := all(func(r *reader) { r.readEach(s) }), all(func(r *reader) { r.read(s) })
	if !slices.Equal(got, want) {
		t.Fatalf("%q read as %q, want %q", s, got, want)
	}
	for i, c := range []byte(s) {
		if c != '\n' && c != '\r' {
			continue
		}
		if got, want := wrapEnd(s, i), wrapEndSlowly(s, i); got != want {
			t.Fatalf("%q goes on after the line break at %d at %d, want %d", s, i, got, want)
		}
	}
	for _, word := range strings.FieldsFunc(s, func(r rune) bool { return r < utf8.RuneSelf && !alnum(byte(r)) }) {
		if f := Fold(word); keepsLetters(word) && plainWord(f) != f {
			t.Fatalf("%q becomes %q", f, plainWord(f))
		}
		for cut := range 4 {
			if got, want := someQuad(word, cut), quadsInARow(word, cut); want && !got {
				t.Fatalf("%q has quads of ASCII from %d on", word, cut)
			}
		}
	}
}

func quadsInARow(run string, cut int) bool {
	n := 0
	for i := cut; i+4 <= len(run) && n < minQuads; i += 4 {
		if n++; !asciiQuad(run[i:]) {
			n = 0
		}
	}
	return n == minQuads
}

// signPieces are what disguises are made of, and what stops them.
var signPieces = []string{
	"at", "dot", "hxxp", "hxxps://", "arroba", "punto", "punkt", "and", "do", "-at-", "_dot_", "+AEA-", "@", ".", "[", "]", "(", ")", "{", "}", "|", "*", "**",
	"<b>", "</b>", "<", ">", "<!-- x -->", "\"", "'", "`", "+", "-", "_", "\\", "\\n", `\u0040`, `\x40`, `\100`, `\40 `, "%40", "%u0040", "&", ";", "&amp;", "&#64;", "&commat;",
	"=", "=40", "=\n", "=3D", "id=6512", "=?utf-8?B?ZXZlQHguZXhhbXBsZQ==?=", "\n", "\r\n", "\r", " ", "  ", "\t", "> ", "x.example", "www.", "https://x.example/", ",", ":", "//",
	"e v e @ x . e x a m p l e", "ZXZlQGF0dGFja2VyLmV4YW1wbGU", "657665406174746163", strings.Repeat("a", 40), strings.Repeat("z/", 70),
	"é", "а", "о", "Д", "ж", "\u202e", "\u202c", "·", "–", "’", "…", "漢字", "，", "・", "ﬁ", "Ｅ", "\u200b", "\u0301", "𝐞", "🇪", "ß", "İ", "\xff", "\xc3", "\xe6\xbc", "\x00",
}

func mixedPieces(r *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		if r.IntN(3) > 0 {
			b.WriteString(signPieces[r.IntN(len(signPieces))])
		} else {
			b.WriteString(corpusWord(uint64(r.IntN(1 << 16))))
		}
		if r.IntN(2) == 0 {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// FuzzSkim: skimming finds what a look at each byte finds.
func FuzzSkim(f *testing.F) {
	for _, m := range []map[string]string{disguisedOutputs, disguisedHosts} {
		for _, s := range m {
			f.Add(s)
			f.Add(strings.Repeat("é ", 30) + s) // across blocks
		}
	}
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 300 {
		f.Add(mixedPieces(r, 1+i/4))
	}
	f.Fuzz(func(t *testing.T, s string) { sameReadings(t, s) })
}

// The same for output like that of tools.
func TestSkimCorpus(t *testing.T) {
	c := newCorpus()
	for _, text := range []string{corpusProse(64<<10, true), c.rows(64 << 10), c.html(64 << 10), c.mails(64 << 10), c.markdown(64 << 10)} {
		sameReadings(t, text)
	}
}

// Wherever in a block a piece stands, it is seen.
func TestSkimEverywhere(t *testing.T) {
	for _, piece := range append(signPieces, "eve [at] x [dot] example", "eve-at-x.example", "a b@x.\nexample", "x||.||example", "adot . example", "abcdefghijk-at-x.example") {
		for n := range 2*skimBlock + 3 {
			sameReadings(t, strings.Repeat("y ", n/2)+strings.Repeat("y", n%2)+piece+" y")
			sameReadings(t, strings.Repeat(" ", n)+piece)
			sameReadings(t, "e[.]x "+strings.Repeat("y ", n/2)+piece)
		}
	}
}
