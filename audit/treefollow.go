package audit

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// treePlace is a tree over a log's first records, and where the next record is to be read.
type treePlace struct {
	edge
	hash   sum    // of the tree's last record
	file   uint64 // the number of the first record of the file
	offset int64  // in that file
}

// known is what a log knew of its file at one moment.
type known struct {
	f     *os.File
	size  int64
	seq   uint64
	hash  sum
	first firstRecord
	turn  uint64 // of the checkpointer, when this was known
}

var (
	errStale   = errors.New("audit: the log was rotated meanwhile")
	errChanged = errors.New("the log does not hold what was written to it")
	errNoTree  = errors.New("records at the log's beginning are gone, and no rotation carried their tree on: checkpoints can be made of a log that begins anew")
)

// whatIsKnown returns what the file holds as far as this process knows.
func (l *Log) whatIsKnown() (known, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil || !l.known {
		return known{}, os.ErrClosed
	}
	return known{f: l.f, size: l.size, seq: l.seq, hash: l.prev, first: l.first}, nil
}

// follow adds the records that r holds, up to the one that has that number and hash. Only what
// the chain leads to is added, so that a line that was changed, torn or put in is none; records
// without a chain are known by their numbers.
func (p *treePlace) follow(r io.Reader, seq uint64, hash sum) error {
	in, sums, d := newLines(r), newSummer(), decoder{}
	for uint64(p.n) < seq {
		ln, err := in.next()
		if errors.Is(err, io.EOF) {
			return errChanged
		}
		if err != nil {
			return err
		}
		p.offset += ln.size
		if ln.tooLong || !ln.ended {
			continue
		}
		h, err := readHead(ln.text)
		if err != nil || h.seq != uint64(p.n)+1 {
			continue
		}
		if h.chained {
			if h.prev != p.hash || !h.intact(sums) {
				continue
			}
		} else if d.members(ln.text, false) != nil {
			continue
		}
		if err := p.add(recordHash(ln.text, &h)); err != nil {
			return err
		}
		p.hash = h.hash
	}
	if p.hash != hash {
		return errChanged
	}
	return nil
}

// reach follows the current file of a log to its last known record.
func (p *treePlace) reach(k *known) error {
	if uint64(p.n) > k.seq || p.offset > k.size {
		return errChanged
	}
	return p.follow(io.NewSectionReader(k.f, p.offset, k.size-p.offset), k.seq, k.hash)
}

// startOf is the tree at the beginning of a file, if the file tells it: at record 1, or where a
// rotation record carries it on.
func startOf(first *firstRecord) (p treePlace, ok bool) {
	p = treePlace{hash: noPrev, file: first.seq}
	if first.seq <= 1 {
		p.file = 1
		return p, true
	}
	if !first.rotation || first.before.tree == nil {
		return p, false
	}
	var err error
	if p.edge, err = edgeOf(first.before.seq, first.before.tree); err != nil {
		return p, false
	}
	copy(p.hash[:], first.before.hash) // none: that record has no chain
	return p, true
}

// fromFiles finds the tree at the beginning of the current file by reading older ones.
func fromFiles(path string, first *firstRecord) (p treePlace, err error) {
	all, err := parts(path, first.before.number)
	if err != nil {
		return p, err
	}
	heads := make([]firstRecord, len(all)+1)
	heads[len(all)] = *first
	from := len(all)
	for {
		var ok bool
		if p, ok = startOf(&heads[from]); ok {
			break
		}
		if from--; from < 0 {
			return p, errNoTree
		}
		if heads[from], err = all[from].first(); err != nil {
			return p, err
		}
	}
	for ; from < len(all); from++ {
		next := &heads[from+1]
		if !next.rotation {
			return p, errNoTree
		}
		hash := noPrev
		copy(hash[:], next.before.hash)
		if err := p.throughPart(all[from], next.before.seq, hash); err != nil {
			return p, err
		}
		p.file, p.offset = next.seq, 0
	}
	return p, nil
}

func (p *treePlace) throughPart(older part, seq uint64, hash sum) error {
	r, err := older.open()
	if err != nil {
		return err
	}
	defer r.Close()
	if err := p.follow(r, seq, hash); err != nil {
		return fmt.Errorf("%s: %w", older.name, err)
	}
	return nil
}
