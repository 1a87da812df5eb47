// Package storetest is the conformance test of sallyport.Store. An implementation's own
// test calls [Run] with a function that makes an empty store.
//
// It must never depend on how a store is built, only on what the interface promises.
package storetest

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport"
)

// Run tests a store. open returns an empty store whose clock is now.
func Run(t *testing.T, open func(t *testing.T, now func() time.Time) sallyport.Store) {
	for _, c := range []struct {
		name string
		test func(*testing.T, sallyport.Store, *clock)
	}{
		{"log keeps order and copies", logOrder},
		{"counter stops at its limit", counterLimit},
		{"counter is atomic", counterAtomic},
		{"buckets: all or none", bucketsAllOrNone},
		{"bucket refills and ignores a clock that goes back", bucketRefill},
		{"bucket named twice is taken twice", bucketTwice},
		{"looking takes nothing", bucketLook},
		{"a bucket keeps what it holds when its limit changes", bucketChanged},
		{"value is claimed once", claimOnce},
		{"value expires", valueExpires},
		{"a cancelled context is an error", cancelled},
		{"bad arguments are errors", badArguments},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := &clock{t: time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)}
			c.test(t, open(t, k.now), k)
		})
	}
}

type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

func logOrder(t *testing.T, s sallyport.Store, _ *clock) {
	ctx := t.Context()
	if got, err := s.Read(ctx, "none", 0, 0); err != nil || len(got) != 0 {
		t.Fatalf("unknown log: %q, %v", got, err)
	}
	for i := range 5 {
		e := fmt.Appendf(nil, "entry %d", i)
		if at, err := s.Append(ctx, "l", e); err != nil || at != i {
			t.Fatalf("entry %d is at %d: %v", i, at, err)
		}
		e[0] = 'X'
	}
	got, err := s.Read(ctx, "l", 1, 3)
	if err != nil {
		t.Fatal(err)
	}
	if want := [][]byte{[]byte("entry 1"), []byte("entry 2"), []byte("entry 3")}; !equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	if got, err = s.Read(ctx, "l", 5, 0); err != nil || len(got) != 0 {
		t.Fatalf("past the end: %q, %v", got, err)
	}
	if got, err = s.Read(ctx, "other", 0, 0); err != nil || len(got) != 0 {
		t.Fatalf("logs are not apart: %q, %v", got, err)
	}
}

func equal(a, b [][]byte) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !bytes.Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

func counterLimit(t *testing.T, s sallyport.Store, _ *clock) {
	for i, want := range []bool{true, true, false, false} {
		total, ok, err := s.Add(t.Context(), "c", 1, 2)
		if err != nil || ok != want || total != int64(min(i+1, 2)) {
			t.Fatalf("Add %d: %d, %v, %v", i+1, total, ok, err)
		}
	}
	if total, ok, err := s.Add(t.Context(), "zero", 1, 0); err != nil || ok || total != 0 {
		t.Fatalf("limit 0: %d, %v, %v", total, ok, err)
	}
	if total, ok, err := s.Add(t.Context(), "c", 5, 7); err != nil || !ok || total != 7 {
		t.Fatalf("raised limit: %d, %v, %v", total, ok, err)
	}
}

func counterAtomic(t *testing.T, s sallyport.Store, _ *clock) {
	var wg sync.WaitGroup
	passed := make(chan bool, 64)
	for range 64 {
		wg.Go(func() {
			_, ok, err := s.Add(context.Background(), "c", 1, 20)
			passed <- ok && err == nil
		})
	}
	wg.Wait()
	n := 0
	for range 64 {
		if <-passed {
			n++
		}
	}
	if n != 20 {
		t.Fatalf("%d of 64 passed a limit of 20", n)
	}
}

func take(t *testing.T, s sallyport.Store, want bool, buckets ...sallyport.Bucket) time.Duration {
	t.Helper()
	ok, retry, err := s.Take(t.Context(), buckets, true)
	if err != nil || ok != want {
		t.Fatalf("Take: %v, %v; want %v", ok, err, want)
	}
	if ok != (retry == 0) {
		t.Fatalf("Take: ok %v with retry %v", ok, retry)
	}
	return retry
}

func bucketsAllOrNone(t *testing.T, s sallyport.Store, _ *clock) {
	a, b := sallyport.Bucket{Name: "a", Rate: 1, Burst: 1}, sallyport.Bucket{Name: "b", Rate: 1, Burst: 2}
	take(t, s, true, a, b)
	take(t, s, false, b, a)
	take(t, s, true, b) // the refused Take took nothing from b
	take(t, s, false, b)
	take(t, s, true) // no bucket
}

func bucketRefill(t *testing.T, s sallyport.Store, k *clock) {
	b := sallyport.Bucket{Name: "a", Rate: 2, Burst: 1}
	take(t, s, true, b)
	if retry := take(t, s, false, b); retry != 500*time.Millisecond {
		t.Fatalf("retry in %v, want 500ms", retry)
	}
	k.add(-time.Hour)
	take(t, s, false, b)
	two := sallyport.Bucket{Name: "b", Rate: 2, Burst: 2}
	k.add(time.Hour)
	take(t, s, true, two)
	k.add(-time.Hour)
	take(t, s, true, two)
	k.add(time.Hour)
	take(t, s, false, two) // the hour does not count a second time
	k.add(500 * time.Millisecond)
	take(t, s, true, b)
	k.add(time.Hour)
	take(t, s, true, b)
	take(t, s, false, b) // never more than burst
}

