package demo

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/sallyport-dev/sallyport/internal/quote"
)

// width is what a plain terminal shows in one line.
const width = 80

// out prints the story. Whatever a server or a call said goes through show.
type out struct {
	w      io.Writer
	colour bool
	dir    string // of the run; "…" stands for it
}

var codes = map[string]string{"bold": "1", "red": "31", "green": "32", "dim": "2"}

func (o *out) raw(s string) { io.WriteString(o.w, s) } //nolint:errcheck // a closed terminal ends the demo anyway

func (o *out) paint(style, s string) string {
	if !o.colour || style == "" {
		return s
	}
	return "\x1b[" + codes[style] + "m" + s + "\x1b[0m"
}

func (o *out) line(style, s string) { o.raw(o.paint(style, s) + "\n") }

func (o *out) head(s string) {
	o.raw("\n")
	o.line("bold", s)
}

// para prints s in lines of at most width, indented.
func (o *out) para(indent int, s string) { o.styled("", indent, s) }

func (o *out) styled(style string, indent int, s string) {
	for _, l := range wrap(s, width-indent) {
		if l != "" {
			l = strings.Repeat(" ", indent) + l
		}
		o.line(style, l)
	}
}

// quote prints a text as it is, indented and cut at width.
func (o *out) quote(s string) {
	for l := range strings.Lines(s) {
		o.line("dim", "    "+cut(o.show(strings.TrimSuffix(l, "\n")), width-4))
	}
}

// title begins a story.
func (o *out) title(name, text string) {
	o.raw("\n")
	o.line("bold", strings.ToUpper(name)+": "+text)
}

// indent is where the call stands in a line of [out.step], and what is said of it.
const indent = 12

// step prints one call and what became of it.
func (o *out) step(st step, answer string, refused bool) {
	mark, style, became := " ", "green", "ran"
	if st.wish {
		mark = "!"
	}
	switch {
	case refused:
		style, became = "bold", "refused"
	case st.wish:
		style = "red"
	}
	o.raw("  " + mark + " " + o.paint(style, fmt.Sprintf("%-8s", became)) + cut(o.short(call(st)), width-indent) + "\n")
	if refused {
		o.styled("red", indent, o.show(answer))
	}
}

// asked prints what the gateway asks about a call.
func (o *out) asked(st step, question string) {
	mark := " "
	if st.wish {
		mark = "!"
	}
	o.raw("  " + mark + " " + o.paint("bold", fmt.Sprintf("%-8s", "asked")) + cut(o.short(call(st)), width-indent) + "\n")
	for _, l := range abridged(question) {
		o.styled("", indent, cut(o.show(l), questionSize))
	}
}

// questionSize bounds how many characters of a line of a question are shown.
const questionSize = 300

// abridged leaves out of a question what the story has shown already.
func abridged(question string) []string {
	var lines []string
	for l := range strings.Lines(question) {
		l = strings.TrimRight(l, "\n")
		for _, known := range []string{"known from: ", "evidence: ", "all arguments: "} {
			if strings.HasPrefix(l, known) {
				l = "…"
			}
		}
		if l != "…" || len(lines) == 0 || lines[len(lines)-1] != "…" {
			lines = append(lines, l)
		}
	}
	return lines
}

// call writes a call as one line.
func call(st step) string {
	s := st.tool
	for _, a := range st.args {
		s += fmt.Sprintf(" %s=%q", a.name, a.value)
	}
	return show(s)
}

// tableLine is one line of the table of both worlds.
type tableLine struct {
	what, without, with string
	bad                 bool
}

func (o *out) table(lines []tableLine) {
	o.line("bold", fmt.Sprintf("  %-44s%-10s%s", "", "without", "with sallyport"))
	for _, l := range lines {
		style := "green"
		if l.bad {
			style = "red"
		}
		o.raw(fmt.Sprintf("  %-44s%-10s", l.what, l.without) + o.paint(style, l.with) + "\n")
	}
}

// short writes the directory of the run as "…": a temporary name says nothing.
func (o *out) short(s string) string {
	if o.dir == "" {
		return s
	}
	return strings.ReplaceAll(s, o.dir, "…")
}

func (o *out) show(s string) string { return o.short(show(s)) }

// show makes hostile text safe for a terminal, line by line.
func show(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = quote.Text(l, 0)
	}
	return strings.Join(lines, "\n")
}

// cut shortens s to n characters.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// wrap breaks s into lines of at most n characters, at spaces where there are any.
func wrap(s string, n int) []string {
	var lines []string
	for par := range strings.SplitSeq(strings.TrimRight(s, "\n"), "\n") {
		line := ""
		for _, word := range strings.Fields(par) {
			for utf8.RuneCountInString(word) > n {
				if line != "" {
					lines, line = append(lines, line), ""
				}
				r := []rune(word)
				lines, word = append(lines, string(r[:n])), string(r[n:])
			}
			next := strings.TrimSpace(line + " " + word)
			if utf8.RuneCountInString(next) > n {
				lines, next = append(lines, line), word
			}
			line = next
		}
		lines = append(lines, line)
	}
	return lines
}
