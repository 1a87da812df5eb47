package audit

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/quote"
)

const (
	// wholePrefix is how many bytes of a long secret give it away: reasons quote
	// values cut short.
	wholePrefix = 12
	maxScrubbed = 2 * MaxText
)

// Redact returns a text about a call as a record would show it: without what is redacted in
// the call's arguments, and without what [RedactText] finds. Arguments that are dropped
// only because the log holds none stay: the text is for the one who wrote them.
func (l *Log) Redact(args doc.Value, text string) string {
	if text == "" {
		return ""
	}
	e := newEncoder(l.red)
	defer e.release()
	e.drop = false
	e.arguments(args)
	return RedactText(e.scrub(text))
}

// scrub replaces what was redacted in the arguments where it stands in a text: as it
// is, in other case, quoted and escaped, or cut.
func (e *encoder) scrub(text string) string {
	switch {
	case text == "" || len(e.secrets)+len(e.names) == 0 && !e.tooMany:
		return text
	case e.tooMany || len(text) > maxScrubbed:
		return redactedText
	}
	m := mask{text: text}
	m.hideAll(e.secrets)
	m.hideAll(e.names)
	e.hideQuoted(&m)
	return m.String()
}

// argument returns what may be written of a place in the arguments.
func (e *encoder) argument(place string) string {
	switch {
	case len(e.names) == 0 && !e.tooMany:
		return place
	case e.tooMany || len(place) > maxScrubbed:
		return redactedText
	}
	m := mask{text: place}
	m.hideAll(e.names)
	return m.String()
}

// hideAll marks secrets as they are, and quoted and escaped.
func (m *mask) hideAll(secrets []string) {
	for _, s := range secrets {
		m.hide(s)
		if verbatim(s) {
			continue
		}
		m.hide(quote.Text(s, 0))
		m.hide(inner(quote.Value(s, 0)))
		m.hide(inner(strconv.Quote(s)))
		m.hide(inner(strconv.QuoteToASCII(s)))
	}
}

// verbatim reports whether s looks the same however it is quoted.
func verbatim(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= utf8.RuneSelf || !safeASCII[c] && c != '<' && c != '>' && c != '&' || c == '\'' {
			return false
		}
	}
	return true
}

func inner(quoted string) string { return quoted[1 : len(quoted)-1] }

// mask says which bytes of a text are replaced.
type mask struct {
	text   string
	hidden []bool // nil: none
}

// hide marks the places where secret, or a long beginning of it, stands.
func (m *mask) hide(secret string) {
	n := min(len(secret), wholePrefix)
	for i := 0; i+n <= len(m.text); i++ {
		if c := common(m.text[i:], secret); c >= n {
			m.mark(i, i+c)
		}
	}
}

func (m *mask) mark(from, to int) {
	if m.hidden == nil {
		m.hidden = make([]bool, len(m.text))
	}
	for i := from; i < to; i++ {
		m.hidden[i] = true
	}
}

// common returns how many bytes a and b have in common at their start, in any case.
func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && lower(a[n]) == lower(b[n]) {
		n++
	}
	return n
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + ('a' - 'A')
	}
	return c
}

// hideQuoted marks what stands in quotes and is a part of a secret, such as the domain
// of a redacted address.
func (e *encoder) hideQuoted(m *mask) {
	for start := 0; start < len(m.text); start++ {
		q := m.text[start]
		if q != '\'' && q != '"' {
			continue
		}
		n := strings.IndexByte(m.text[start+1:], q)
		if n >= minSecret && e.partOfSecret(m.text[start+1:start+1+n]) {
			m.mark(start+1, start+1+n)
		}
	}
}

// partOfSecret counts what cannot be found out in bounded time as a part.
func (e *encoder) partOfSecret(part string) bool {
	if e.searched += e.size; e.searched > maxSearched {
		return true
	}
	for _, list := range [][]string{e.secrets, e.names} {
		for _, s := range list {
			for i := 0; i+len(part) <= len(s); i++ {
				if common(s[i:], part) == len(part) {
					return true
				}
			}
		}
	}
	return false
}

// String returns the text without what is hidden.
func (m *mask) String() string {
	if m.hidden == nil {
		return m.text
	}
	var b strings.Builder
	for i := range len(m.text) {
		switch {
		case !m.hidden[i]:
			b.WriteByte(m.text[i])
		case i == 0 || !m.hidden[i-1]:
			b.WriteString(redactedText)
		}
	}
	return b.String()
}

// destination returns what may be written of an evidence's destination.
func (e *encoder) destination(ev *Evidence) string {
	if e.redactions == 0 {
		return ev.Destination
	}
	if e.hidesPlace(ev.Argument) || len(ev.Destination) >= minSecret && e.partOfSecret(ev.Destination) {
		return redactedText
	}
	return e.scrub(ev.Destination)
}

// hidesPlace reports whether something at or above a place in the arguments was
// redacted. A place that leads nowhere, into a string for example, counts as hidden.
func (e *encoder) hidesPlace(place string) bool {
	if e.tooMany || len(place) > MaxName {
		return true
	}
	// Step by step, so that no list of members is walked twice.
	at, reached := e.args, 0
	for i := range len(place) + 1 {
		if i == 0 || i < len(place) && !strings.ContainsRune(".[#", rune(place[i])) {
			continue
		}
		sel, err := doc.ParseSelector(strings.TrimPrefix(place[reached:i], "."))
		if err != nil || i == reached {
			continue
		}
		found, _ := sel.Select(at, 1)
		if len(found) == 0 {
			continue
		}
		at, reached = found[0].Value, i
		if _, hidden := e.hidden[at]; hidden {
			return true
		}
	}
	_, hidden := e.hidden[e.args]
	return hidden || !oneOfSeveral(place[reached:])
}

// oneOfSeveral reports whether the end of a place is empty or #n: one of the values in
// one string.
func oneOfSeveral(rest string) bool {
	if rest == "" {
		return true
	}
	_, err := strconv.ParseUint(strings.TrimPrefix(rest, "#"), 10, 32)
	return rest[0] == '#' && err == nil
}
