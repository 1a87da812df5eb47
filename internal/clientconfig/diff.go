package clientconfig

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/sallyport-dev/sallyport/internal/quote"
)

const (
	contextLines = 3
	maxShown     = 400 // characters of one line
)

// hunk is a run of lines that differ: old[oldFrom:oldTo] become new[newFrom:newTo].
type hunk struct{ oldFrom, oldTo, newFrom, newTo int }

// Diff is the change as a unified diff, for a terminal: escaped, with secrets and the texts
// of other settings hidden. It is for reading and not for patch.
func (c *Change) Diff() string {
	if c.Empty() {
		return ""
	}
	f := c.File
	after := bytes.TrimPrefix(c.data, byteOrderMark)
	oldRoot, err1 := f.read(f.src)
	newRoot, err2 := f.read(after)
	if err1 != nil || err2 != nil {
		return "" // both were read before
	}
	oldLines, newLines := maskedLines(f.src, oldRoot), maskedLines(after, newRoot)
	var b strings.Builder
	name := quote.Text(f.Target, 1000)
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", name, name)
	for _, group := range grouped(trimmed(c.hunks(), oldLines, newLines)) {
		writeGroup(&b, group, oldLines, newLines)
	}
	return b.String()
}

// trimmed takes lines that are the same out of the ends of hunks.
func trimmed(hunks []hunk, before, after []string) []hunk {
	for i := range hunks {
		h := &hunks[i]
		for h.oldFrom < h.oldTo && h.newFrom < h.newTo && before[h.oldTo-1] == after[h.newTo-1] {
			h.oldTo--
			h.newTo--
		}
		for h.oldFrom < h.oldTo && h.newFrom < h.newTo && before[h.oldFrom] == after[h.newFrom] {
			h.oldFrom++
			h.newFrom++
		}
	}
	return hunks
}

// hunks says which lines the edits touch.
func (c *Change) hunks() []hunk {
	l := newLines(c.File.src)
	var all []hunk
	shift := 0 // lines that the file grew by before here
	for _, e := range c.edits {
		from, to := l.of(e.start)-1, l.of(e.end)
		grows := strings.Count(e.text, "\n") - bytes.Count(c.File.src[e.start:e.end], []byte("\n"))
		h := hunk{from, to, from + shift, to + shift + grows}
		shift += grows
		if n := len(all); n > 0 && h.oldFrom <= all[n-1].oldTo {
			all[n-1].oldTo, all[n-1].newTo = max(h.oldTo, all[n-1].oldTo), h.newTo
			continue
		}
		all = append(all, h)
	}
	return all
}

// grouped puts hunks together whose context would touch.
func grouped(hunks []hunk) [][]hunk {
	var groups [][]hunk
	for _, h := range hunks {
		if n := len(groups); n > 0 {
			last := groups[n-1][len(groups[n-1])-1]
			if h.oldFrom-last.oldTo <= 2*contextLines {
				groups[n-1] = append(groups[n-1], h)
				continue
			}
		}
		groups = append(groups, []hunk{h})
	}
	return groups
}

func writeGroup(b *strings.Builder, group []hunk, before, after []string) {
	first, last := group[0], group[len(group)-1]
	from := max(first.oldFrom-contextLines, 0)
	to := min(last.oldTo+contextLines, len(before))
	if to == len(before) && to > last.oldTo && before[to-1] == "" {
		to-- // what follows the last line break is no line
	}
	newFrom := first.newFrom - (first.oldFrom - from)
	newTo := last.newTo + (to - last.oldTo)
	fmt.Fprintf(b, "@@ -%d,%d +%d,%d @@\n", from+1, to-from, newFrom+1, newTo-newFrom)
	at := from
	for _, h := range group {
		for ; at < h.oldFrom; at++ {
			writeLine(b, ' ', before[at], 0)
		}
		skip := 0
		if h.oldTo > h.oldFrom && h.newTo > h.newFrom {
			skip = common(before[h.oldFrom], after[h.newFrom])
		}
		for ; at < h.oldTo; at++ {
			writeLine(b, '-', before[at], skip)
		}
		for i := h.newFrom; i < h.newTo; i++ {
			writeLine(b, '+', after[i], skip)
		}
	}
	for ; at < to; at++ {
		writeLine(b, ' ', before[at], 0)
	}
}

// common is how much of a long line to leave out before the place that differs.
func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	if n -= maxShown / 4; n < maxShown {
		return 0
	}
	return n
}

func writeLine(b *strings.Builder, mark byte, line string, skip int) {
	b.WriteByte(mark)
	if skip > 0 && skip < len(line) {
		for skip < len(line) && !utf8.RuneStart(line[skip]) {
			skip++
		}
		fmt.Fprintf(b, "(%d bytes)…", skip)
		line = line[skip:]
	}
	line = strings.ReplaceAll(line, "\t", "    ")
	b.WriteString(quote.Text(line, maxShown))
	b.WriteByte('\n')
}
