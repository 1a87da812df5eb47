package audit

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// mostUncovered is how many bytes of records make a checkpoint due whatever the options say.
	mostUncovered = 16 << 20
	// mostAtOnce is how much is read at most while others wait.
	mostAtOnce = 2 * mostUncovered
)

// retryCheckpoint is how long after one that failed the next is tried. A variable for tests.
var retryCheckpoint = 5 * time.Second

// closeWait bounds how long Close waits for the last checkpoint. A variable for tests.
var closeWait = 2 * time.Second

// checkpointer writes the checkpoints of a log in the background. Records do not wait for it: it
// reads them from the file, up to the last that this process knows, and follows the chain to it,
// so that nothing gets a signature that was not there when it was written.
type checkpointer struct {
	opt  Checkpoints
	log  *Log
	wake chan struct{}
	stop chan struct{}
	done chan struct{}
	once sync.Once

	began time.Time

	timerMu sync.Mutex
	timer   *time.Timer

	covered atomic.Uint64 // records that the last checkpoint covers, or another process's
	next    atomic.Int64  // when a timer wakes it, 0: none does; Unix nanoseconds
	later   atomic.Int64  // no checkpoint is tried before, unless at the end; Unix nanoseconds
	pending atomic.Int64  // bytes of this process's records since the last checkpoint
	written atomic.Uint64
	failed  atomic.Uint64

	mu      sync.Mutex // of the tree; Log.mu may be held when it is taken, never the other way
	tree    treePlace
	turn    atomic.Uint64 // counts when a rotation took the tree on
	has     bool          // there is a tree
	none    bool          // none can be had
	far     atomic.Bool   // more is to be read than others can wait for
	behind  atomic.Bool   // a rotation waits for the tree
	urgent  atomic.Uint64 // the record of a rotation that removed files, until a checkpoint covers it; 0: none
	changed atomic.Bool   // it was told that the log was changed
	said    string        // the failure that was told last; only of run
}

func startCheckpoints(l *Log, opt Checkpoints) *checkpointer {
	c := &checkpointer{opt: opt, log: l, began: time.Now(), wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
	go c.run()
	return c
}

// wrote notes a record of n bytes. Log.mu is held.
func (c *checkpointer) wrote(seq uint64, n int) {
	pending := c.pending.Add(int64(n))
	if covered := c.covered.Load(); c.opt.Records > 0 && seq >= covered+uint64(c.opt.Records) || seq < covered || pending >= mostUncovered {
		if time.Now().UnixNano() >= c.later.Load() {
			c.poke()
			return
		}
	}
	if c.opt.Interval > 0 && c.next.Load() == 0 {
		c.after(c.opt.Interval)
	}
}

// after sees to it that it looks again within a time.
func (c *checkpointer) after(d time.Duration) {
	c.timerMu.Lock()
	defer c.timerMu.Unlock()
	at := time.Now().Add(d).UnixNano()
	if next := c.next.Load(); next != 0 && next <= at {
		return
	}
	c.next.Store(at)
	if c.timer != nil {
		c.timer.Stop()
	}
	c.timer = time.AfterFunc(d, func() {
		c.next.Store(0)
		c.poke()
	})
}

func (c *checkpointer) stopTimer() {
	c.timerMu.Lock()
	defer c.timerMu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
	}
}

func (c *checkpointer) poke() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *checkpointer) run() {
	defer close(c.done)
	defer c.stopTimer()
	c.look(false) // the log may end in records that nobody signed
	for {
		select {
		case <-c.wake:
			if wait := time.Until(time.Unix(0, c.later.Load())); c.later.Load() > 0 && wait > 0 {
				c.after(wait)
				continue
			}
			c.look(false)
		case <-c.stop:
			c.look(true)
			return
		}
	}
}

// close writes the last checkpoint. Where that takes too long it goes on without it.
func (c *checkpointer) close() {
	c.once.Do(func() { close(c.stop) })
	t := time.NewTimer(closeWait)
	defer t.Stop()
	select {
	case <-c.done:
	case <-t.C:
		c.failed.Add(1)
		c.log.warn("the last checkpoint could not be written", errors.New("there was no time: much of the log is still to be read, or its place does not answer: "+c.opt.Path))
	}
}

