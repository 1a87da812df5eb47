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
		o.line("dim", "    "+cut(show(strings.TrimSuffix(l, "\n")), width-4))
	}
}

// callSize bounds how many characters of a call are shown.
const callSize = 180

// step prints one call and what came back.
func (o *out) step(n int, st step, answer string, refused bool) {
	who := ""
	if st.attack {
		who = "  [the ticket's wish]"
	}
	o.line("", fmt.Sprintf("%2d. %s%s", n, st.why, who))
	o.styled("dim", 4, "> "+cut(call(st), callSize))
	switch {
	case refused:
		o.styled("red", 4, show(answer))
	case st.whole:
		o.line("green", "    ok:")
		o.styled("", 6, show(answer))
	default:
		first, rest, _ := strings.Cut(strings.TrimSpace(answer), "\n")
		if rest != "" {
			first += " …"
		}
		o.line("green", "    "+cut("ok: "+show(first), width-4))
	}
}

// call writes a call as one line.
func call(st step) string {
	s := st.tool
	for _, a := range st.args {
		s += fmt.Sprintf(" %s=%q", a.name, a.value)
	}
	return show(s)
}

func (o *out) table(without, with world, log logState) {
	row := func(what string, a, b any, bad bool) {
		style := "green"
		if bad {
			style = "red"
		}
		o.raw(fmt.Sprintf("  %-44s%-18v", what, a) + o.paint(style, fmt.Sprint(b)) + "\n")
	}
	o.line("bold", fmt.Sprintf("  %-44s%-18s%s", "", "without", "with sallyport"))
	row("mails to the attacker", without.AttackerMails, with.AttackerMails, with.AttackerMails > 0)
	row("the attacker's key in authorized_keys", yes(without.KeyWritten), yes(with.KeyWritten), with.KeyWritten)
	row(fmt.Sprintf("customers left of %d (two deletions allowed)", len(customers())),
		without.Customers, with.Customers, with.Customers < worldWith.Customers)
	row("the customer's question answered", yes(without.HonestMails > 0), yes(with.HonestMails > 0), with.HonestMails == 0)
	row("the agent's own note in its workspace", yes(without.NoteWritten), yes(with.NoteWritten), !with.NoteWritten)
	state := "verified"
	if log.Problems > 0 {
		state = "BROKEN"
	}
	row("audit log", "none", fmt.Sprintf("%d records", log.Records), false)
	row("  its hash chain", "", state, log.Problems > 0)
	row("  its verdicts on calls", "", fmt.Sprintf("%d allow, %d deny", log.Verdicts["allow"], log.Verdicts["deny"]), false)
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

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
