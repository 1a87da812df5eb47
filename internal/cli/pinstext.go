package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/pins"
	"github.com/sallyport-dev/sallyport/internal/quote"
)

// question is one difference that a person decides about, in all the sets where it waits.
type question struct {
	file  *pins.File
	waits []pins.Waits
}

// questions are what waits, each difference once.
func questions(files []*pins.File, tool string) []question {
	var all []question
	for _, f := range files {
		for _, w := range f.Waits() {
			if tool != "" && w.Tool != tool {
				continue
			}
			same := slices.IndexFunc(all, func(q question) bool {
				first := q.waits[0]
				return q.file == f && first.Tool == w.Tool && first.Now.Digest == w.Now.Digest && first.Was.Digest == w.Was.Digest && first.Own == w.Own
			})
			if same >= 0 {
				all[same].waits = append(all[same].waits, w)
				continue
			}
			all = append(all, question{f, []pins.Waits{w}})
		}
	}
	return all
}

func (q question) tool() string { return q.waits[0].Tool }

// upstream is the name under which the server was wrapped last.
func (q question) upstream() string { return upstreamName(q.file) }

func upstreamName(f *pins.File) string {
	if len(f.Names) == 0 {
		return f.Short()
	}
	return f.Names[len(f.Names)-1]
}

// show writes the difference. Everything of it is the server's own text. What deserves a
// second look is repeated at the end, where a long text cannot scroll it away.
func (q question) show(out io.Writer) {
	w := q.waits[0]
	d := pins.Diff(w.Was.Definition, w.Now.Definition)
	fmt.Fprintf(out, "tool %s of %s (%s, id %s)\n", quote.Value(w.Tool, 256), quote.Value(q.upstream(), 256), quote.Text(q.file.Shown, 400), q.file.Short())
	for _, w := range q.waits {
		fmt.Fprintf(out, "  listed to a client with %s, first seen %s\n", capabilities(w.Set), w.Now.Since.Format(time.RFC3339))
	}
	switch {
	case w.Was.How == "":
		fmt.Fprintln(out, "  it is new")
	case w.Own:
		fmt.Fprintf(out, "  pinned since %s (%s)\n", w.Was.Since.Format(time.RFC3339), w.Was.How)
	default:
		fmt.Fprintf(out, "  pinned for a client with other capabilities since %s (%s)\n", w.Was.Since.Format(time.RFC3339), w.Was.How)
	}
	for _, c := range d.Changes {
		mark := " "
		if c.Widens != "" {
			mark = "!"
		}
		folded(out, mark+" ", quote.Text(c.Place, 0)+why(c.Widens))
		showValues(out, c.Old, c.New)
	}
	for _, s := range d.Sinks {
		folded(out, "! ", "looks like a destination now: "+sinkText(s))
	}
	for _, s := range d.Lost {
		folded(out, "! ", "no longer looks like a destination, so it is not checked: "+sinkText(s))
	}
	marked := 0
	for _, c := range d.Changes {
		if c.Widens != "" {
			marked++
		}
	}
	fmt.Fprintf(out, "  %s, %d marked with !\n", count(len(d.Changes)+len(d.Sinks)+len(d.Lost), "change"), marked+len(d.Sinks)+len(d.Lost))
}

func sinkText(s string) string {
	if s == "*" {
		return "every argument"
	}
	return quote.Text(s, 0)
}

func why(mark string) string {
	if mark == "" {
		return ""
	}
	return " (" + mark + ")"
}

func capabilities(s *pins.Set) string {
	if len(s.Capabilities) == 0 {
		return "no capabilities"
	}
	var all []string
	for _, c := range s.Capabilities {
		all = append(all, quote.Text(c, 64))
	}
	return strings.Join(all, ", ")
}

// showValues writes an old and a new value, of two texts only what differs. Nothing of it
// is cut: a person is asked about all of it.
func showValues(out io.Writer, old, now doc.Value) {
	before, after := valueText(old), valueText(now)
	if old.Kind() == doc.String && now.Kind() == doc.String {
		before, after = differing(before, after)
	}
	for _, side := range []struct {
		sign, text string
		there      bool
	}{{"-", before, old.Kind() != doc.Absent}, {"+", after, now.Kind() != doc.Absent}} {
		if !side.there {
			continue
		}
		for line := range strings.SplitSeq(side.text, "\n") {
			folded(out, "    "+side.sign+" ", quote.Text(line, 0))
		}
	}
}

// columns is where a line ends, so that a terminal does not break it: what came to stand
// at the left edge could pass for a line of this program.
const columns = 78

// folded writes text in lines that all begin with prefix, cut behind a space where the line
// has one in its second half: names, addresses and links can then be copied. It counts every
// letter that may be a wide one as two columns.
func folded(out io.Writer, prefix, text string) {
	var b strings.Builder
	for {
		n := fitting(text, columns-len(prefix))
		if space := strings.LastIndexByte(text[:n], ' '); n < len(text) && space >= n/2 {
			n = space + 1
		}
		b.WriteString(prefix + text[:n] + "\n")
		if text = text[n:]; text == "" {
			break
		}
	}
	fmt.Fprint(out, b.String())
}

// fitting is how many bytes of text stand in a line of so many columns, at least one letter.
func fitting(text string, columns int) int {
	for i, r := range text {
		columns--
		if r >= 0x1100 {
			columns--
		}
		if columns < 0 && i > 0 {
			return i
		}
	}
	return len(text)
}

func valueText(v doc.Value) string {
	if v.Kind() == doc.String {
		return v.String()
	}
	return string(v.AppendJSON(nil))
}

// around is how many bytes of what two texts share are shown around their difference.
const around = 60

// differing cuts what two texts share at both ends, but for some context.
func differing(a, b string) (string, string) {
	start := 0
	for start < min(len(a), len(b)) && a[start] == b[start] {
		start++
	}
	end := 0
	for end < min(len(a), len(b))-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	cut := func(s string) string {
		from, to := max(0, start-around), min(len(s), len(s)-end+around)
		for from > 0 && !utf8.RuneStart(s[from]) {
			from--
		}
		for to < len(s) && !utf8.RuneStart(s[to]) {
			to++
		}
		head, tail := "", ""
		if from > 0 {
			head = "[…]"
		}
		if to < len(s) {
			tail = "[…]"
		}
		return head + s[from:to] + tail
	}
	return cut(a), cut(b)
}

// pinsText is what pins list prints.
func pinsText(files []*pins.File, tool string) string {
	var b strings.Builder
	for _, f := range files {
		fmt.Fprintf(&b, "%s (%s, id %s)\n", quote.Value(upstreamName(f), 256), quote.Text(f.Shown, 400), f.Short())
		for _, s := range f.Sets {
			fmt.Fprintf(&b, "  to a client with %s: %s pinned, the first %s\n", capabilities(s), count(len(s.Pins), "tool"), s.First.Format(time.RFC3339))
			for _, name := range s.Tools() {
				if tool != "" && tool != name {
					continue
				}
				p := s.Pins[name]
				fmt.Fprintf(&b, "    %s %s %-8s %s\n", p.Digest.String()[:12], p.Since.Format(time.RFC3339), cmp.Or(string(p.How), "-"), quote.Text(name, 256))
			}
		}
		if n := len(questions([]*pins.File{f}, tool)); n > 0 {
			fmt.Fprintf(&b, "  %s: %s pins diff\n", waitText(n), typedName())
		}
	}
	if len(files) == 0 {
		b.WriteString("nothing is pinned yet\n")
	}
	return b.String()
}
