package audit

import (
	"bufio"
	"cmp"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/sallyport-dev/sallyport/internal/quote"
)

const (
	maxNoteLine  = 4 << 10 // bytes of a line that can be part of a note
	maxNoteLines = 64      // of text, and of signatures
	// MaxCheckpoints bounds the checkpoints that a log is compared with.
	MaxCheckpoints = 1 << 20
	maxUnused      = 10 // checkpoints that were not used and are listed

	signatureStart = "— "
)

// Noted are checkpoints, read from files and streams, that a log is compared with. Not safe for
// concurrent use. Read them before the log is looked at: a gateway that goes on writing makes
// checkpoints of records that were not there then.
type Noted struct {
	keys    note.Verifiers
	several bool // keys

	all     []noted
	foreign int64 // notes that none of the keys has signed
	files   []string
	rep     CheckpointReport
}

// noted is one checkpoint and where it was read.
type noted struct {
	size int64
	root tlog.Hash
	file int32
	line int64
}

// NewNoted takes the verifier keys whose signatures count. Without any, signatures are not
// checked, and the report says so.
func NewNoted(keys ...string) (*Noted, error) {
	n := &Noted{}
	var all []note.Verifier
	for _, key := range keys {
		v, err := note.NewVerifier(strings.TrimSpace(key))
		if err != nil {
			return nil, fmt.Errorf("%s is no verifier key: %w", quote.Text(key, 100), err)
		}
		if !slices.ContainsFunc(all, func(o note.Verifier) bool { return o.Name() == v.Name() && o.KeyHash() == v.KeyHash() }) {
			all = append(all, v)
		}
	}
	n.keys = note.VerifierList(all...)
	n.rep.Checked = len(all) > 0
	n.several = len(all) > 1
	return n, nil
}

// ReadFile reads the checkpoints of a file.
func (n *Noted) ReadFile(path string) error {
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file", quote.Text(path, 1000))
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return n.Read(path, f)
}

// Read reads notes, each after the other, with empty lines between them or not. What is no whole
// note, and notes that other keys have signed, are counted and not used; a signature that is
// wrong is a problem. The error is one of reading, or that there are too many. name is for
// messages.
func (n *Noted) Read(name string, r io.Reader) error {
	n.files = append(n.files, quote.Text(name, 1000))
	n.rep.Files++
	in := noteReader{in: bufio.NewReaderSize(r, maxNoteLine)}
	for {
		text, at, err := in.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(n.all) == MaxCheckpoints {
			return fmt.Errorf("%s: there are more than %d checkpoints; the newest suffice: tail makes a file of them", n.files[len(n.files)-1], MaxCheckpoints)
		}
		n.take(text, at)
	}
}

// take takes one note; "" is something that is none.
func (n *Noted) take(text string, at int64) {
	if text == "" {
		n.unused(at, "this is no whole note: a crash tore it, or it was cut")
		return
	}
	n.rep.Notes++
	signed, err := note.Open([]byte(text), n.keys)
	var unverified *note.UnverifiedNoteError
	var wrong *note.InvalidSignatureError
	switch {
	case errors.As(err, &wrong) && !wholeSignature(text, wrong.Name):
		n.unused(at, "the signature is not whole: a crash tore it, or it was cut")
		return
	case errors.As(err, &wrong):
		n.problem(at, "the signature is not that of this text: it was changed, or signed by somebody else")
		return
	case errors.As(err, &unverified) && n.rep.Checked:
		n.foreign++
		n.unused(at, "none of the given keys has signed it")
		return
	case errors.As(err, &unverified):
		signed = unverified.Note
	case err != nil:
		n.unused(at, "this is no note: it was changed, or is something else")
		return
	}
	c, err := parseCheckpoint(signed.Text)
	if err != nil {
		n.unused(at, "this note is no checkpoint")
		return
	}
	if len(signed.Sigs) > 0 && !slices.ContainsFunc(signed.Sigs, func(s note.Signature) bool { return s.Name == c.origin }) {
		n.problem(at, "the key that signed it is another log's: its name is not the checkpoint's origin")
		return
	}
	file := int32(len(n.files) - 1)
	if l := len(n.all); l > 0 && n.all[l-1].size == c.size && n.all[l-1].root == c.root {
		return
	}
	n.all = append(n.all, noted{c.size, c.root, file, at})
}

