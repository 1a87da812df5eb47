package auditread

import (
	"bytes"
	"encoding/json/jsontext"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	maxKept    = 4 << 10 // texts that are kept
	maxKeptLen = 256     // bytes of each
	maxScratch = 1 << 20 // bytes that stay allocated for what is decoded
)

// texts decodes JSON strings and gives equal ones the same memory.
type texts struct {
	kept    map[string]string
	scratch []byte
}

// of decodes a JSON string; nil is "". Longer ones are cut to [MaxText] bytes.
func (t *texts) of(raw []byte) string {
	if len(raw) < 2 {
		return ""
	}
	plain := raw[1 : len(raw)-1]
	if bytes.IndexByte(plain, '\\') >= 0 {
		var err error
		if t.scratch, err = jsontext.AppendUnquote(t.scratch[:0], raw); err != nil {
			return ""
		}
		plain = t.scratch
		defer t.shrink()
	}
	if len(plain) > maxKeptLen {
		return cut(plain)
	}
	if s, ok := t.kept[string(plain)]; ok {
		return s
	}
	if len(t.kept) >= maxKept || t.kept == nil {
		t.kept = make(map[string]string)
	}
	s := string(plain)
	t.kept[s] = s
	return s
}

// once is of for texts that do not come again.
func (t *texts) once(raw []byte) string {
	if len(raw) < 2 {
		return ""
	}
	if plain := raw[1 : len(raw)-1]; bytes.IndexByte(plain, '\\') < 0 {
		return cut(plain)
	}
	var err error
	if t.scratch, err = jsontext.AppendUnquote(t.scratch[:0], raw); err != nil {
		return ""
	}
	defer t.shrink()
	return cut(t.scratch)
}

func (t *texts) shrink() {
	if cap(t.scratch) > maxScratch {
		t.scratch = nil
	}
}

// cut keeps [MaxText] bytes of a text, whole characters.
func cut(b []byte) string { return string(cutTo(b, MaxText)) }

func cutTo(b []byte, max int) []byte {
	if len(b) <= max {
		return b
	}
	n := max
	for n > 0 && !utf8.RuneStart(b[n]) {
		n--
	}
	return fmt.Appendf(bytes.Clone(b[:n]), "…(+%d bytes)", len(b)-n)
}

// name is a text cut to what a row of a table keeps.
func name(s string) string {
	if len(s) <= maxKeptLen {
		return s
	}
	return strings.Clone(string(cutTo([]byte(s), maxKeptLen)))
}
