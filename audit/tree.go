package audit

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math/bits"

	"golang.org/x/mod/sumdb/tlog"
)

// treeStart begins the tree that a rotation record carries.
const treeStart = `,"tree":[`

// edge is the right edge of the Merkle tree over a log's first n records: the hashes of its
// complete subtrees. It is enough to add records and to know the root of the whole.
type edge struct {
	n int64
	h [53]tlog.Hash // by level, where that bit of n is set: n is at most maxSeq
}

// ReadHashes implements tlog.HashReader for what lies on the edge.
func (e *edge) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	all := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		level, n := tlog.SplitStoredHashIndex(index)
		if level >= len(e.h) || e.n>>level&1 == 0 || n != e.n>>level-1 {
			return nil, fmt.Errorf("audit: hash %d of level %d is not on the edge of a tree of %d records", n, level, e.n)
		}
		all[i] = e.h[level]
	}
	return all, nil
}

// add adds the next record.
func (e *edge) add(record tlog.Hash) error {
	if e.n >= maxSeq {
		return errNumbers
	}
	top := bits.TrailingZeros64(uint64(e.n + 1))
	if top == 0 { // every other time, and nothing is to be combined
		e.h[0] = record
		e.n++
		return nil
	}
	all, err := tlog.StoredHashesForRecordHash(e.n, record, e)
	if err != nil {
		return err
	}
	e.h[top] = all[top]
	e.n++
	return nil
}

// root is the hash of the whole tree.
func (e *edge) root() (tlog.Hash, error) { return tlog.TreeHash(e.n, e) }

// hashes lists the complete subtrees from the largest on, as the records follow each other.
func (e *edge) hashes() []tlog.Hash {
	var all []tlog.Hash
	for level := len(e.h) - 1; level >= 0; level-- {
		if e.n>>level&1 == 1 {
			all = append(all, e.h[level])
		}
	}
	return all
}

func edgeOf(n uint64, hashes []tlog.Hash) (e edge, err error) {
	if n > maxSeq || bits.OnesCount64(n) != len(hashes) {
		return e, errors.New("audit: these are not the hashes of a tree of that size")
	}
	e.n = int64(n)
	for level := len(e.h) - 1; level >= 0; level-- {
		if n>>level&1 == 1 {
			e.h[level], hashes = hashes[0], hashes[1:]
		}
	}
	return e, nil
}

func (e *edge) is(o *edge) bool {
	if e.n != o.n {
		return false
	}
	for level := range e.h {
		if e.n>>level&1 == 1 && e.h[level] != o.h[level] {
			return false
		}
	}
	return true
}

// recordHash is the tree's hash of a record, over its leaf; over its whole line if it has no
// chain. text is as it was afterwards.
func recordHash(text []byte, h *head) tlog.Hash {
	if !h.chained {
		return tlog.RecordHash(text)
	}
	cut := len(h.leaf)
	was := text[cut]
	text[cut] = '}'
	hash := tlog.RecordHash(text[:cut+1])
	text[cut] = was
	return hash
}

// appendTree writes the member of a rotation record that carries the tree on.
func appendTree(buf []byte, hashes []tlog.Hash) []byte {
	buf = append(buf, treeStart...)
	for i, h := range hashes {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = append(buf, '"')
		buf = hex.AppendEncode(buf, h[:])
		buf = append(buf, '"')
	}
	return append(buf, ']')
}

// readTree reads what appendTree wrote, without its start.
func readTree(text string) (all []tlog.Hash, ok bool) {
	const each = digits + 2
	for {
		var s sum
		if len(text) < each+1 || text[0] != '"' || text[each-1] != '"' || len(all) == len(edge{}.h) {
			return nil, false
		}
		if copy(s[:], text[1:]); !s.valid() {
			return nil, false
		}
		var h tlog.Hash
		if _, err := hex.Decode(h[:], s[:]); err != nil {
			return nil, false
		}
		all = append(all, h)
		if text[each:] == "]" {
			return all, true
		}
		if text[each] != ',' {
			return nil, false
		}
		text = text[each+1:]
	}
}
