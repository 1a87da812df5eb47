package audit

import (
	"errors"
	"fmt"
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
	// retryCheckpoint is how long after one that failed the next is tried.
	retryCheckpoint = 5 * time.Second
)

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

	covered atomic.Uint64 // records that the last checkpoint covers, or another process's
	armed   atomic.Bool   // a timer will wake it
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
	changed atomic.Bool   // it was told that the log was changed
	said    string        // the failure that was told last
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
	if c.opt.Interval > 0 {
		c.after(c.opt.Interval)
	}
}

// after sees to it that it looks again within a time.
func (c *checkpointer) after(d time.Duration) {
	if c.armed.CompareAndSwap(false, true) {
		time.AfterFunc(d, func() {
			c.armed.Store(false)
			c.poke()
		})
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
		c.log.warn("the last checkpoint could not be written", errors.New("its place does not answer: "+c.opt.Path))
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
		c.covered.Store(uint64(before.n))
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
	c.covered.Store(seq)
	c.pending.Store(0)
}

// due says whether a checkpoint is due after the one that was written last, by whichever process,
// or else when to look again.
func (c *checkpointer) due(k *known, s *treeState) (due bool, wait time.Duration) {
	if uint64(s.n) >= k.seq {
		c.pending.Store(0)
		return false, 0
	}
	if c.opt.Records > 0 && k.seq-uint64(s.n) >= uint64(c.opt.Records) || c.pending.Load() >= mostUncovered {
		return true, 0
	}
	if c.opt.Interval == 0 {
		return false, 0
	}
	wait = time.Until(s.written.Add(c.opt.Interval))
	return wait <= 0 || wait > c.opt.Interval, wait // a clock that was set back delays nothing
}

// fitting reads the tree that the log's processes share. One that is not of this log is nil.
func (c *checkpointer) fitting(f *os.File, k *known) (*treeState, error) {
	s, err := readState(f)
	if err != nil && !errors.Is(err, errState) {
		return nil, err
	}
	if err != nil || s.n == 0 {
		return nil, nil
	}
	if uint64(s.n) < k.seq {
		return &s, nil // whether it fits shows when the chain is followed
	}
	fits := false
	switch {
	case s.file == k.first.seq: // others may have written what this process has not seen
		st, err := k.f.Stat()
		if err != nil {
			return nil, err
		}
		if s.offset > st.Size() {
			break
		}
		tails := tailReader{sums: newSummer()}
		t, err := tails.read(k.f, s.offset)
		if err != nil {
			return nil, err
		}
		fits = !t.torn() && t.seq == uint64(s.n) && t.hash == s.hash
	case s.file > k.first.seq: // rotated, which this process may not have seen
		now, err := part{name: c.log.path}.first()
		if err != nil {
			return nil, err
		}
		fits = now.seq >= s.file
	}
	if !fits {
		c.tellChanged()
		return nil, nil
	}
	return &s, nil
}

func (c *checkpointer) tellChanged() {
	if c.changed.CompareAndSwap(false, true) {
		go c.log.warn("the log was changed since its last checkpoint, or begins anew",
			fmt.Errorf("sallyport audit verify %s --checkpoint %s says more", c.log.path, c.opt.Path))
	}
}

// grow brings the tree up to what is known and returns it.
func (c *checkpointer) grow(k *known, shared *treeState) (treePlace, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.turn.Load() != k.turn {
		return treePlace{}, errStale
	}
	c.far.Store(c.unread(k) > mostAtOnce)
	defer c.far.Store(false)
	c.behind.Store(false)
	if shared != nil && shared.file == k.first.seq && (!c.has || shared.n > c.tree.n) {
		from := shared.treePlace
		if from.reach(k) == nil {
			c.tree, c.has, c.none = from, true, false
			return c.tree, nil
		}
		c.tellChanged()
	}
	err := c.growOwn(k)
	c.none = errors.Is(err, errNoTree) || errors.Is(err, errChanged)
	return c.tree, err
}

// unread is how many bytes are to be read at most until the tree is that of all that is known.
func (c *checkpointer) unread(k *known) int64 {
	if c.has && c.tree.file == k.first.seq {
		return k.size - c.tree.offset
	}
	if _, ok := startOf(&k.first); ok {
		return k.size
	}
	return 1 << 62 // older files too
}

// growOwn does it without what others left. c.mu is held.
func (c *checkpointer) growOwn(k *known) error {
	if c.has && uint64(c.tree.n) == k.seq && c.tree.hash == k.hash && c.tree.file == k.first.seq {
		return nil
	}
	if c.has && c.tree.file == k.first.seq {
		from := c.tree
		err := from.reach(k)
		if err == nil {
			c.tree = from
			return nil
		}
		if !errors.Is(err, errChanged) {
			return err
		}
		c.tellChanged()
	}
	c.has = false
	from, ok := startOf(&k.first)
	var err error
	if !ok {
		if from, err = fromFiles(c.log.path, &k.first); err != nil {
			return err
		}
	}
	if err = from.reach(k); err != nil {
		return err
	}
	c.tree, c.has = from, true
	return nil
}

// carry returns the tree over all that is known, for the record with which the next file begins;
// nil if there is none. busy says that it would take longer than others can wait. Log.mu and
// the file's lock are held.
func (c *checkpointer) carry(k *known) (tree *edge, busy bool, err error) {
	for !c.mu.TryLock() {
		if c.far.Load() {
			return nil, true, nil
		}
		time.Sleep(50 * time.Microsecond)
	}
	defer c.mu.Unlock()
	c.turn.Add(1)
	if c.none {
		return nil, false, nil
	}
	if c.unread(k) > mostAtOnce {
		c.behind.Store(true)
		c.poke()
		return nil, true, nil
	}
	if err := c.growOwn(k); errors.Is(err, errNoTree) || errors.Is(err, errChanged) {
		return nil, false, nil
	} else if err != nil {
		return nil, false, err
	}
	e := c.tree.edge
	return &e, false, nil
}

// rotated notes that the record after the tree's last one begins a new file.
func (c *checkpointer) rotated(first uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.has && uint64(c.tree.n)+1 == first {
		c.tree.file, c.tree.offset = first, 0
	}
}
