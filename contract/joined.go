package contract

import (
	"errors"
	"strings"

	"github.com/sallyport-dev/sallyport/doc"
)

// Joined is a destination that several arguments name together, as an owner and a name do
// a repository: "{owner}/{repo}". Each argument is a sink of its own as well; where the
// whole is trusted, typed or vouched for, its parts need not be.
type Joined struct {
	Text     string         // as written
	Parts    []doc.Selector // at least two, or one and text beside it
	literals []string       // before each part, and behind the last
}

// parseJoined reads a template. Text in braces is a selector.
func parseJoined(s string) (Joined, error) {
	j := Joined{Text: s}
	for rest := s; ; {
		before, inner, found := strings.Cut(rest, "{")
		j.literals = append(j.literals, before)
		if strings.Contains(before, "}") {
			return j, errors.New("a } without its {")
		}
		if !found {
			break
		}
		name, after, closed := strings.Cut(inner, "}")
		if !closed || strings.Contains(name, "{") {
			return j, errors.New("a { without its }")
		}
		sel, err := doc.ParseSelector(name)
		if err != nil || name == "" {
			return j, errors.New("write the name of a parameter between the braces: {owner}/{repo}")
		}
		j.Parts = append(j.Parts, sel)
		rest = after
		if len(j.Parts) > 1 && j.literals[len(j.literals)-1] == "" {
			return j, errors.New("write what stands between two parts: {owner}/{repo}")
		}
	}
	if len(j.Parts) < 2 {
		return j, errors.New("a joined destination has at least two parts: {owner}/{repo}")
	}
	return j, nil
}

// Join puts the parts together. ok is false unless each is one text or number, not empty,
// that holds nothing of what stands between them. places are theirs.
func (j Joined) Join(args doc.Value) (text string, places []string, ok bool) {
	var b strings.Builder
	for i, p := range j.Parts {
		found, more := p.Select(args, 1)
		if more || len(found) != 1 {
			return "", nil, false
		}
		part := found[0].Value.String()
		if found[0].Value.Kind() == doc.Number {
			part = found[0].Value.Number()
		}
		if part == "" || strings.TrimSpace(part) != part || len(part) > maxPart {
			return "", nil, false
		}
		for _, l := range j.literals {
			if l != "" && strings.Contains(part, l) {
				return "", nil, false
			}
		}
		b.WriteString(j.literals[i])
		b.WriteString(part)
		places = append(places, found[0].Place)
	}
	b.WriteString(j.literals[len(j.literals)-1])
	return b.String(), places, true
}

const maxPart = 512 // bytes of one part
