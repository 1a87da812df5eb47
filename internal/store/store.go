package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"time"

	"github.com/sallyport-dev/sallyport"
)

// DefaultMaxLog is the bound of [Options.MaxLog] when none is given.
const DefaultMaxLog = 1 << 30

// maxLogs is how many logs one process has to do with at most.
const maxLogs = 1024

// Options say which session to join and within which bounds.
type Options struct {
	// Dir is the state directory. It is made if it is not there (0700); nobody but this
	// user may write to it.
	Dir string

	// Session is the session's name: 1 to 200 visible ASCII characters. Processes that
	// give the same name share. It is written to the disk as it is.
	Session string

	// Ended says whether a session that no process is in is over. It is asked when the
	// last one closes, with idle 0. Nil: it always is. See [Sweep].
	Ended func(session string, idle time.Duration) bool

	MaxLog   int64            // bytes of one log's file; 0: DefaultMaxLog
	LockWait time.Duration    // how long one use waits for a lock at most; 0: 2 s
	Now      func() time.Time // clock of buckets and values; nil: time.Now
}

// Store is one process's hold on a session. It is a [sallyport.Store], safe for concurrent
// use. Once [Store.Close] has begun every use is an error.
type Store struct {
	opt    Options
	dir    *os.Root
	live   *os.File
	secret []byte
	table  *tableFile
	names  *sealer // used within table.use
	wait   time.Duration
	maxLog int64

	mu     sync.RWMutex // guards all below
	logs   map[string]*Log
	closed bool
}

var _ sallyport.Store = (*Store)(nil)

// Derive returns a key for a purpose, the same in every process of the session and of no
// use to find the session's secret.
func (s *Store) Derive(purpose string) [32]byte { return expand(s.secret, "use "+purpose) }

// Log returns the handle of a log. The same name gives the same handle.
func (s *Store) Log(name string) (*Log, error) {
	s.mu.RLock()
	l, closed := s.logs[name], s.closed
	s.mu.RUnlock()
	if closed {
		return nil, ErrClosed
	}
	if l != nil {
		return l, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	if l := s.logs[name]; l != nil {
		return l, nil
	}
	if len(s.logs) >= maxLogs {
		return nil, fmt.Errorf("store: %w: this process uses %d logs", ErrFull, maxLogs)
	}
	l = newLog(s, name)
	s.logs[name] = l
	return l, nil
}

// Append adds one entry to a log. See [Log.Append].
func (s *Store) Append(ctx context.Context, log string, entry []byte) (index int, err error) {
	l, err := s.Log(log)
	if err != nil {
		return 0, err
	}
	return l.Append(ctx, entry)
}

// Read returns entries of a log. See [Log.Read].
func (s *Store) Read(ctx context.Context, log string, from, max int) ([][]byte, error) {
	l, err := s.Log(log)
	if err != nil {
		return nil, err
	}
	return l.Read(ctx, from, max)
}

// Add adds n to a counter unless the result would be over limit.
func (s *Store) Add(ctx context.Context, counter string, n, limit int64) (total int64, ok bool, err error) {
	if n <= 0 {
		return 0, false, errors.New("store: Add needs a positive number")
	}
	err = s.table.use(ctx, func(t table) (bool, error) {
		k := tableKey{kindCounter, s.names.name(kindCounter, counter)}
		if r, found := t[k]; found {
			total = int64(binary.BigEndian.Uint64(r.value)) //nolint:gosec // written below
		}
		if total > limit-n || n > limit {
			return false, nil
		}
		total, ok = total+n, true
		t[k] = record{value: binary.BigEndian.AppendUint64(nil, uint64(total))} //nolint:gosec // positive
		return true, nil
	})
	if err != nil {
		return 0, false, err
	}
	return total, ok, nil
}

type bucketState struct {
	tokens float64
	at     int64 // nanoseconds since 1970
}

// Take takes one token from each bucket, or from none. The clock is that of the wall, which
// processes share.
func (s *Store) Take(ctx context.Context, buckets []sallyport.Bucket, debit bool) (ok bool, retry time.Duration, err error) {
	for _, b := range buckets {
		if !(b.Rate > 0) || math.IsInf(b.Rate, 0) || b.Burst < 1 {
			return false, 0, errors.New("store: bucket " + b.Name + " needs a rate above 0 and a burst of at least 1")
		}
	}
	err = s.table.use(ctx, func(t table) (bool, error) {
		now := s.table.now().UnixNano()
		next := make(map[tableKey]bucketState, len(buckets))
		for _, b := range buckets {
			k := tableKey{kindBucket, s.names.name(kindBucket, b.Name)}
			st, seen := next[k]
			if !seen {
				st = refilled(t, k, b, now)
			}
			if st.tokens < 1 {
				retry = max(retry, wait((1-st.tokens)/b.Rate))
			}
			st.tokens--
			next[k] = st
		}
		ok = retry == 0
		if !ok || !debit {
			return false, nil
		}
		for k, st := range next {
			v := binary.BigEndian.AppendUint64(nil, math.Float64bits(st.tokens))
			t[k] = record{value: binary.BigEndian.AppendUint64(v, uint64(st.at))} //nolint:gosec // read back the same way
		}
		return len(next) > 0, nil
	})
	if err != nil {
		return false, 0, err
	}
	return ok, retry, nil
}

// wait turns seconds, above 0, into a duration that is at least a nanosecond.
func wait(seconds float64) time.Duration {
	ns := math.Ceil(seconds * float64(time.Second))
	if ns >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(max(1, ns))
}

// refilled returns a bucket as it is now. A clock that went back adds nothing.
func refilled(t table, k tableKey, b sallyport.Bucket, now int64) bucketState {
	r, ok := t[k]
	if !ok {
		return bucketState{tokens: float64(b.Burst), at: now}
	}
	st := bucketState{
		tokens: math.Float64frombits(binary.BigEndian.Uint64(r.value)),
		at:     int64(binary.BigEndian.Uint64(r.value[8:])), //nolint:gosec // written by Take
	}
	if now > st.at {
		d := time.Duration(now - st.at)
		st.tokens = math.Min(float64(b.Burst), st.tokens+d.Seconds()*b.Rate)
		st.at = now
	}
	return st
}

// Put keeps a value of at most [MaxValue] bytes under a key until ttl has passed.
func (s *Store) Put(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	switch {
	case ttl <= 0:
		return errors.New("store: Put needs a positive time to live")
	case len(value) > MaxValue:
		return fmt.Errorf("store: %w: a value of %d bytes, at most %d are allowed", ErrFull, len(value), MaxValue)
	}
	return s.table.use(ctx, func(t table) (bool, error) {
		k := tableKey{kindValue, s.names.name(kindValue, key)}
		t[k] = record{expires: s.table.now().Add(ttl).UnixNano(), value: value}
		return true, nil
	})
}

// Claim returns the value under key and removes it. When it returns an error nobody can
// say who has the value; it is not given out.
func (s *Store) Claim(ctx context.Context, key string) (value []byte, ok bool, err error) {
	err = s.table.use(ctx, func(t table) (bool, error) {
		k := tableKey{kindValue, s.names.name(kindValue, key)}
		r, found := t[k]
		if !found {
			return false, nil
		}
		delete(t, k)
		value, ok = r.value, r.expires > s.table.now().UnixNano()
		return true, nil
	})
	if err != nil || !ok {
		return nil, false, err
	}
	return value, true, nil
}
