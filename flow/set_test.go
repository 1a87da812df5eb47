package flow

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func always(int) bool { return true }

// hashes makes hashes as none or all of them are, for tests.
func hashes(t *rapid.T) (next func() uint64, n int) {
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	n = rapid.SampledFrom([]int{0, 1, 50, 1000, 4000}).Draw(t, "hashes")
	few := rapid.Bool().Draw(t, "few groups")   // then they get large
	uneven := rapid.Bool().Draw(t, "uneven")    // values that no keyed hash makes
	again := rapid.Bool().Draw(t, "many twice") // added more than once
	return func() uint64 {
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
	}, n
}

// Whatever is added, and in whatever order, is found, and nothing else is.
func TestSetAgainstMap(t *testing.T) {
	for _, width := range []int{4, 5, 6} {
		rapid.Check(t, func(t *rapid.T) {
			next, n := hashes(t)
			s, want := newHashSet(width), map[uint64]bool{}
			key := func(h uint64) uint64 { return h >> (53 - s.bits) }
			for range n {
				h := next()
				if s.addAll([]uint64{h}) != 1 && !s.add(h, always) {
					t.Fatalf("%x: refused", h)
				}
				want[key(h)] = true
			}
			check := func() {
				t.Helper()
				held, slots := 0, 0
				if s.groups != nil {
					held = setGroups * groupSize
					for _, g := range s.groups {
						held += cap(g.slots) + 2*cap(g.used)
						for _, n := range g.used {
							slots += int(n) / s.width
						}
					}
				}
				if s.count < len(want) || s.count != slots || s.size != held {
					t.Fatalf("count %d of %d and %d, size %d of %d", s.count, len(want), slots, s.size, held)
				}
				for k := range want {
					if !s.has(k << (53 - s.bits)) {
						t.Fatalf("%x is not found", k)
					}
				}
				for range 500 {
					if h := next(); s.has(h) != want[key(h)] {
						t.Fatalf("%x: found %v", h, s.has(h))
					}
				}
			}
			check()
			if s.groups == nil {
				return
			}
			for i := range s.groups {
				for k := range s.groups[i].used {
					s.drop(&s.groups[i], k)
				}
			}
			check()
		})
	}
}

// What stands in a leaf twice is dropped from it, but for a part of what others stand between.
func TestSetDropsWhatStandsTwice(t *testing.T) {
	for _, width := range []int{4, 5, 6} {
		s := newHashSet(width)
		r := rand.New(rand.NewPCG(1, 2))
		const n = 40_000
		var all []uint64
		for range n {
			all = append(all, r.Uint64())
		}
		for range 4 {
			for _, h := range all {
				s.add(h, always)
			}
		}
		for i := range s.groups {
			for k := range s.groups[i].used {
				s.drop(&s.groups[i], k)
			}
		}
		if s.count < n || s.count > n+n/2 {
			t.Errorf("slots of %d bytes: of %d hashes that were added four times, %d are kept", width, n, s.count)
		}
	}
}

// However often the same is recorded, a set grows no further: what one look for doubles
// misses, another finds before anything grows.
func TestSetOfTheSameAgainAndAgain(t *testing.T) {
	for _, width := range []int{4, 5, 6} {
		for _, roomy := range []bool{false, true} {
			s := newHashSet(width)
			if s.roomy = roomy; roomy {
				s.most = pairsMost
			}
			r := rand.New(rand.NewPCG(1, 2))
			all := make([]uint64, 30_000)
			for i := range all {
				all[i] = r.Uint64()
			}
			early := 0
			for n := range 40 {
				for _, h := range all {
					s.add(h, always)
				}
				if n == 15 {
					early = s.size
				}
			}
			if s.size > early+early/50 || s.size > 30*len(all) {
				t.Errorf("slots of %d bytes, roomy %v: %d bytes when all was added 15 times, %d after 40 times", width, roomy, early, s.size)
			}
		}
	}
}

// Where one leaf is full of doubles, the others of its group are not looked through: text of
// ever the same words would cost as much as all that was recorded before.
func TestOnlyTheFullLeafIsLookedThrough(t *testing.T) {
	for _, width := range []int{4, 6} {
		s := newHashSet(width)
		r := rand.New(rand.NewPCG(1, 2))
		for range 1000 {
			s.add(r.Uint64()>>groupBits, always) // one group
		}
		g := &s.groups[0]
		full, other := uint64(1)<<40, ^uint64(0)>>groupBits
		s.add(other, always)
		s.add(other, always)
		k := g.leaf(other)
		slots := g.used[k]
		for range 10 * g.stride {
			s.add(full, always)
		}
		if g.leaf(other) != k || g.used[k] != slots {
			t.Errorf("slots of %d bytes: another leaf had %d bytes and now has %d", width, slots, g.used[k])
		}
	}
}

