package store

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/doc"
)

// BenchmarkLedger is what a 10 KB result costs to record: in memory alone, shared with the
// other processes of the client, and to read by one of those.
func BenchmarkLedger(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	var outs []sallyport.Output
	for range 200 {
		var text strings.Builder
		for text.Len() < 10<<10 {
			fmt.Fprintf(&text, "%s%s ", []string{"in", "the", "of", "par", "con", "to"}[r.IntN(6)], strings.Repeat(string(rune('a'+r.IntN(26))), r.IntN(3)))
			if r.IntN(60) == 0 {
				fmt.Fprintf(&text, "u%d@x%d.example https://y%d.example/z ", r.IntN(1e6), r.IntN(1000), r.IntN(1000))
			}
			if r.IntN(3) == 0 {
				fmt.Fprintf(&text, "w%d ", r.IntN(50_000))
			}
		}
		v, err := doc.FromGo(map[string]any{"content": []any{map[string]any{"type": "text", "text": text.String()}}})
		if err != nil {
			b.Fatal(err)
		}
		outs = append(outs, sallyport.Output{Upstream: "u", Tool: "read", Value: v})
	}
	session := func(b *testing.B, shared bool, s *Store) *sallyport.Session {
		e, err := sallyport.New(sallyport.Options{Store: s})
		if err != nil {
			b.Fatal(err)
		}
		key := s.Derive("ledger")
		session, err := e.Session(sallyport.SessionOptions{Caller: "c", Doubt: "d", Shared: shared, Key: [16]byte(key[:16])})
		if err != nil {
			b.Fatal(err)
		}
		return session
	}
	open := func(b *testing.B, dir string) *Store {
		s, err := Open(b.Context(), Options{Dir: dir, Session: "bench"})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { s.Close() })
		return s
	}
	for _, shared := range []bool{false, true} {
		b.Run(fmt.Sprintf("observe/shared=%v", shared), func(b *testing.B) {
			s := session(b, shared, open(b, b.TempDir()))
			b.SetBytes(10 << 10)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				s.Observe(outs[i%len(outs)])
				i++
			}
		})
	}
	b.Run("read by another", func(b *testing.B) {
		dir := b.TempDir()
		first, second := session(b, true, open(b, dir)), session(b, true, open(b, dir))
		call := sallyport.Call{Upstream: "u", Name: "none"}
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			b.StopTimer()
			first.Observe(outs[i%len(outs)])
			i++
			b.StartTimer()
			second.Forget(second.Decide(b.Context(), call).ID)
		}
	})
}