// look writes a checkpoint if one is due, and tells what fails.
func (c *checkpointer) look(last bool) {
	var signed bool
	var wait time.Duration
	err := errStale
	for range 10 {
		turn := c.turn.Load()
		k, lost := c.log.whatIsKnown()
		if lost != nil || k.seq == 0 {
			return // there is nothing to sign, or the log is lost: the next append says so
		}
		k.turn = turn
		if signed, wait, err = c.checkpoint(&k, last); !errors.Is(err, errStale) && !errors.Is(err, os.ErrClosed) {
			break
		}
	}
	switch {
	case err == nil && signed:
		c.written.Add(1)
		c.later.Store(0)
		c.said = ""
	case err == nil && wait > 0:
		c.after(wait)
	case errors.Is(err, errStale), errors.Is(err, os.ErrClosed):
		c.after(100 * time.Millisecond)
	case err != nil:
		c.failed.Add(1)
		c.later.Store(time.Now().Add(retryCheckpoint).UnixNano())
		c.after(retryCheckpoint)
		if text := err.Error(); text != c.said {
			c.said = text
			c.log.warn("a checkpoint of the log could not be written; it is tried again", err)
		}
	}
}

// checkpoint writes one for what is known, if it is due. wait is when to look again.
func (c *checkpointer) checkpoint(k *known, last bool) (signed bool, wait time.Duration, err error) {
	f, _, err := openFile(c.log.path + stateEnd)
	if err != nil {
		return false, 0, err
	}
	defer f.Close()
	if err := lock(f); err != nil {
		return false, 0, err
	}
	defer unlock(f)
	shared, err := c.fitting(f, k)
	if err != nil {
		return false, 0, err
	}
	before := shared
	if before == nil {
		before = &treeState{written: c.began} // there is none, or none of this log
	}
	due, wait := c.due(k, before)
	if uint64(before.n) >= k.seq || !due && !last {
		c.coveredBy(uint64(before.n))
		if c.behind.Load() && uint64(before.n) <= k.seq {
			_, err = c.grow(k, shared)
		}
		return false, wait, err
	}
	place, err := c.grow(k, shared)
	if err != nil {
		return false, 0, err
	}
	root, err := place.root()
	if err != nil {
		return false, 0, err
	}
	durable := c.log.commits.policy != SyncNone
	if durable { // a checkpoint must not outlive its records
		if err := c.log.commits.fsync(k.f); err != nil {
			return false, 0, err
		}
	}
	text, err := c.opt.Key.sign(place.n, root)
	if err != nil {
		return false, 0, err
	}
	if err := appendNote(c.opt.Path, text, durable); err != nil {
		return false, 0, err
	}
	c.coveredTo(uint64(place.n))
	return true, 0, writeState(f, &treeState{place, time.Now()})
}

func (c *checkpointer) coveredTo(seq uint64) {
	c.coveredBy(seq)
	c.pending.Store(0)
}

// coveredBy notes how far a checkpoint reaches, whoever wrote it.
func (c *checkpointer) coveredBy(seq uint64) {
	if u := c.urgent.Load(); u <= seq {
		c.urgent.CompareAndSwap(u, 0) // another rotation may have come since
	}
	c.covered.Store(seq)
}

// due says whether a checkpoint is due after the one that was written last, by whichever process,
// or else when to look again.
func (c *checkpointer) due(k *known, s *treeState) (due bool, wait time.Duration) {
	if uint64(s.n) >= k.seq {
		c.pending.Store(0)
		return false, 0
	}
	if c.opt.Records > 0 && k.seq-uint64(s.n) >= uint64(c.opt.Records) || c.pending.Load() >= mostUncovered || c.urgent.Load() > 0 {
		return true, 0
	}
	if c.opt.Interval == 0 {
		return false, 0
	}
	wait = time.Until(s.written.Add(c.opt.Interval))
	return wait <= 0 || wait > c.opt.Interval, wait // a clock that was set back delays nothing
}
