package sallyport

import (
	"context"
	"time"
)

// Store keeps what sessions share. Each method is atomic, also against other processes
// where the implementation spans them. Any error makes the engine refuse the call that
// needed it.
//
// [NewMemoryStore] is one implementation; package storetest holds the conformance test
// that every implementation must pass. Implementations are safe for concurrent use.
type Store interface {
	// Append adds one entry to the end of a log and returns its index, from 0. Entries keep
	// their order.
	Append(ctx context.Context, log string, entry []byte) (index int, err error)

	// Read returns the entries of a log from index from (0 is the first), in order, at
	// most max of them (max <= 0: all). An unknown log is empty.
	Read(ctx context.Context, log string, from, max int) (entries [][]byte, err error)

	// Add adds n (n > 0) to a counter unless the result would be over limit, and returns
	// the counter's value afterwards. ok is false, and the counter unchanged, when it
	// would be over. A new counter is 0.
	Add(ctx context.Context, counter string, n, limit int64) (total int64, ok bool, err error)

	// Take takes one token from each bucket, or from none. ok is false when at least one
	// had none; retry is then when all have one again, as things stand. Without debit it
	// only looks: nothing is taken.
	Take(ctx context.Context, buckets []Bucket, debit bool) (ok bool, retry time.Duration, err error)

	// Put keeps a value under a key until ttl has passed, replacing what was there.
	Put(ctx context.Context, key string, value []byte, ttl time.Duration) error

	// Claim returns the value under key and removes it: of several claims one gets it.
	// ok is false when there is none.
	Claim(ctx context.Context, key string) (value []byte, ok bool, err error)
}

// Bucket is a token bucket, full when first used.
type Bucket struct {
	Name  string
	Rate  float64 // tokens per second, > 0
	Burst int     // most tokens it holds, >= 1
}
