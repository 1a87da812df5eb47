package contract

import (
	"regexp"
	"strings"

	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/flow"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

// misnamedKeys are keys that authors write for others.
var misnamedKeys = map[string]string{
	"labels": "there is no such key; did you mean 'output'?",
	"sinks":  "there is no such key; did you mean 'sink_params'?",
}

// originsForLabels are the origins that an author may write where a label belongs, with
// the label that leads to them.
var originsForLabels = map[string]flow.Label{
	"untrusted": flow.LabelOutside,
	"trusted":   flow.LabelVouched,
}

// What stands around the document in an answer. Some documents have fields of these
// names, so content and result count only where what follows is a part of the answer.
var aroundDocument = regexp.MustCompile(`^(\$|structuredContent|result\.(structuredContent|content)|content\[[^\]]*\]\.text)(\.|\[|$)`)

// wrapped says how a path into an output would have to start, where it starts with what
// stands around the document; "" where it does not.
func wrapped(path string) string {
	m := aroundDocument.FindStringSubmatch(path)
	if m == nil {
		return ""
	}
	first, rest, _ := strings.Cut(m[1], ".")
	if i := strings.IndexByte(first, '['); i >= 0 {
		first, rest = first[:i], first[i:]+"."+rest
	} else if rest != "" {
		rest = "." + rest
	}
	return "a path starts at the document: leave " + strictyaml.Quote(m[1]) + ` out; a field that has this name is written ["` + first + `"]` + rest
}

// argsPrefix says that a parameter is written without the args. of rules.
func argsPrefix(s string) string {
	rest, ok := strings.CutPrefix(s, "args.")
	if !ok || rest == "" {
		return ""
	}
	return "write " + strictyaml.Quote(rest) + ", without args.: a contract names parameters, a rule selectors; a parameter that has this name is written [\"args\"]." + rest
}

// withoutBraces says what was meant by parts that stand beside each other bare.
func withoutBraces(s string) string {
	if !strings.Contains(s, "/") || strings.HasPrefix(s, "[") {
		return ""
	}
	parts := strings.Split(s, "/")
	for i, p := range parts {
		if _, err := doc.ParseSelector(p); err != nil || p == "" {
			return ""
		}
		parts[i] = "{" + p + "}"
	}
	return strictyaml.Quote(s) + " names no parameter; did you mean " + strictyaml.Quote(strings.Join(parts, "/")) + "? A parameter with a / in its name is written [\"in quotes\"]"
}

// variable finds ${ that is not the escape $${.
var variable = regexp.MustCompile(`(^|[^$])\$\{`)