func bucketTwice(t *testing.T, s sallyport.Store, _ *clock) {
	b := sallyport.Bucket{Name: "a", Rate: 1, Burst: 3}
	take(t, s, true, b, b)
	take(t, s, false, b, b)
	take(t, s, true, b)
}

// A limit that is changed while it is in use must give nobody a full bucket.
func bucketChanged(t *testing.T, s sallyport.Store, k *clock) {
	bucket := func(rate float64, burst int) sallyport.Bucket {
		return sallyport.Bucket{Name: "a", Rate: rate, Burst: burst}
	}
	for range 4 {
		take(t, s, true, bucket(1, 4))
	}
	if retry := take(t, s, false, bucket(1, 8)); retry != time.Second {
		t.Fatalf("a larger burst: retry in %v, want 1s", retry)
	}
	if retry := take(t, s, false, bucket(4, 8)); retry != 250*time.Millisecond {
		t.Fatalf("a higher rate: retry in %v, want 250ms", retry)
	}
	k.add(time.Second) // 4 tokens at the rate that holds now
	take(t, s, true, bucket(4, 8))
	take(t, s, true, bucket(4, 8))
	k.add(time.Nanosecond)
	take(t, s, true, bucket(4, 1)) // 2 are left, and 1 has room
	if retry := take(t, s, false, bucket(4, 1)); retry != 250*time.Millisecond {
		t.Fatalf("a smaller burst: retry in %v, want 250ms", retry)
	}
	k.add(time.Hour)
	take(t, s, true, bucket(4, 2), bucket(4, 2))
	take(t, s, false, bucket(4, 2))
}

func bucketLook(t *testing.T, s sallyport.Store, _ *clock) {
	b := sallyport.Bucket{Name: "a", Rate: 1, Burst: 1}
	for range 3 {
		if ok, retry, err := s.Take(t.Context(), []sallyport.Bucket{b}, false); !ok || retry != 0 || err != nil {
			t.Fatalf("look: %v, %v, %v", ok, retry, err)
		}
	}
	take(t, s, true, b)
	if ok, retry, err := s.Take(t.Context(), []sallyport.Bucket{b}, false); ok || retry != time.Second || err != nil {
		t.Fatalf("look at an empty bucket: %v, %v, %v", ok, retry, err)
	}
}

func claimOnce(t *testing.T, s sallyport.Store, _ *clock) {
	if err := s.Put(t.Context(), "k", []byte("old"), time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), "k", []byte("new"), time.Minute); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	got := make(chan []byte, 16)
	for range 16 {
		wg.Go(func() {
			if v, ok, err := s.Claim(context.Background(), "k"); ok && err == nil {
				got <- v
			}
		})
	}
	wg.Wait()
	close(got)
	if len(got) != 1 {
		t.Fatalf("%d of 16 claimed it", len(got))
	}
	if v := <-got; string(v) != "new" {
		t.Fatalf("claimed %q", v)
	}
}

func valueExpires(t *testing.T, s sallyport.Store, k *clock) {
	if err := s.Put(t.Context(), "k", []byte("v"), time.Minute); err != nil {
		t.Fatal(err)
	}
	k.add(time.Minute)
	if _, ok, err := s.Claim(t.Context(), "k"); ok || err != nil {
		t.Fatalf("claimed after its time: %v, %v", ok, err)
	}
}

func cancelled(t *testing.T, s sallyport.Store, _ *clock) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	errs := make(map[string]error)
	_, errs["Append"] = s.Append(ctx, "l", nil)
	_, errs["Read"] = s.Read(ctx, "l", 0, 0)
	_, _, errs["Add"] = s.Add(ctx, "c", 1, 1)
	_, _, errs["Take"] = s.Take(ctx, []sallyport.Bucket{{Name: "a", Rate: 1, Burst: 1}}, true)
	errs["Put"] = s.Put(ctx, "k", nil, time.Second)
	_, _, errs["Claim"] = s.Claim(ctx, "k")
	for op, err := range errs {
		if err == nil {
			t.Errorf("%s: no error", op)
		}
	}
}

func badArguments(t *testing.T, s sallyport.Store, _ *clock) {
	ctx := t.Context()
	if _, err := s.Read(ctx, "l", -1, 0); err == nil {
		t.Error("Read from -1: no error")
	}
	for _, n := range []int64{0, -1} {
		if _, ok, err := s.Add(ctx, "c", n, 10); err == nil || ok {
			t.Errorf("Add %d: ok %v, no error", n, ok)
		}
	}
	for _, b := range []sallyport.Bucket{{Name: "x", Rate: 0, Burst: 1}, {Name: "x", Rate: 1, Burst: 0}} {
		if ok, _, err := s.Take(ctx, []sallyport.Bucket{b}, true); err == nil || ok {
			t.Errorf("Take %+v: ok %v, no error", b, ok)
		}
	}
	if err := s.Put(ctx, "k", nil, 0); err == nil {
		t.Error("Put with no time to live: no error")
	}
}
