package store

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport"
	"pgregory.net/rapid"
)

// Any sequence of uses gives what the store in memory gives. Time goes by in steps of a 512th
// of a second, which two tokens a second and the fractions of a float64 know exactly: the
// two do not round alike.
func TestLikeMemory(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		now := time.Unix(1_700_000_000, 0)
		clock := func() time.Time { return now }
		o := options(dir)
		o.Now = clock
		pair := &turns{s: [2]*Store{openAs(t, o), openAs(t, o)}}
		defer pair.s[0].Close()
		defer pair.s[1].Close()
		stores := []sallyport.Store{pair, sallyport.NewMemoryStore(clock)}
		ctx := t.Context()
		name := rapid.SampledFrom([]string{"a", "b"})
		rt.Repeat(map[string]func(*rapid.T){
			"append": func(rt *rapid.T) {
				n, e := name.Draw(rt, "log"), rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(rt, "entry")
				same(rt, stores, func(s sallyport.Store) string { i, err := s.Append(ctx, n, e); return fmt.Sprint(i, err) })
			},
			"read": func(rt *rapid.T) {
				n, from, max := name.Draw(rt, "log"), rapid.IntRange(0, 9).Draw(rt, "from"), rapid.IntRange(0, 4).Draw(rt, "max")
				same(rt, stores, func(s sallyport.Store) string {
					e, err := s.Read(ctx, n, from, max)
					return fmt.Sprintf("%x %v", e, err)
				})
			},
			"add": func(rt *rapid.T) {
				c, n, limit := name.Draw(rt, "counter"), rapid.Int64Range(1, 4).Draw(rt, "n"), rapid.Int64Range(0, 12).Draw(rt, "limit")
				same(rt, stores, func(s sallyport.Store) string { return fmt.Sprint(s.Add(ctx, c, n, limit)) })
			},
			"take": func(rt *rapid.T) {
				b := rapid.SliceOfN(rapid.Map(name, func(n string) sallyport.Bucket {
					return sallyport.Bucket{Name: n, Rate: 2, Burst: 4}
				}), 0, 3).Draw(rt, "buckets")
				debit := rapid.Bool().Draw(rt, "debit")
				same(rt, stores, func(s sallyport.Store) string { return fmt.Sprint(s.Take(ctx, b, debit)) })
			},
			"put": func(rt *rapid.T) {
				k, v := name.Draw(rt, "key"), rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(rt, "value")
				ttl := rapid.Int64Range(1, 3e9).Draw(rt, "ttl")
				same(rt, stores, func(s sallyport.Store) string { return fmt.Sprint(s.Put(ctx, k, v, time.Duration(ttl))) })
			},
			"claim": func(rt *rapid.T) {
				k := name.Draw(rt, "key")
				same(rt, stores, func(s sallyport.Store) string {
					v, ok, err := s.Claim(ctx, k)
					return fmt.Sprintf("%x %v %v", v, ok, err)
				})
			},
			"clock": func(rt *rapid.T) {
				now = now.Add(time.Duration(rapid.Int64Range(0, 1024).Draw(rt, "by")) * time.Second / 512)
			},
		})
	})
}

func same(rt *rapid.T, stores []sallyport.Store, use func(sallyport.Store) string) {
	if got, want := use(stores[0]), use(stores[1]); got != want {
		rt.Fatalf("files: %s, memory: %s", got, want)
	}
}
