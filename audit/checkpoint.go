package audit

import (
	"encoding/base64"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/sallyport-dev/sallyport/internal/quote"
)

// Checkpoints says where signed checkpoints of a log go, and when. A checkpoint is the root of
// the Merkle tree over all records so far, in the form of C2SP tlog-checkpoint, signed as a C2SP
// signed note. Whoever holds one can find later whether the records that it covers are still
// there, and still the same.
type Checkpoints struct {
	// Path is a file to append to, or a named pipe; best on another machine's disk. Nothing that
	// happens there delays a record: what fails is told to Options.Warn, counted and tried again.
	Path string
	Key  *SigningKey
	// A checkpoint is due after so many records, or so long after the first record that none
	// covers, whichever comes first; 0: that does not count. One is written at Close too, and after
	// 16 MiB of records.
	Records  int
	Interval time.Duration
}

func (c *Checkpoints) check() error {
	switch {
	case c.Path == "" || c.Key == nil:
		return errors.New("audit: checkpoints need a place and a key")
	case c.Records < 0 || c.Interval < 0 || c.Records == 0 && c.Interval == 0:
		return errors.New("audit: checkpoints need a number of records or an interval")
	}
	return nil
}

// apart refuses a place that is a file of the log's own: a checkpoint in it would be a line that no
// log wrote, or would take the place of what is kept there.
func (c *Checkpoints) apart(log string) error {
	place := realPath(c.Path)
	log = realPath(log)
	if place == log || place == log+stateEnd || place == log+nextEnd || isPart(place) && strings.HasPrefix(place, log+".") || isSame(c.Path, log) {
		return fmt.Errorf("audit: the checkpoints' place %s is a file of the log's own: name another", quote.Text(c.Path, 1000))
	}
	return nil
}

// realPath is where a path leads, as far as its directory is there.
func realPath(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path))
	}
	return path
}

// checkpoint is what is signed.
type checkpoint struct {
	origin string
	size   int64
	root   tlog.Hash
}

var errCheckpoint = errors.New("not the text of a checkpoint")

// sign returns the whole note.
func (k *SigningKey) sign(size int64, root tlog.Hash) ([]byte, error) {
	return note.Sign(&note.Note{Text: fmt.Sprintf("%s\n%d\n%s\n", k.Name(), size, root)}, k.signer)
}

// parseCheckpoint reads a note's text: origin, size and root, a line each. Lines after these are
// extensions, which mean nothing here.
func parseCheckpoint(text string) (c checkpoint, err error) {
	all := strings.SplitN(text, "\n", 4)
	if len(all) < 4 || all[0] == "" {
		return c, errCheckpoint
	}
	c.origin = all[0]
	c.size, err = strconv.ParseInt(all[1], 10, 64)
	if err != nil || c.size < 0 || c.size > maxSeq || strconv.FormatInt(c.size, 10) != all[1] {
		return c, errCheckpoint
	}
	root, err := base64.StdEncoding.Strict().DecodeString(all[2])
	if err != nil || len(root) != tlog.HashSize {
		return c, errCheckpoint
	}
	copy(c.root[:], root)
	return c, nil
}

// noteStart is what goes before a note that is appended to a file of some size: an empty line,
// so that what a crash left of the note before does not become part of this one.
func noteStart(size int64, readLast func(last []byte) (int, error)) ([]byte, error) {
	if size == 0 {
		return nil, nil
	}
	last := []byte{0}
	if _, err := readLast(last); err != nil {
		return nil, err
	}
	if last[0] != '\n' {
		return []byte("\n\n"), nil
	}
	return []byte("\n"), nil
}
