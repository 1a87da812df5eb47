package audit

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Sync says when what was written is forced to the disk. A crash of the program loses
// nothing under any of them: this is about the system, and the power.
type Sync uint8

const (
	// SyncInterval, the default, forces records to the disk once a second while there are
	// new ones. No call waits for it, and a power failure loses a second at most.
	SyncInterval Sync = iota
	// SyncAlways makes a record count only when it is on the disk. Many writers share one
	// sync; outcomes, for which nothing waits, follow within a second.
	SyncAlways
	// SyncNone leaves it to the system, which takes half a minute or so.
	SyncNone
)

// syncEvery is how long a record that nothing waits for stays off the disk. A variable
// for tests.
var syncEvery = time.Second

// commits shares syncs between all who wait for one. Each written record has a ticket,
// and a sync settles all that were written before it began. Safe for concurrent use.
type commits struct {
	policy Sync
	fsync  func(*os.File) error // replaced in tests
	warn   func(what string, err error)

	mu      sync.Mutex
	done    *sync.Cond
	f       *os.File // the file of the last ticket
	written uint64   // the last ticket
	synced  uint64   // tickets up to here are on the disk
	failed  uint64   // tickets up to here, if not synced, could not be forced to it
	err     error    // why
	broken  bool     // a sync for which nobody waited failed: the next writer tries again
	leading bool     // somebody syncs for all
	timer   *time.Timer
	closed  bool
	syncs   atomic.Uint64
}

func (c *commits) start(policy Sync, warn func(string, error)) {
	c.policy, c.warn, c.fsync = policy, warn, (*os.File).Sync
	c.done = sync.NewCond(&c.mu)
}

// wrote takes a record that was written to f, and returns its ticket.
func (c *commits) wrote(f *os.File) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.written++
	c.f = f
	return c.written
}

// settle waits for a ticket if the policy says so; else it sees to it that a sync comes.
func (c *commits) settle(ticket uint64, waits bool) error {
	switch {
	case c.policy == SyncNone:
		return nil
	case c.policy == SyncAlways && waits:
		if err := c.wait(ticket); err != nil {
			return fmt.Errorf("audit: the record was written and cannot be forced to the disk: %w", err)
		}
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer == nil && !c.closed {
		c.timer = time.AfterFunc(syncEvery, c.inBackground)
	}
	return nil
}

// wait returns when the ticket is on the disk or cannot be brought there. Who comes while
// nobody syncs does it for all that are written by then; the others wait for that one, and if
// it began before their records, one of them does the next.
func (c *commits) wait(ticket uint64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		switch {
		case c.synced >= ticket:
			return nil
		case c.failed >= ticket:
			return c.err
		case c.leading:
			c.done.Wait()
			continue
		}
		c.leading = true
		f, upTo := c.f, c.written
		c.mu.Unlock()
		err := c.fsync(f)
		c.syncs.Add(1)
		c.mu.Lock()
		c.leading = false
		if err == nil {
			c.synced, c.broken = max(c.synced, upTo), false
		} else {
			c.failed, c.err = max(c.failed, upTo), err
		}
		c.done.Broadcast()
	}
}

// inBackground syncs what nothing waits for.
func (c *commits) inBackground() {
	c.mu.Lock()
	c.timer = nil
	ticket := c.written
	c.mu.Unlock()
	// The file of a lost log is closed; that it is lost is said elsewhere.
	if err := c.wait(ticket); err != nil && !errors.Is(err, os.ErrClosed) {
		c.mu.Lock()
		c.broken = true
		c.mu.Unlock()
		c.warn("records could not be forced to the disk; none is written until that works", err)
	}
}

// healthy tries again if the last sync in the background failed: what cannot be kept must
// not go on unseen.
func (c *commits) healthy() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.broken {
		return nil
	}
	if err := c.fsync(c.f); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("audit: earlier records cannot be forced to the disk: %w", err)
	}
	c.synced, c.broken = c.written, false
	return nil
}

// allSynced notes that every ticket is on the disk.
func (c *commits) allSynced() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.synced = c.written
	c.done.Broadcast()
}

func (c *commits) close() error {
	c.mu.Lock()
	c.closed = true
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
	ticket := c.written
	c.mu.Unlock()
	if c.policy == SyncNone {
		return nil
	}
	if err := c.wait(ticket); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("audit: the last records cannot be forced to the disk: %w", err)
	}
	return nil
}

// Stats counts what a log did since it was opened by this process.
type Stats struct {
	Records   uint64 // written by Append
	Failures  uint64 // of Append
	Syncs     uint64
	Rotations uint64

	Checkpoints        uint64 // written
	CheckpointFailures uint64

	Failing  bool              // the last Append failed
	Verdicts map[string]uint64 // of the verdicts that were written, by verdict: allow, ask, deny
}

type counters struct {
	records, failures, rotations atomic.Uint64
	failing                      atomic.Bool
	verdicts                     [len(verdicts)]atomic.Uint64
}

// verdicts are those that are counted, as a record has them.
var verdicts = [...]string{"allow", "ask", "deny"}

func (c *counters) add(r *Record, err error) {
	c.failing.Store(err != nil)
	if err != nil {
		c.failures.Add(1)
		return
	}
	c.records.Add(1)
	if r.Phase != PhaseVerdict {
		return
	}
	for i, v := range verdicts {
		if r.Verdict == v {
			c.verdicts[i].Add(1)
		}
	}
}

// Stats returns the counts, for metrics.
func (l *Log) Stats() Stats {
	s := Stats{
		Records: l.counts.records.Load(), Failures: l.counts.failures.Load(),
		Syncs: l.commits.syncs.Load(), Rotations: l.counts.rotations.Load(),
		Failing: l.counts.failing.Load(), Verdicts: make(map[string]uint64, len(verdicts)),
	}
	for i, v := range verdicts {
		s.Verdicts[v] = l.counts.verdicts[i].Load()
	}
	if l.points != nil {
		s.Checkpoints, s.CheckpointFailures = l.points.written.Load(), l.points.failed.Load()
	}
	return s
}
