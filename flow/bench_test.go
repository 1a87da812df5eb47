package flow

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// perCore reports the speed by the time that all cores spent, and what the ledger holds.
func perCore(b *testing.B, bytes int, cpu float64, l *Ledger, recorded int) {
	b.ReportMetric(float64(bytes)/cpu*1e3, "MB/s-core")
	b.ReportMetric(float64(l.Bytes())/float64(recorded), "B/B")
}

// BenchmarkObserve records 16 MB of the corpus, again and again, each time in a new
// ledger.
func BenchmarkObserve(b *testing.B) {
	for _, o := range []struct {
		name string
		LedgerOptions
	}{{"copies", LedgerOptions{}}, {"no copies", LedgerOptions{NoCopies: true}}} {
		b.Run(o.name, func(b *testing.B) {
			c := newCorpus()
			type made struct {
				out  Output
				size int
			}
			var outs []made
			total := 0
			for total < 16<<20 {
				out, size := c.output(b, 100<<10)
				outs = append(outs, made{out, size})
				total += size
			}
			runtime.GC()
			b.SetBytes(int64(total))
			b.ReportAllocs()
			start := cpuTime()
			var l *Ledger
			for b.Loop() {
				l = NewLedger(o.LedgerOptions)
				for _, m := range outs {
					l.Observe(m.out)
				}
			}
			perCore(b, total*b.N, float64(cpuTime()-start), l, total)
		})
	}
}

// BenchmarkObserveKind is BenchmarkObserve for the kinds of output alone.
func BenchmarkObserveKind(b *testing.B) {
	for kind, name := range []string{"prose", "json", "json in text", "html", "mail", "markdown"} {
		b.Run(name, func(b *testing.B) {
			c := newCorpus()
			var outs []Output
			total := 0
			for total < 4<<20 {
				c.made = kind + 5
				out, size := c.output(b, 100<<10)
				outs, total = append(outs, out), total+size
			}
			b.SetBytes(int64(total))
			b.ReportAllocs()
			start := cpuTime()
			var l *Ledger
			for b.Loop() {
				l = NewLedger(LedgerOptions{})
				for _, out := range outs {
					l.Observe(out)
				}
			}
			perCore(b, total*b.N, float64(cpuTime()-start), l, total)
		})
	}
}

// filled returns a ledger that has recorded megabytes of the corpus, and how fast.
func filled(b *testing.B, o LedgerOptions, megabytes int) (l *Ledger, c *corpus, recorded int, cpu float64) {
	o.MaxBytes = 8 << 30
	l, c = NewLedger(o), newCorpus()
	for recorded < megabytes<<20 {
		out, size := c.output(b, 256<<10)
		recorded += size
		start := cpuTime()
		l.Observe(out)
		cpu += float64(cpuTime() - start)
	}
	runtime.GC()
	return l, c, recorded, cpu
}

// BenchmarkLookup looks destinations up after 1 and 64 MB, and after as many as
// SALLYPORT_BENCH_MB says (1024 takes two GB of memory and some minutes): 64 of them in
// turn, and "cold" 4096 of them, which a large ledger then has to fetch from memory, and a
// ledger of a megabyte from the cache of the processor. What a destination is found to be
// does not depend on the size: what counts as seen is recorded at the end. It reports how
// fast and in how much memory those megabytes were recorded.
func BenchmarkLookup(b *testing.B) {
	sizes := []int{1, 64}
	if n, err := strconv.Atoi(os.Getenv("SALLYPORT_BENCH_MB")); err == nil {
		sizes = append(sizes, n)
	}
	for _, mb := range sizes {
		l, c, recorded, cpu := filled(b, LedgerOptions{}, mb)
		var ms runtime.MemStats
		runtime.ReadMemStats(&ms)
		b.Logf("%d MB: %.1f MB/s-core, %.2f B/B, heap %d MB, %d facts", mb, float64(recorded)/cpu*1e3, float64(l.Bytes())/float64(recorded), ms.HeapAlloc>>20, l.Facts())
		for _, k := range []struct {
			name string
			seen bool
			dest func(i int) string
		}{
			{"unknown mail", false, func(i int) string { return fmt.Sprintf("nobody%d@never%d.example", i, i) }},
			{"seen mail", true, func(int) string { return c.mail() }},
			{"unknown url", false, func(i int) string { return fmt.Sprintf("https://www.never%d.example/path?x=%d", i, i) }},
			{"unknown text", false, func(i int) string {
				return c.name() + " x" + strings.Map(func(r rune) rune { return r + 'a' - '0' }, strconv.Itoa(i))
			}},
			{"seen text", true, func(int) string { return c.name() + " " + c.name() }},
		} {
			ds := make([]Destination, 4096)
			for i := range ds {
				s := k.dest(i)
				if ds[i] = Flatten("to", value(b, s))[0]; k.seen {
					l.Observe(Output{Upstream: "desk", Tool: "read", Call: 1, Time: noon, Value: value(b, result(s))})
				}
			}
			for _, n := range []int{64, len(ds)} {
				name := map[bool]string{false: "warm", true: "cold"}[n == len(ds)]
				b.Run(fmt.Sprintf("%s/%s/%dMB", k.name, name, mb), func(b *testing.B) {
					b.ReportAllocs()
					start := cpuTime()
					for i := 0; b.Loop(); i++ {
						l.Lookup(ds[i%n])
					}
					b.ReportMetric(float64(cpuTime()-start)/float64(b.N), "cpu-ns/op")
				})
			}
		}
	}
}

// BenchmarkMemory reports memory for each recorded byte, with copies and without.
func BenchmarkMemory(b *testing.B) {
	sizes := []int{1, 16, 64}
	if n, err := strconv.Atoi(os.Getenv("SALLYPORT_BENCH_MB")); err == nil {
		sizes = append(sizes, n)
	}
	for _, mb := range sizes {
		for _, without := range []bool{false, true} {
			b.Run(fmt.Sprintf("%dMB/copies=%v", mb, !without), func(b *testing.B) {
				for b.Loop() {
					l, _, recorded, cpu := filled(b, LedgerOptions{NoCopies: without}, mb)
					perCore(b, recorded, cpu, l, recorded)
					t := &l.facts
					b.ReportMetric(float64(t.facts.size)/float64(recorded), "facts-B/B")
					b.ReportMetric(float64(t.pairs.size)/float64(recorded), "pairs-B/B")
					b.ReportMetric(float64(t.runs.size)/float64(recorded), "runs-B/B")
					b.ReportMetric(float64(t.places.size)/float64(recorded), "places-B/B")
				}
			})
		}
	}
}

func BenchmarkCopied(b *testing.B) {
	l, c, _, _ := filled(b, LedgerOptions{}, 16)
	c.b.Reset()
	c.prose(10 << 10)
	text := c.b.String()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		l.Copied(text)
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
	for name, text := range map[string]string{"prose": corpusProse(256<<10, false), "links": corpusProse(256<<10, true)} {
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
