package flow

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// contentLedger has seen a megabyte, with four secrets.
func contentLedger(b *testing.B) *Ledger {
	l := NewLedger(LedgerOptions{})
	text := corpusProse(1<<20, true)
	for i := range 4 {
		l.Observe(output(b, "read", uint64(i), result(strings.ToValidUTF8(text[i<<18:(i+1)<<18], ""))))
	}
	secrets(b, l, "hunter2", "tok-99887766-abc", "correct horse battery staple", strings.Repeat("0a1B2c3D", 6))
	return l
}

// BenchmarkContent is what a send with a body costs beside its destinations.
func BenchmarkContent(b *testing.B) {
	l := contentLedger(b)
	for _, kb := range []int{1, 10, 100} {
		for _, links := range []bool{false, true} {
			text := corpusProse(kb<<10, links)
			for name, look := range map[string]func(){
				"carried": func() { l.Carried(text, nil) },
				"secret":  func() { l.Secret(text) },
				"copied":  func() { l.Copied(text) },
			} {
				b.Run(fmt.Sprintf("%s/%dKB/links=%v", name, kb, links), func(b *testing.B) {
					b.SetBytes(int64(len(text)))
					b.ReportAllocs()
					for b.Loop() {
						look()
					}
				})
			}
		}
	}
}

// BenchmarkObserveLabels is rows with labels against the same rows without.
func BenchmarkObserveLabels(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields(corpusProse(100<<10, false))
	var rows []any
	for i := range 2000 {
		rows = append(rows, map[string]any{"id": fmt.Sprintf("%08x", r.Uint32()), "from": words[i] + "@" + words[i+2] + ".example", "text": words[i] + " " + words[i+1] + " " + words[i+3]})
	}
	for name, l := range map[string]string{"none": "", "four": "rows[*].id: id, rows[*].from: party, rows[*].text: inside, rows[*].key: secret"} {
		out := output(b, "list", 1, map[string]any{"structuredContent": map[string]any{"rows": rows}})
		out.Labels = labels(b, l)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(out.Value.AppendJSON(nil))))
			b.ReportAllocs()
			for b.Loop() {
				NewLedger(LedgerOptions{}).Observe(out)
			}
		})
	}
}
