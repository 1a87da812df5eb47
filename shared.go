package sallyport

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// sharing is how far a scope has read of what the other processes of its client have
// seen.
type sharing struct {
	mu   sync.Mutex
	next int          // index of the first entry that was not read
	own  map[int]bool // entries behind it that this process wrote
}

// patience bounds how long sharing waits for a store that another process holds up.
const patience = 5 * time.Second

func (d *doubt) log() string { return fmt.Sprintf("ledger %q", d.name) }

// publish returns how the ledger tells what it has seen; nil if it is not shared.
func (d *doubt) publish() func(entry []byte) error {
	if !d.shared {
		return nil
	}
	return func(entry []byte) error {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		at, err := d.store.Append(ctx, d.log(), entry)
		if err != nil {
			return err
		}
		d.sharing.mu.Lock()
		defer d.sharing.mu.Unlock()
		switch {
		case at == d.sharing.next:
			d.sharing.next++
		case at > d.sharing.next:
			d.sharing.own[at] = true
		}
		return nil
	}
}

// join reads what was seen before this session began.
func (d *doubt) join() error {
	if !d.shared {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	d.mustCatchUp(ctx)
	return d.ledger.Damaged()
}

// readAtOnce is how many entries are read before they are recorded, so that little of a
// long log is in memory.
const readAtOnce = 64

// catchUp records what other processes have seen since the last time. What cannot be read
// damages the ledger. With nothing new it costs one look at the store.
//
// An error is that of ctx: nothing is damaged, and nothing may be decided.
func (d *doubt) catchUp(ctx context.Context) error {
	if !d.shared {
		return nil
	}
	d.sharing.mu.Lock()
	defer d.sharing.mu.Unlock()
	for {
		entries, err := d.store.Read(ctx, d.log(), d.sharing.next, readAtOnce)
		switch {
		case err != nil && ctx.Err() != nil:
			return err // the call that waits for this ends as given up
		case err != nil:
			d.ledger.Damage(err)
			return nil
		}
		for _, e := range entries {
			at := d.sharing.next
			d.sharing.next++
			if d.sharing.own[at] {
				delete(d.sharing.own, at)
				continue
			}
			if d.ledger.Take(e) != nil {
				return nil
			}
		}
		if len(entries) < readAtOnce {
			return nil
		}
	}
}

// mustCatchUp is catchUp where nobody waits who could be refused: what could not be read in
// time may be missing.
func (d *doubt) mustCatchUp(ctx context.Context) {
	if err := d.catchUp(ctx); err != nil {
		d.ledger.Damage(err)
	}
}
