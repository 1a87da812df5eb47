package flow

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func always(int) bool { return true }

// Whatever is added, and in whatever order, is found with the number it came with first,
// and nothing else is.
func TestSetAgainstMap(t *testing.T) {
	for _, width := range []int{4, 5, 8} {
		rapid.Check(t, func(t *rapid.T) {
			r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
			n := rapid.SampledFrom([]int{0, 1, 50, 1000, 4000}).Draw(t, "hashes")
			few := rapid.Bool().Draw(t, "few groups")   // then they are split
			uneven := rapid.Bool().Draw(t, "uneven")    // values that no keyed hash makes
			again := rapid.Bool().Draw(t, "many twice") // added more than once
			s := newHashSet(width)
			want := map[uint64]uint32{}
			key := func(h uint64) uint64 { return h >> (53 - s.bits) }
			hash := func() uint64 {
				h := r.Uint64()
				if again {
					h &= 0xFF0F_00FF_FF00_0000
				}
				if few {
					h = h<<11>>11 | h&3<<53
				}
				switch {
				case uneven && h&0x3000_0000 == 0x1000_0000:
					h |= 0x1F_FFFF_FFFF_F000
				case uneven && h&0x3000_0000 == 0x2000_0000:
					h &^= 0x1F_FFFF_FFFF_F000
				}
				return h
			}
			for range n {
				h, num := hash(), uint32(0)
				_, known := want[key(h)]
				if width == 8 {
					if num = r.Uint32N(1 << numBits); known != s.has(h) {
						t.Fatalf("%x: found %v", h, !known)
					} else if known {
						continue // as the ledger does
					}
				}
				done := false
				if width == 8 {
					var known bool
					if known, done = s.meet(h, num); known {
						t.Fatalf("%x: met before it was added", h)
					}
					if known, room := s.meet(h, num+1); done != known || done != room {
						t.Fatalf("%x: met %v, room %v, after it was added: %v", h, known, room, done)
					}
				} else {
					done = s.addAll([]uint64{h}) == 1
				}
				if !done && !s.add(h, num, always) {
					t.Fatalf("%x: refused", h)
				}
				if !known {
					want[key(h)] = num
				}
			}
			check := func() {
				t.Helper()
				held, slots := 0, 0
				if s.groups != nil {
					held = setGroups * groupSize
					for _, g := range s.groups {
						for _, l := range g {
							held += leafSize + cap(l)
							slots += len(l) / s.width
						}
					}
				}
				if s.count < len(want) || s.count != slots || s.size != held {
					t.Fatalf("count %d of %d and %d, size %d of %d", s.count, len(want), slots, s.size, held)
				}
				for k, num := range want {
					if got, ok := s.find(k << (53 - s.bits)); !ok || got != num {
						t.Fatalf("%x: %d, %v; want %d", k, got, ok, num)
					}
				}
				for range 500 {
					h := hash()
					if num, ok := s.find(h); ok != inMap(want, key(h)) || num != want[key(h)] && ok {
						t.Fatalf("%x: %d, %v", h, num, ok)
					}
				}
			}
			check()
			if s.groups != nil {
				for _, g := range s.groups {
					for i := range g {
						if s.drop(&g[i]); len(g[i]) > len(s.scratch)/2*width {
							return // many twice in one place: not dropped
						}
					}
				}
				if check(); s.count != len(want) {
					t.Fatalf("%d hashes, counted as %d", len(want), s.count)
				}
			}
			if width != 8 {
				return
			}
			by := r.Uint32N(1 << numBits)
			s.renumber(by)
			for k := range want {
				want[k] -= min(by, want[k])
			}
			check()
			s.narrow()
			for k := range want {
				want[k] = 0
			}
			check()
		})
	}
}

func inMap(m map[uint64]uint32, k uint64) bool {
	_, ok := m[k]
	return ok
}

// A refused set keeps what it has, and goes on finding it.
func TestSetRefused(t *testing.T) {
	s := newHashSet(4)
	left := 200_000
	bounded := func(n int) bool {
		if n > left {
			return false
		}
		left -= n
		return true
	}
	r := rand.New(rand.NewPCG(1, 2))
	var in []uint64
	for {
		h := r.Uint64()
		if !s.add(h, 0, bounded) {
			break
		}
		in = append(in, h)
	}
	for _, h := range in {
		if !s.add(h, 0, bounded) || !s.has(h) {
			t.Fatalf("%x is gone, or not known to be there", h)
		}
	}
	if s.size > 200_000 || s.size < 180_000 {
		t.Errorf("%d bytes of 200000", s.size)
	}
}

// Leaves are nearly full at every size: memory follows from this.
func TestSetLoad(t *testing.T) {
	for _, width := range []int{4, 5, 8} {
		s := newHashSet(width)
		r := rand.New(rand.NewPCG(1, 2))
		for n := range 2_000_000 {
			s.add(r.Uint64(), 0, always)
			if n >= 200_000 && n%50_000 == 0 {
				if load := float64(s.count*width) / float64(s.size-setGroups*groupSize); load < map[int]float64{4: 0.8, 5: 0.7, 8: 0.77}[width] {
					t.Errorf("%d bytes a slot, %d hashes: %.3f of the slots are used", width, n, load)
				} else if n%400_000 == 0 {
					t.Logf("%d bytes a slot, %d hashes: %.3f", width, n, load)
				}
			}
		}
	}
}

func BenchmarkSet(b *testing.B) {
	for _, n := range []int{100_000, 30_000_000} {
		for _, width := range []int{4, 5, 8} {
			b.Run(map[int]string{4: "4", 5: "5", 8: "8"}[width]+"/"+map[bool]string{true: "small", false: "large"}[n < 1e6], func(b *testing.B) {
				r := rand.New(rand.NewPCG(1, 2))
				s := newHashSet(width)
				batch := make([]uint64, 4096)
				i := len(batch)
				start := cpuTime()
				for b.Loop() {
					if i == len(batch) {
						for j := range batch {
							batch[j] = r.Uint64()
						}
						if i = 0; s.count >= n {
							s = newHashSet(width)
						}
					}
					s.add(batch[i], 0, always)
					i++
				}
				b.ReportMetric(float64(cpuTime()-start)/float64(b.N), "cpu-ns/op")
			})
		}
	}
}
