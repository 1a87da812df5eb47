package audit

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/jsontext"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/tlog"
)

// line is one line of a log.
type line struct {
	text    []byte // without its line feed; valid until the next line is read
	size    int64  // bytes, with its line feed
	ended   bool   // it has a line feed
	tooLong bool   // longer than MaxLine; text is only its beginning
}

// lines reads a log line by line, in bounded memory.
type lines struct {
	in  *bufio.Reader
	buf []byte
	// overlong, if it is set, is given the whole of each line longer than MaxLine, in
	// parts, with its line feed.
	overlong func(p []byte)
}

func newLines(r io.Reader) *lines { return &lines{in: bufio.NewReaderSize(r, 64<<10)} }

func (l *lines) next() (line, error) {
	l.buf = l.buf[:0]
	var ln line
	for {
		part, err := l.in.ReadSlice('\n')
		ln.size += int64(len(part))
		switch {
		case ln.tooLong:
			l.pass(part)
		case ln.size > MaxLine+1:
			ln.tooLong = true
			l.pass(l.buf)
			l.pass(part)
		case err == nil && len(l.buf) == 0:
			ln.text = part // the common case: no copy
		default:
			l.buf = append(l.buf, part...)
			ln.text = l.buf
		}
		switch {
		case err == nil:
			ln.ended = true
			if !ln.tooLong {
				ln.text = ln.text[:len(ln.text)-1]
			}
			return ln, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && ln.size > 0:
			return ln, nil
		default:
			return ln, err
		}
	}
}

func (l *lines) pass(p []byte) {
	if l.overlong != nil {
		l.overlong(p)
	}
}

// head is what the chain needs to know of a record.
type head struct {
	seq     uint64
	time    time.Time
	event   string // only of the log's own events
	chained bool
	prev    sum
	hash    sum
	leaf    []byte // without its closing brace
}

// intact reports whether the record's bytes are those that its hash was made of.
func (h *head) intact(sums *summer) bool {
	return sums.of(&h.prev, h.leaf, brace) == h.hash
}

// maxSeq is the last number of a record: the largest that every JSON reader knows exactly.
const maxSeq = 1<<53 - 1

var (
	errLayout = errors.New("not laid out as a record")
	errJSON   = errors.New("not valid JSON")
)

// decoder reads lines as records, strictly.
type decoder struct {
	in  bytes.Buffer
	dec *jsontext.Decoder
}

func (d *decoder) decode(text []byte) (head, error) {
	h, err := readHead(text)
	if err != nil {
		return h, err
	}
	return h, d.members(text, h.chained)
}

// readHead reads the members at the beginning and at the end of a line, which have
// fixed places.
func readHead(text []byte) (h head, err error) {
	rest, ok := bytes.CutPrefix(text, []byte(seqStart))
	n := bytes.IndexByte(rest, ',')
	if !ok || n < 1 || n > 20 || rest[0] == '0' {
		return h, errLayout
	}
	if h.seq, err = strconv.ParseUint(string(rest[:n]), 10, 64); err != nil || h.seq > maxSeq {
		return h, errLayout
	}
	rest, ok = bytes.CutPrefix(rest[n:], []byte(timeStart))
	if !ok || len(rest) < len(timeLayout)+len(eventStart) {
		return h, errLayout
	}
	if h.time, err = time.Parse(timeLayout, string(rest[:len(timeLayout)])); err != nil {
		return h, errLayout
	}
	rest, ok = bytes.CutPrefix(rest[len(timeLayout):], []byte(eventStart))
	if !ok {
		return h, errLayout
	}
	for _, own := range []string{eventRepair, eventRestart, eventRotation} {
		if bytes.HasPrefix(rest, []byte(own+`"`)) {
			h.event = own
		}
	}
	h.leaf, h.prev, h.hash, h.chained = links(text)
	if !h.chained {
		h.leaf, h.prev, h.hash = nil, noPrev, noPrev
	}
	return h, nil
}

