package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sallyport-dev/sallyport/internal/quote"
)

// sheet is the document, laid out once for both forms.
type sheet struct {
	title    string
	lead     []block
	sections []section
}

// section is one chapter. id is a constant of this package.
type section struct {
	id, title string
	blocks    []block
}

// block is one of its fields: the first that is set.
type block struct {
	sub   string // a heading, one of this package's own texts
	para  line
	list  []line
	table *table
	chart *chart
	note  *note
}

// table is rows under a head. more is how many rows were left out.
type table struct {
	head  []string
	rows  [][]line
	more  int
	facts bool // two columns: what, and its value
}

// note is a paragraph that stands out.
type note struct {
	tone tone
	text line
}

// tone says what a number, a badge or a bar stands for.
type tone uint8

const (
	neutral tone = iota
	good
	caution
	bad
)

var toneNames = [...]string{"neutral", "good", "caution", "bad"}

func (t tone) String() string { return toneNames[t] }

// line is a run of text.
type line []span

// kind is how a span is shown.
type kind uint8

const (
	plain kind = iota // this package's own words, and sentences about the configuration
	value             // text from a configuration, a server or a log
	strong
	badge
	link
)

// span is a text in one style. text is escaped by the forms, whatever its kind.
type span struct {
	kind kind
	text string
	tone tone   // of a badge
	to   string // of a link: a constant of this package
}

const (
	maxValue    = 200  // characters of a name or value
	maxSentence = 1000 // of a sentence
)

// say is this package's own words.
func say(text string) line { return line{{kind: plain, text: text}} }

func sayf(format string, args ...any) line { return say(fmt.Sprintf(format, args...)) }

// prose is a sentence in which text of others may stand, such as a finding's. What it has in
// quotes is shown as values are.
func prose(text string) line {
	text = quote.Text(text, maxSentence)
	var l line
	from := 0 // of the words that are not in l yet
	for i := 0; i < len(text); i++ {
		if text[i] != '\'' || i > 0 && !strings.ContainsRune(" (=", rune(text[i-1])) {
			continue
		}
		n := quoted(text[i+1:])
		if n <= 0 {
			continue
		}
		if i > from {
			l = append(l, say(text[from:i])...)
		}
		l = append(l, span{kind: value, text: text[i+1 : i+1+n]})
		i += n + 1
		from = i + 1
	}
	if from < len(text) || len(l) == 0 {
		l = append(l, say(text[from:])...)
	}
	return l
}

// quoted is the length of a value in quotes that begins in front of s, as [quote.Value] writes
// them, or -1 if none ends.
func quoted(s string) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '\'':
			if i+1 < len(s) && !strings.ContainsRune(" .,;:)?", rune(s[i+1])) {
				return -1
			}
			return i
		}
	}
	return -1
}

// val is text from elsewhere.
func val(text string) line { return line{{kind: value, text: quote.Text(text, maxValue)}} }

// long is val for a sentence.
func long(text string) line { return line{{kind: value, text: quote.Text(text, maxSentence)}} }

func bold(text string) line { return line{{kind: strong, text: text}} }

func mark(t tone, text string) line { return line{{kind: badge, tone: t, text: text}} }

// source is a link out of the document.
func source(text, url string) line { return line{{kind: link, text: text, to: url}} }

func num[N int | int64 | uint64](n N) line { return say(strconv.FormatInt(int64(n), 10)) } //nolint:gosec // counts

// join puts lines one after the other.
func join(lines ...line) line {
	var l line
	for _, more := range lines {
		l = append(l, more...)
	}
	return l
}

// vals are values with commas in between, at most max of them.
func vals(list []string, max int) line {
	var l line
	for i, s := range list {
		if i == max {
			return append(l, sayf(" and %d more", len(list)-max)...)
		}
		if i > 0 {
			l = append(l, say(", ")...)
		}
		l = append(l, val(s)...)
	}
	return l
}

// capped leaves out rows beyond max and says how many.
func (t *table) capped(max int) *table {
	if len(t.rows) > max {
		t.more += len(t.rows) - max
		t.rows = t.rows[:max]
	}
	return t
}

func paragraph(parts ...line) block { return block{para: join(parts...)} }

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}
