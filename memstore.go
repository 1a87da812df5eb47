package sallyport

import (
	"bytes"
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// NewMemoryStore returns a store that lives in this process. now is the clock; nil is
// time.Now.
func NewMemoryStore(now func() time.Time) Store {
	if now == nil {
		now = time.Now
	}
	return &memoryStore{
		now:  now,
		logs: make(map[string][][]byte), counters: make(map[string]int64),
		buckets: make(map[string]*bucketState), values: make(map[string]storedValue),
	}
}

type memoryStore struct {
	now func() time.Time

	mu       sync.Mutex // guards all below
	logs     map[string][][]byte
	counters map[string]int64
	buckets  map[string]*bucketState
	values   map[string]storedValue
	takes    int // since full buckets were last swept
	puts     int // since expired values were last swept
}

// bucketState is one bucket. A limiter takes only from itself, and at once: looking, and
// taking from all or none, happen under the store's lock.
type bucketState struct {
	*rate.Limiter
	last   time.Time // when tokens were last taken
	wanted int       // by the Take that holds the lock
}

// at is now, for a bucket. After a clock moved back a limiter would count the time until
// it is where it was a second time.
func (s *bucketState) at(now time.Time) time.Time {
	if now.Before(s.last) {
		return s.last
	}
	return now
}

type storedValue struct {
	data    []byte
	expires time.Time
}

func (m *memoryStore) Append(ctx context.Context, log string, entry []byte) (index int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.logs[log] = append(m.logs[log], bytes.Clone(entry))
	return len(m.logs[log]) - 1, nil
}

func (m *memoryStore) Read(ctx context.Context, log string, from, max int) ([][]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if from < 0 {
		return nil, errors.New("store: negative index")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	entries := m.logs[log]
	if from >= len(entries) {
		return nil, nil
	}
	entries = entries[from:]
	if max > 0 && len(entries) > max {
		entries = entries[:max]
	}
	out := make([][]byte, len(entries))
	for i, e := range entries {
		out[i] = bytes.Clone(e)
	}
	return out, nil
}

func (m *memoryStore) Add(ctx context.Context, counter string, n, limit int64) (int64, bool, error) {
	if err := ctx.Err(); err != nil {
		return 0, false, err
	}
	if n <= 0 {
		return 0, false, errors.New("store: Add needs a positive number")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	total := m.counters[counter]
	if total > limit-n || n > limit {
		return total, false, nil
	}
	total += n
	m.counters[counter] = total
	return total, true, nil
}

// forget drops counters.
func (m *memoryStore) forget(counters map[string]struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for c := range counters {
		delete(m.counters, c)
	}
}

func (m *memoryStore) Take(ctx context.Context, buckets []Bucket, debit bool) (bool, time.Duration, error) {
	if err := ctx.Err(); err != nil {
		return false, 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	wanted := make(map[string]*bucketState, len(buckets))
	var wait time.Duration
	for _, b := range buckets {
		if b.Rate <= 0 || b.Burst < 1 || math.IsNaN(b.Rate) || math.IsInf(b.Rate, 0) {
			return false, 0, errors.New("store: bucket " + b.Name + " needs a rate above 0 and a burst of at least 1")
		}
		s := wanted[b.Name]
		if s == nil {
			s = m.bucket(b, now)
			s.wanted = 0
			wanted[b.Name] = s
		}
		if left := s.TokensAt(s.at(now)) - float64(s.wanted); left < 1 {
			wait = max(wait, time.Duration(math.Ceil((1-left)/b.Rate*float64(time.Second))))
		}
		s.wanted++
	}
	if wait > 0 || !debit {
		return wait == 0, wait, nil
	}
	for name, s := range wanted {
		s.last = s.at(now)
		if !s.AllowN(s.last, s.wanted) { // the lock is held since it had them
			return false, 0, errors.New("store: bucket " + name + " lost tokens that it had")
		}
		m.buckets[name] = s
	}
	if m.takes++; m.takes >= 1000 && len(m.buckets) > 1000 {
		m.takes = 0
		for name, s := range m.buckets {
			if s.TokensAt(s.at(now)) >= float64(s.Burst()) {
				delete(m.buckets, name) // full, as a new one is
			}
		}
	}
	return true, 0, nil
}

// bucket returns a bucket with the rate and burst that are wanted now. Time that passed
// since tokens were last taken counts at that rate.
func (m *memoryStore) bucket(b Bucket, now time.Time) *bucketState {
	s := m.buckets[b.Name]
	if s == nil {
		return &bucketState{Limiter: rate.NewLimiter(rate.Limit(b.Rate), b.Burst), last: now}
	}
	if s.Limit() != rate.Limit(b.Rate) {
		s.SetLimitAt(s.last, rate.Limit(b.Rate))
	}
	if s.Burst() != b.Burst {
		s.SetBurstAt(s.last, b.Burst)
	}
	return s
}

func (m *memoryStore) Put(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if ttl <= 0 {
		return errors.New("store: Put needs a positive time to live")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	if m.puts++; m.puts >= 1000 {
		m.puts = 0
		for k, v := range m.values {
			if !now.Before(v.expires) {
				delete(m.values, k)
			}
		}
	}
	m.values[key] = storedValue{bytes.Clone(value), now.Add(ttl)}
	return nil
}

func (m *memoryStore) Claim(ctx context.Context, key string) ([]byte, bool, error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.values[key]
	if !ok {
		return nil, false, nil
	}
	delete(m.values, key)
	if !m.now().Before(v.expires) {
		return nil, false, nil
	}
	return v.data, true, nil
}