// wholeSignature reports whether the last signature of a note by a key of that name is as long as
// one of Ed25519.
func wholeSignature(text, name string) bool {
	_, s, _ := strings.Cut(text[strings.LastIndex(text, signatureStart+name+" ")+1:], name+" ")
	return len(strings.TrimSuffix(s, "\n")) == base64.StdEncoding.EncodedLen(4+ed25519.SignatureSize)
}

func (n *Noted) unused(line int64, text string) {
	if len(n.rep.Unused) == maxUnused {
		n.rep.MoreUnused++
		return
	}
	n.rep.Unused = append(n.rep.Unused, Problem{File: n.files[len(n.files)-1], Line: line, Text: text})
}

func (n *Noted) problem(line int64, text string) {
	n.rep.problem(Problem{File: n.files[len(n.files)-1], Line: line, Kind: KindCheckpoint, Text: text})
}

// at names the place of a checkpoint.
func (n *Noted) at(p *noted) string { return fmt.Sprintf("%s:%d", n.files[p.file], p.line) }

// Verify is [Verify], with these checkpoints.
func (n *Noted) Verify(r io.Reader) (Report, error) {
	v := newVerifier()
	v.marks = n.marks()
	err := v.read(r)
	return v.finish(), err
}

// VerifyFile is [VerifyFile], with these checkpoints.
func (n *Noted) VerifyFile(path string) (Report, error) { return verifyFile(path, n.marks()) }

func (n *Noted) marks() *marks {
	all := slices.Clone(n.all)
	slices.SortStableFunc(all, func(a, b noted) int { return cmp.Compare(a.size, b.size) })
	all = slices.CompactFunc(all, func(a, b noted) bool { return a.size == b.size && a.root == b.root })
	rep := n.rep
	rep.Problems, rep.Unused = slices.Clone(rep.Problems), slices.Clone(rep.Unused)
	return &marks{of: n, all: all, rep: &rep}
}

// noteReader finds notes in a stream, in bounded memory.
type noteReader struct {
	in   *bufio.Reader
	line int64
	held string // a line that was read too far
	has  bool
}

// next returns a whole note and the line at which it begins. "" stands for lines that are none.
func (r *noteReader) next() (text string, at int64, err error) {
	var b strings.Builder
	lines, whole := 0, true
	for {
		s, ok, err := r.read()
		if err != nil {
			if errors.Is(err, io.EOF) && lines > 0 {
				return "", at, nil
			}
			return "", 0, err
		}
		if s == "" && ok {
			if lines == 0 {
				continue
			}
			break
		}
		if lines++; lines == 1 {
			at = r.line
		}
		if whole = whole && ok && lines <= maxNoteLines; whole {
			b.WriteString(s + "\n")
		}
	}
	b.WriteString("\n")
	signatures := 0
	for {
		s, ok, err := r.read()
		if err != nil && !errors.Is(err, io.EOF) {
			return "", 0, err
		}
		if err != nil || !strings.HasPrefix(s, signatureStart) {
			if err == nil {
				r.held, r.has = s, ok
				r.line--
			}
			if signatures == 0 || !whole {
				return "", at, nil
			}
			return b.String(), at, nil
		}
		if signatures++; !ok || signatures > maxNoteLines {
			whole = false
			continue
		}
		b.WriteString(s + "\n")
	}
}

// read returns the next line; ok is false for one that is too long or that has no end.
func (r *noteReader) read() (s string, ok bool, err error) {
	if r.held != "" || r.has {
		s, ok = r.held, r.has
		r.held, r.has = "", false
		r.line++
		return s, ok, nil
	}
	part, err := r.in.ReadSlice('\n')
	s, ok = string(part), true
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = r.in.ReadSlice('\n')
		ok = false
	}
	if err != nil && (!errors.Is(err, io.EOF) || s == "") {
		return "", false, err
	}
	r.line++
	if err != nil { // a crash tore it
		return s, false, nil
	}
	return strings.TrimSuffix(s, "\n"), ok, nil
}