// members reads the whole line as JSON: one object, no name twice, valid UTF-8, known
// members of their kind.
func (d *decoder) members(text []byte, chained bool) error {
	d.in = *bytes.NewBuffer(text)
	if d.dec == nil {
		d.dec = jsontext.NewDecoder(&d.in)
	} else {
		d.dec.Reset(&d.in)
	}
	if t, err := d.dec.ReadToken(); err != nil || t.Kind() != '{' {
		return errJSON
	}
	for d.dec.PeekKind() == '"' {
		name, err := d.dec.ReadToken()
		if err != nil {
			return errJSON
		}
		key := name.String()
		want, known := kinds[key]
		if known && d.dec.PeekKind() != want {
			return errLayout
		}
		if !chained && (key == "prev" || key == "hash") {
			return errLayout
		}
		if err := d.dec.SkipValue(); err != nil {
			return errJSON
		}
	}
	if t, err := d.dec.ReadToken(); err != nil || t.Kind() != '}' {
		return errJSON
	}
	if d.dec.InputOffset() != int64(len(text)) {
		return errJSON
	}
	return nil
}

// sealed is what a repair record says of the bytes before it.
type sealed struct {
	bytes int64
	sha   [sha256.Size]byte
}

// before is what a restart record says of the log that is gone, and a rotation record of
// the file that it goes on from.
type before struct {
	seq      uint64
	hash     string
	number   int         // of a rotation: of the file before
	keptFrom uint64      // of a rotation: the first record that is kept
	tree     []tlog.Hash // of a rotation: the tree over all records before; nil: not carried
}

const (
	sealedStart = `,"sealed":{"bytes":`
	shaStart    = `,"sha256":"`
	beforeStart = `,"before":{"seq":`
	fileStart   = `,"file":`
	keptStart   = `,"kept_from":`
)

// readSealed reads the sealed member of a repair record, the last one before its links.
func (h *head) readSealed(text []byte) (s sealed, ok bool) {
	part := h.ownPart(text, sealedStart)
	n := bytes.IndexByte(part, ',')
	if n < 1 {
		return s, false
	}
	var err error
	if s.bytes, err = strconv.ParseInt(string(part[:n]), 10, 64); err != nil {
		return s, false
	}
	digest, ok := bytes.CutPrefix(part[n:], []byte(shaStart))
	if !ok || len(digest) < digits || string(digest[digits:]) != `"}` {
		return s, false
	}
	_, err = hex.Decode(s.sha[:], digest[:digits])
	return s, err == nil && s.bytes >= 0
}

// readBefore reads the before member of a restart or rotation record.
func (h *head) readBefore(text []byte) (b before, ok bool) {
	part := h.ownPart(text, beforeStart)
	n := bytes.IndexAny(part, ",}")
	if n < 1 {
		return b, false
	}
	var err error
	if b.seq, err = strconv.ParseUint(string(part[:n]), 10, 64); err != nil {
		return b, false
	}
	part = part[n:]
	if digest, ok := bytes.CutPrefix(part, []byte(hashStart)); ok {
		var s sum
		if len(digest) <= digits || digest[digits] != '"' || !(copy(s[:], digest) == digits && s.valid()) {
			return b, false
		}
		b.hash, part = string(s[:]), digest[digits+1:]
	}
	if h.event == eventRotation {
		at := bytes.LastIndex(part, []byte(keptStart))
		if at < 0 || !bytes.HasPrefix(part, []byte(fileStart)) || !bytes.HasSuffix(part, brace) {
			return b, false
		}
		name := bytes.TrimSuffix(part[:at], []byte(`"`))
		if b.number, err = strconv.Atoi(string(name[bytes.LastIndexByte(name, '.')+1:])); err != nil || b.number < 1 || b.number > maxPart {
			return b, false
		}
		kept, tree, carried := strings.Cut(string(part[at+len(keptStart):len(part)-1]), treeStart)
		if carried {
			if b.tree, carried = readTree(tree); !carried {
				return b, false
			}
		}
		b.keptFrom, err = strconv.ParseUint(kept, 10, 64)
		return b, err == nil && b.keptFrom > 0
	}
	return b, string(part) == "}"
}

// ownPart returns what follows start, up to the record's links.
func (h *head) ownPart(text []byte, start string) []byte {
	end := text[:len(text)-1]
	if h.chained {
		end = h.leaf[:len(h.leaf)-prevMember]
	}
	at := bytes.LastIndex(end, []byte(start))
	if at < 0 {
		return nil
	}
	return end[at+len(start):]
}
