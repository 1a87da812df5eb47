package audit

import (
	"errors"
	"fmt"
	"os"
	"time"
)

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
		switch err := from.reach(k); {
		case err == nil:
			c.tree, c.has, c.none = from, true, false
			return c.tree, nil
		case !errors.Is(err, errChanged):
			return treePlace{}, err
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

// rotated notes that the record after the tree's last one begins a new file. Where files are
// removed it is to be signed at once: until then nothing shows that it was rotation that took them.
func (c *checkpointer) rotated(first uint64, removed bool) {
	if removed {
		c.urgent.Store(first)
		c.poke()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.has && uint64(c.tree.n)+1 == first {
		c.tree.file, c.tree.offset = first, 0
	}
}
