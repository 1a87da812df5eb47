package store

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"
)

const (
	// MaxValue is the largest value of [Store.Put], in bytes.
	MaxValue = 64 << 10

	maxTable   = 4 << 20 // bytes of one sealed content
	tableMagic = "sallyport tab 1\n"
	pointerAt  = len(tableMagic)
	pointer    = 8 + 4
	contentAt  = 4096
	recordHead = 1 + nameSize + 8 + 4

	kindCounter = 'c'
	kindBucket  = 'b'
	kindValue   = 'v'
	kindLog     = 'l'
)

type tableKey struct {
	kind byte
	name [nameSize]byte
}

func (k tableKey) compare(o tableKey) int {
	return cmp.Or(cmp.Compare(k.kind, o.kind), bytes.Compare(k.name[:], o.name[:]))
}

type record struct {
	expires int64 // nanoseconds since 1970; 0: never
	value   []byte
}

// A table is what the session's processes share besides logs.
type table map[tableKey]record

var errTable = errors.New("it does not verify")

// slot is where a generation's content is in the file.
func slot(generation uint64) int64 { return contentAt + int64(generation%2)*maxTable } //nolint:gosec // 0 or 1

// sealTable returns the pointer to a content, and the content sealed.
func sealTable(s *sealer, generation uint64, t table) (head, sealed []byte) {
	content := t.encode()
	head = binary.BigEndian.AppendUint64(make([]byte, 0, pointer), generation)
	head = binary.BigEndian.AppendUint32(head, uint32(len(content)+sealSize)) //nolint:gosec // checked before it is written
	return head, s.tables.Seal(nil, nil, content, head)
}

// newTable is the file of an empty table.
func newTable(s *sealer) []byte {
	head, sealed := sealTable(s, 0, nil)
	b := append(make([]byte, 0, contentAt+len(sealed)), tableMagic...)
	return append(append(b, head...)[:contentAt], sealed...)
}

// readTable reads and verifies the table that the file's pointer points to.
func readTable(s *sealer, f io.ReaderAt) (generation uint64, t table, err error) {
	var b [len(tableMagic) + pointer]byte
	if err := readFull(f, b[:], 0); err != nil {
		return 0, nil, err
	}
	head, isTable := bytes.CutPrefix(b[:], []byte(tableMagic))
	if !isTable {
		return 0, nil, errTable
	}
	generation = binary.BigEndian.Uint64(head)
	size := binary.BigEndian.Uint32(head[8:])
	if size > maxTable {
		return 0, nil, errTable
	}
	sealed := make([]byte, size)
	if err := readFull(f, sealed, slot(generation)); err != nil {
		return 0, nil, err
	}
	content, err := s.tables.Open(sealed[:0], nil, sealed, head)
	if err != nil {
		return 0, nil, errTable
	}
	t, err = parseTable(content)
	return generation, t, err
}

// readFull reads all of b. A file that is too short is errTable.
func readFull(f io.ReaderAt, b []byte, at int64) error {
	n, err := f.ReadAt(b, at)
	switch {
	case n == len(b):
		return nil
	case errors.Is(err, io.EOF):
		return errTable
	}
	return err
}

func (t table) encode() []byte {
	var b []byte
	for _, k := range slices.SortedFunc(maps.Keys(t), tableKey.compare) {
		r := t[k]
		b = append(append(b, k.kind), k.name[:]...)
		b = binary.BigEndian.AppendUint64(b, uint64(r.expires))    //nolint:gosec // read back the same way
		b = binary.BigEndian.AppendUint32(b, uint32(len(r.value))) //nolint:gosec // at most MaxValue
		b = append(b, r.value...)
	}
	return b
}

func parseTable(b []byte) (table, error) {
	t := make(table)
	var last tableKey
	for len(b) > 0 {
		if len(b) < recordHead {
			return nil, errTable
		}
		k := tableKey{b[0], [nameSize]byte(b[1:])}
		r := record{expires: int64(binary.BigEndian.Uint64(b[1+nameSize:]))} //nolint:gosec // any value will do
		size := int64(binary.BigEndian.Uint32(b[9+nameSize:]))
		b = b[recordHead:]
		if size > int64(len(b)) || last.compare(k) >= 0 || !fits(k.kind, size) {
			return nil, errTable
		}
		r.value, b = b[:size:size], b[size:]
		t[k], last = r, k
	}
	return t, nil
}

func fits(kind byte, size int64) bool {
	switch kind {
	case kindCounter:
		return size == 8
	case kindBucket:
		return size == 16
	case kindValue:
		return size <= MaxValue
	case kindLog:
		return size == 0
	}
	return false
}

// A tableFile is the table on the disk. It is safe for concurrent use.
type tableFile struct {
	now  func() time.Time
	wait time.Duration

	sem    chan struct{} // holds one while a use is under way, which then owns all below
	closed bool
	f      *os.File
	sealer *sealer
	seen   uint64 // the highest generation
}

// use reads the table, lets change look at it, and writes it if that changed it, all
// under the lock.
func (f *tableFile) use(ctx context.Context, change func(table) (changed bool, err error)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case f.sem <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-f.sem }()
	if f.closed {
		return ErrClosed
	}
	if err := lock(ctx, f.f, true, f.wait); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	defer unlock(f.f)
	t, err := f.read()
	if err != nil {
		return err
	}
	changed, err := change(t)
	if err != nil || !changed {
		return err
	}
	return f.write(t)
}

func (f *tableFile) read() (table, error) {
	if _, names, err := fstat(f.f); err != nil {
		return nil, fmt.Errorf("store: %w", err)
	} else if names == 0 {
		return nil, fmt.Errorf("store: %w: its table was removed", ErrDamaged)
	}
	generation, t, err := readTable(f.sealer, f.f)
	switch {
	case errors.Is(err, errTable):
		return nil, fmt.Errorf("store: %w: its table: %w", ErrDamaged, err)
	case err != nil:
		return nil, fmt.Errorf("store: %w", err)
	case generation < f.seen:
		return nil, fmt.Errorf("store: %w: its table is an old one", ErrDamaged)
	}
	f.seen = generation
	return t, nil
}

// write puts the content beside the one in use and then moves the pointer. Whoever is
// killed in between leaves the old one in use.
func (f *tableFile) write(t table) error {
	now := f.now().UnixNano()
	maps.DeleteFunc(t, func(_ tableKey, r record) bool { return r.expires != 0 && r.expires <= now })
	next := f.seen + 1
	head, sealed := sealTable(f.sealer, next, t)
	if len(sealed) > maxTable {
		return fmt.Errorf("store: %w: its table would have %d bytes, at most %d are allowed", ErrFull, len(sealed), maxTable)
	}
	if _, err := f.f.WriteAt(sealed, slot(next)); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if _, err := f.f.WriteAt(head, int64(pointerAt)); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	f.seen = next
	return nil
}

func (f *tableFile) close() {
	f.sem <- struct{}{}
	f.closed = true
	_ = f.f.Close()
	<-f.sem
}
