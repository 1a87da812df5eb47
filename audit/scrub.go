package audit

import (
	"strconv"
	"strings"

	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/quote"
)

const (
	// wholePrefix is how many bytes of a long secret give it away: reasons quote
	// values cut short.
	wholePrefix = 12
	maxScrubbed = 2 * MaxText
)

// scrub replaces what was redacted in the arguments where it stands in a text: as it
// is, in other case, quoted and escaped, or cut.
func (e *encoder) scrub(text string) string {
	switch {
	case text == "" || len(e.secrets) == 0 && !e.tooMany:
		return text
	case e.tooMany || len(text) > maxScrubbed:
		return redactedText
	}
	mask := make([]bool, len(text))
	for _, s := range e.secrets {
		hideIn(mask, text, s)
		for _, form := range []string{quote.Text(s, 0), inner(quote.Value(s, 0)), inner(strconv.Quote(s))} {
			if form != s {
				hideIn(mask, text, form)
			}
		}
	}
	e.hideQuoted(mask, text)
	return masked(mask, text)
}

func inner(quoted string) string { return quoted[1 : len(quoted)-1] }

// hideIn marks the places where secret, or a long beginning of it, stands in text.
func hideIn(mask []bool, text, secret string) {
	prefix := secret[:min(len(secret), wholePrefix)]
	for i := 0; i+len(prefix) <= len(text); i++ {
		n := common(text[i:], secret)
		if n < len(prefix) {
			continue
		}
		for k := range n {
			mask[i+k] = true
		}
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
func (e *encoder) hideQuoted(mask []bool, text string) {
	for start := 0; start < len(text); start++ {
		q := text[start]
		if q != '\'' && q != '"' {
			continue
		}
		n := strings.IndexByte(text[start+1:], q)
		if n < minSecret || !e.partOfSecret(text[start+1:start+1+n]) {
			continue
		}
		for k := range n {
			mask[start+1+k] = true
		}
	}
}

func (e *encoder) partOfSecret(part string) bool {
	part = strings.ToLower(part)
	for _, s := range e.secrets {
		if len(part) <= len(s) && strings.Contains(strings.ToLower(s), part) {
			return true
		}
	}
	return false
}

func masked(mask []bool, text string) string {
	var b strings.Builder
	for i := range len(text) {
		switch {
		case !mask[i]:
			b.WriteByte(text[i])
		case i == 0 || !mask[i-1]:
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
	reached := 0
	for i := range len(place) + 1 {
		if i > 0 && i < len(place) && !strings.ContainsRune(".[#", rune(place[i])) {
			continue
		}
		sel, err := doc.ParseSelector(place[:i])
		if err != nil {
			continue
		}
		found, _ := sel.Select(e.args, 1)
		if len(found) == 0 {
			continue
		}
		if _, hidden := e.hidden[found[0].Value]; hidden {
			return true
		}
		reached = i
	}
	return !oneOfSeveral(place[reached:])
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
