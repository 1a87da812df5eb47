package clientconfig

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/sallyport-dev/sallyport/internal/quote"
)

// Change is what would become of a file. It is not written yet.
type Change struct {
	File    *File
	Entries []Entry // that change, as they were before
	// Mark: the file's byte order mark goes, or comes back. Clients differ in whether they
	// can read a file with one.
	Mark bool

	edits []edit
	data  []byte // the whole new file
	undo  bool
}

// Empty reports that nothing changes.
func (c *Change) Empty() bool { return len(c.Entries) == 0 }

// Wrap plans to put program, an absolute path, in front of every entry that is Plain and
// that pick takes. It is refused if the way back would not give the file's own bytes.
func (f *File) Wrap(program string, pick func(*Entry) bool) (*Change, error) {
	if f.Err != nil {
		return nil, f.Err
	}
	c := &Change{File: f}
	for i := range f.Entries {
		if e := &f.Entries[i]; e.State == Plain && pick(e) {
			c.Entries = append(c.Entries, *e)
			c.edits = append(c.edits, wrapEdits(f.src, e, program)...)
		}
	}
	if c.Empty() {
		c.data = f.raw
		return c, nil
	}
	var err error
	if c.data, err = apply(f.src, c.edits); err != nil {
		return nil, err
	}
	c.Mark = len(f.raw) != len(f.src)
	return c, f.checkWrap(c, program)
}

// checkWrap reads the new bytes as a later undo will.
func (f *File) checkWrap(c *Change, program string) error {
	after := &File{Location: f.Location, toml: f.toml, raw: c.data}
	if err := after.parse(c.data, program); err != nil {
		return fmt.Errorf("the edited file could not be read: %w; nothing is changed", err)
	}
	if len(after.Entries) != len(f.Entries) {
		return errors.New("the edited file would have other servers; nothing is changed")
	}
	changed := map[int]bool{} // by the place in after, whose entries are in the same order
	for i := range f.Entries {
		was, now := &f.Entries[i], after.Entries[i].at
		changed[now] = slices.ContainsFunc(c.Entries, func(e Entry) bool { return e.at == was.at })
	}
	back, err := after.Unwrap(func(e *Entry) bool { return changed[e.at] })
	if err != nil {
		return err
	}
	if len(back.Entries) != len(c.Entries) || !bytes.Equal(back.data, f.src) {
		return errors.New("the way back would not give this file's own bytes; nothing is changed")
	}
	for i, e := range back.Entries {
		if !slices.Equal(e.Command, c.Entries[i].Command) {
			return fmt.Errorf("the command of %s would not be the same; nothing is changed", quote.Value(e.Server, 100))
		}
	}
	return nil
}

// Unwrap plans to restore every entry that init wrapped and that pick takes: its command
// and arguments become the bytes that they were. Whatever else was changed in the file
// meanwhile stays.
func (f *File) Unwrap(pick func(*Entry) bool) (*Change, error) {
	if f.Err != nil {
		return nil, f.Err
	}
	c := &Change{File: f, undo: true}
	for i := range f.Entries {
		if e := &f.Entries[i]; e.State == Wrapped && e.ByInit && pick(e) {
			c.Entries = append(c.Entries, *e)
			c.edits = append(c.edits, unwrapEdits(f.src, e)...)
		}
	}
	var err error
	if c.data, err = apply(f.src, c.edits); err != nil {
		return nil, err
	}
	if _, err := f.read(c.data); err != nil {
		return nil, fmt.Errorf("the restored file could not be read: %w; nothing is changed", err)
	}
	if marked := slices.Concat(byteOrderMark, c.data); f.Target != "" && !c.Empty() && len(f.raw) == len(f.src) && bytes.Equal(marked, f.backup()) {
		c.data, c.Mark = marked, true
	}
	return c, nil
}

// backup is what the backup beside the file holds, nil for none.
func (f *File) backup() []byte {
	if info, err := os.Lstat(f.BackupPath()); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	data, err := readBounded(f.BackupPath())
	if err != nil {
		return nil
	}
	return data
}

// BackedUp reports that the backup beside the file holds it as it was read. One from before is never
// written over, and may be anybody's: a project can come with one.
func (f *File) BackedUp() bool { return bytes.Equal(f.raw, f.backup()) }

// Restored reports that the file becomes what its backup holds, to the byte.
func (c *Change) Restored() bool { return c.undo && bytes.Equal(c.data, c.File.backup()) }
