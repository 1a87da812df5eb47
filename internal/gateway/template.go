package gateway

import (
	"regexp"
	"strings"
)

// maxTemplate bounds the URI templates that are read, in bytes.
const maxTemplate = 2_000

// template is a URI template (RFC 6570) as far as it takes to say which URIs it may stand
// for: each expression matches what its operator can expand to, whatever the variables'
// names. It errs on the wide side. It routes, and decides nothing else.
type template struct{ pattern *regexp.Regexp }

// expansions say what an expression can become, by its operator.
var expansions = map[byte]string{
	'+': `.*`, '#': `(?:#.*)?`, '.': `(?:\.[^/?#]*)?`, '/': `(?:/[^?#]*)?`, ';': `(?:;[^/?#]*)?`,
	'?': `(?:\?[^#]*)?`, '&': `(?:&[^#]*)?`,
}

// simple is an expression without an operator: what is reserved is encoded.
const simple = `[^/?#]*`

func parseTemplate(s string) (t template, ok bool) {
	if len(s) > maxTemplate {
		return t, false
	}
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	for s != "" {
		open := strings.IndexByte(s, '{')
		if open < 0 {
			b.WriteString(regexp.QuoteMeta(s))
			break
		}
		b.WriteString(regexp.QuoteMeta(s[:open]))
		end := strings.IndexByte(s[open:], '}')
		if end <= 1 {
			return t, false
		}
		if e := expansions[s[open+1]]; e != "" {
			b.WriteString(e)
		} else {
			b.WriteString(simple)
		}
		s = s[open+end+1:]
	}
	b.WriteString(`\z`)
	p, err := regexp.Compile(b.String())
	return template{p}, err == nil
}

func (t template) matches(uri string) bool { return t.pattern.MatchString(uri) }