// The same for facts, each with the number it came with first.
func TestFactSetAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		next, n := hashes(t)
		s, want := factSet{}, map[uint64]uint32{}
		key := func(h uint64) uint64 { return h>>53<<exactBits | factValue(h) }
		check := func() {
			t.Helper()
			held, slots := 0, 0
			if s.shelves != nil {
				held = setShelves * shelfSize
				for _, l := range s.shelves {
					held += 8 * cap(l)
					slots += len(l)
					used := 0
					for i, x := range l[:cap(l)] {
						if x != 0 {
							if used++; i%lineSlots > 0 && l[:cap(l)][i-1] == 0 {
								t.Fatalf("%x stands behind a gap", x)
							}
						}
					}
					if used != len(l) {
						t.Fatalf("%d slots of %d", used, len(l))
					}
				}
			} else if s.plain != nil {
				held, slots = s.plain.size, s.plain.count
			}
			if s.count != len(want) || s.count != slots || s.size != held {
				t.Fatalf("count %d of %d and %d, size %d of %d", s.count, len(want), slots, s.size, held)
			}
			for k, num := range want {
				if got, ok := s.find(k>>exactBits<<53 | k&(1<<exactBits-1)<<(53-exactBits)); !ok || got != num {
					t.Fatalf("%x: %d, %v; want %d", k, got, ok, num)
				}
			}
			for range 500 {
				h := next()
				if num, ok := s.find(h); ok != inMap(want, key(h)) || num != want[key(h)] && ok {
					t.Fatalf("%x: %d, %v", h, num, ok)
				}
			}
		}
		add := func(n int) {
			for i := range n {
				h, num := next(), uint32(i*7919)%(1<<numBits)
				_, seen := want[key(h)]
				if found := s.has(h); found != seen {
					t.Fatalf("%x: found %v", h, found)
				}
				known, ok := s.add(h, num, always)
				if known != seen || !ok {
					t.Fatalf("%x: known %v, added %v", h, known, ok)
				}
				if again, ok := s.add(h, num+1, always); !again || !ok {
					t.Fatalf("%x: known %v, %v, after it was added", h, again, ok)
				}
				if s.plain != nil {
					num = 0
				}
				if !seen {
					want[key(h)] = num
				}
			}
		}
		add(n)
		check()
		by := uint32(rapid.IntRange(0, 1<<numBits-1).Draw(t, "by"))
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
		add(n / 4)
		check()
	})
}

func inMap(m map[uint64]uint32, k uint64) bool {
	_, ok := m[k]
	return ok
}

// A refused set keeps what it has, and goes on finding it.
func TestSetRefused(t *testing.T) {
	for name, set := range eachSet() {
		left := 300_000
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
			if !set.add(h, bounded) {
				break
			}
			in = append(in, h)
		}
		for _, h := range in {
			if !set.has(h) || !set.add(h, bounded) {
				t.Fatalf("%s: %x is gone, or not known to be there", name, h)
			}
		}
		if size, _ := set.held(); size > 300_000 || size < 270_000 {
			t.Errorf("%s: %d bytes of 300000", name, size)
		}
	}
}

// anySet is what all sets do.
type anySet struct {
	width int
	add   func(uint64, more) bool
	has   func(uint64) bool
	held  func() (size, count int)
}

func eachSet() map[string]anySet {
	sets := map[string]anySet{}
	for name, width := range map[string]int{"pairs": 4, "facts without numbers": 5, "entries": 6} {
		s := newHashSet(width)
		sets[name] = anySet{width, s.add, s.has, func() (int, int) { return s.size, s.count }}
	}
	s := factSet{}
	add := func(h uint64, more more) bool { _, ok := s.add(h, 0, more); return ok }
	sets["facts"] = anySet{8, add, s.has, func() (int, int) { return s.size, s.count }}
	return sets
}

// Sets are at most a third empty at every size, those of facts a quarter: memory follows from
// this.
func TestSetLoad(t *testing.T) {
	for name, s := range eachSet() {
		r := rand.New(rand.NewPCG(1, 2))
		for n := range 2_000_000 {
			s.add(r.Uint64(), always)
			if n >= 200_000 && n%50_000 == 0 {
				size, count := s.held()
				if load := float64(count*s.width) / float64(size); load < map[int]float64{4: 0.65, 5: 0.65, 6: 0.65, 8: 0.75}[s.width] {
					t.Errorf("%s, %d hashes: %.3f of the slots are used", name, n, load)
				} else if n%400_000 == 0 {
					t.Logf("%s, %d hashes: %.3f", name, n, load)
				}
			}
		}
	}
}

func BenchmarkSet(b *testing.B) {
	for _, n := range []int{100_000, 30_000_000} {
		for name := range eachSet() {
			b.Run(name+"/"+map[bool]string{true: "small", false: "large"}[n < 1e6], func(b *testing.B) {
				r := rand.New(rand.NewPCG(1, 2))
				s := eachSet()[name]
				batch := make([]uint64, 4096)
				i := len(batch)
				start := cpuTime()
				for b.Loop() {
					if i == len(batch) {
						for j := range batch {
							batch[j] = r.Uint64()
						}
						if i = 0; b.N%n == 0 {
							s = eachSet()[name]
						}
					}
					s.add(batch[i], always)
					i++
				}
				b.ReportMetric(float64(cpuTime()-start)/float64(b.N), "cpu-ns/op")
			})
		}
	}
}
