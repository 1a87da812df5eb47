package flow

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// vocabulary is made up: 20,000 words, common ones more often, as in prose.
func vocabulary(r *rand.Rand) []string {
	words := make([]string, 20_000)
	for i := range words {
		b := make([]byte, 2+r.IntN(9))
		for j := range b {
			b[j] = byte('a' + r.IntN(26))
		}
		words[i] = string(b)
	}
	return words
}

// prose writes n bytes of text; mixed puts addresses, links and other scripts in.
func prose(r *rand.Rand, words []string, n int, mixed bool) string {
	var b strings.Builder
	b.Grow(n + 100)
	for k := 0; b.Len() < n; k++ {
		w := words[int(float64(len(words))*r.Float64()*r.Float64()*r.Float64())]
		if k%12 == 0 {
			w = strings.ToUpper(w[:1]) + w[1:]
		}
		b.WriteString(w)
		switch {
		case k%12 == 11:
			b.WriteString(".\n")
		case mixed && k%97 == 96:
			fmt.Fprintf(&b, " <%s@%s.example>, ", w, words[r.IntN(len(words))])
		case mixed && k%101 == 100:
			fmt.Fprintf(&b, " https://www.%s.example/%s?id=%d&x=%%20 ", words[r.IntN(len(words))], w, k)
		case mixed && k%53 == 52:
			b.WriteString(" “Zoë” — naïve Ölpreis ")
		case mixed && k%211 == 210:
			b.WriteString(" 予算を確認して ")
		default:
			b.WriteByte(' ')
		}
	}
	return b.String()
}

func BenchmarkObserve(b *testing.B) {
	for _, mixed := range []bool{false, true} {
		name := map[bool]string{false: "ascii", true: "mixed"}[mixed]
		b.Run(name, func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 2))
			words := vocabulary(r)
			outs := make([]Output, 64)
			for i := range outs {
				outs[i] = output(b, "read", uint64(i), result(prose(r, words, 256<<10, mixed)))
			}
			b.SetBytes(256 << 10)
			b.ReportAllocs()
			l := NewLedger(LedgerOptions{})
			for i := 0; b.Loop(); i++ {
				if i%len(outs) == 0 {
					l = NewLedger(LedgerOptions{})
				}
				l.Observe(outs[i%len(outs)])
			}
		})
	}
}

// BenchmarkObserveRows is JSON rows of short strings, as listings have them.
func BenchmarkObserveRows(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	words := vocabulary(r)
	var rows []any
	size := 0
	for i := range 2000 {
		row := map[string]any{
			"id": fmt.Sprintf("%08x-%04x", r.Uint32(), r.Uint32()&0xffff), "name": words[i] + " " + words[i+1],
			"email": words[i] + "@" + words[i+2] + ".example", "path": "/srv/" + words[i] + "/" + words[i+3] + ".go", "size": i,
		}
		rows = append(rows, row)
		size += 90 + 2*len(words[i])
	}
	out := output(b, "list", 1, map[string]any{"structuredContent": map[string]any{"rows": rows}})
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		NewLedger(LedgerOptions{}).Observe(out)
	}
}

func BenchmarkLookup(b *testing.B) {
	for _, mb := range []int{1, 64} {
		r := rand.New(rand.NewPCG(1, 2))
		words := vocabulary(r)
		l := NewLedger(LedgerOptions{MaxFacts: 100_000_000})
		for i := range mb {
			l.Observe(output(b, "read", uint64(i), result(prose(r, words, 1<<20, true))))
		}
		for _, c := range []struct{ name, dest string }{
			{"email", "nobody@never-seen.example"},
			{"seen", words[1] + " " + words[2]},
			{"url", "https://www.never-seen.example/path?x=1"},
			{"account", "XX82 TEST 1234 5698 7654 32"},
		} {
			d := Flatten("to", value(b, c.dest))[0]
			b.Run(fmt.Sprintf("%dMB/%s", mb, c.name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					l.Lookup(d)
				}
				b.ReportMetric(float64(l.Facts()), "facts")
			})
		}
	}
}

func BenchmarkFlatten(b *testing.B) {
	for _, s := range []string{"ana@x.example", "A B <a@x.example>, c@y.example", "https://www.x.example/a?b=c", "leaks-external"} {
		v := value(b, s)
		b.Run(s, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Flatten("to", v)
			}
		})
	}
}

// BenchmarkUnfolded is the search for other readings alone.
func BenchmarkUnfolded(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	words := vocabulary(r)
	for name, text := range map[string]string{"ascii": prose(r, words, 256<<10, false), "mixed": prose(r, words, 256<<10, true)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			read := 0
			for b.Loop() {
				unfolded(text, func(s string) { read += len(s) })
			}
			b.ReportMetric(float64(read)/float64(b.N)/float64(len(text)), "read/B")
		})
	}
}
