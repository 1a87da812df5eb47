package packscore

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

// Bounds on one file of labels and on what is shown of it.
const (
	maxLabels  = 10_000
	maxPerTool = 1000 // parameters in one label
	maxShown   = 200  // characters of a name
)

// Label is what a person wrote of one tool.
type Label struct {
	Tool        string
	Effect      string // read, write, send, share, delete or execute
	Sink        bool   // it can carry something out
	SinkKinds   map[string]string
	WriteParams []string // parameters that hold a local path which is written
	Doubtful    bool     // two readers could differ
}

// The kinds of a sink, those that are no address last.
var kinds = []string{"email", "url", "host", "channel", "user", "phone", "account", "repo", "project", "id", "path", "free"}

// The members of a label, and those that are written for people.
var (
	labelKeys = []string{"tool", "effect", "sink", "sink_params", "sink_kinds", "write_params", "doubtful"}
	noteKeys  = []string{"note", "doubtful_about", "untrusted_output", "directory_output"}
)

var effects = []string{"read", "write", "send", "share", "delete", "execute"}

// ParseLabels reads a JSON list of labels: objects with the members tool, effect, sink,
// and where there are any sink_params, sink_kinds (parameter to kind), write_params and
// doubtful. The members note, doubtful_about, untrusted_output and directory_output are passed
// over; any other is an error, and so is a kind that is none. A parameter in sink_params without a kind has the
// kind "free". Errors say at which position, are safe to show and name no file.
func ParseLabels(data []byte) ([]Label, error) {
	v, err := doc.Parse(data, doc.Limits{})
	if err != nil {
		return nil, err
	}
	if v.Kind() != doc.List || v.Len() > maxLabels {
		return nil, fmt.Errorf("this is no list of labels: write a JSON list there, with at most %d objects", maxLabels)
	}
	labels := make([]Label, 0, v.Len())
	seen := map[string]bool{}
	for i, e := range v.Elements() {
		l, err := parseLabel(e)
		if err != nil {
			return nil, fmt.Errorf("the label at position %d%s: %w", i, ofTool(l), err)
		}
		if seen[l.Tool] {
			return nil, fmt.Errorf("the label at position %d: there is one for the tool %s already", i, quote.Value(l.Tool, maxShown))
		}
		seen[l.Tool] = true
		labels = append(labels, l)
	}
	return labels, nil
}

func parseLabel(v doc.Value) (Label, error) {
	l := Label{Tool: v.Get("tool").String(), Effect: v.Get("effect").String(), SinkKinds: map[string]string{}}
	if l.Tool == "" || v.Get("tool").Kind() != doc.String {
		return l, fmt.Errorf("tool is missing")
	}
	for m := range v.Members() {
		if !slices.Contains(labelKeys, m.Name) && !slices.Contains(noteKeys, m.Name) {
			return l, fmt.Errorf("unknown member %s%s", quote.Value(m.Name, maxShown), strictyaml.Hint(m.Name, labelKeys))
		}
	}
	if !slices.Contains(effects, l.Effect) {
		return l, fmt.Errorf("effect is %s, and must be one of %s", quote.Value(l.Effect, maxShown), strings.Join(effects, ", "))
	}
	if v.Get("sink").Kind() != doc.Bool {
		return l, fmt.Errorf("sink must be true or false")
	}
	l.Sink, l.Doubtful = v.Get("sink").Bool(), v.Get("doubtful").Bool()
	params, err := texts(v, "sink_params")
	if err != nil {
		return l, err
	}
	for _, p := range params {
		l.SinkKinds[p] = "free"
	}
	own := v.Get("sink_kinds")
	if own.Kind() != doc.Absent && own.Kind() != doc.Object || own.Len() > maxPerTool {
		return l, fmt.Errorf("sink_kinds must be an object with at most %d members", maxPerTool)
	}
	for m := range own.Members() {
		if m.Value.Kind() != doc.String {
			return l, fmt.Errorf("sink_kinds: the kind of %s must be text", quote.Value(m.Name, maxShown))
		}
		if !slices.Contains(kinds, m.Value.String()) {
			return l, fmt.Errorf("sink_kinds: the kind of %s is %s, and must be one of %s", quote.Value(m.Name, maxShown), quote.Value(m.Value.String(), maxShown), strings.Join(kinds, ", "))
		}
		l.SinkKinds[m.Name] = m.Value.String()
	}
	if len(l.SinkKinds) > 0 && !l.Sink {
		return l, fmt.Errorf("it names sinks, and sink is false")
	}
	l.WriteParams, err = texts(v, "write_params")
	return l, err
}

// ofTool says whose label it is, where that could be read.
func ofTool(l Label) string {
	if l.Tool == "" {
		return ""
	}
	return " (tool " + quote.Value(l.Tool, maxShown) + ")"
}

// CheckParameters reports a label that names a parameter which its tool does not have: it
// would count as a sink that is never found. Where a schema does not list its parameters,
// nothing is judged. The error is safe to show and names no file.
func (l List) CheckParameters() error {
	for _, label := range l.Labels {
		i := slices.IndexFunc(l.Tools, func(t contract.Tool) bool { return t.Name == label.Tool })
		if i < 0 {
			continue
		}
		schema := l.Tools[i].Definition.Get("inputSchema")
		for _, p := range slices.Concat(slices.Sorted(maps.Keys(label.SinkKinds)), label.WriteParams) {
			if known, ok := hasParameter(schema, p); !ok {
				return fmt.Errorf("the label of the tool %s: it has no parameter %s%s", quote.Value(label.Tool, maxShown), quote.Value(p, maxShown), strictyaml.Hint(p, known))
			}
		}
	}
	return nil
}

// hasParameter follows a labelled parameter, such as items[].email, through properties and
// items. known are the names at the place where it ends early.
func hasParameter(s doc.Value, param string) (known []string, ok bool) {
	for name := range strings.SplitSeq(param, ".") {
		base := strings.TrimRight(name, "[*]")
		props := s.Get("properties")
		for _, key := range []string{"$ref", "allOf", "anyOf", "oneOf", "patternProperties"} {
			if s.Get(key).Kind() != doc.Absent {
				return nil, true
			}
		}
		if props.Len() == 0 || s.Get("additionalProperties").Kind() == doc.Object {
			return nil, true
		}
		next := props.Get(base)
		if next.Kind() == doc.Absent {
			for m := range props.Members() {
				known = append(known, m.Name)
			}
			slices.Sort(known)
			return known, false
		}
		s = next
		for range strings.Count(name, "[") {
			s = s.Get("items")
		}
	}
	return nil, true
}

func texts(v doc.Value, name string) ([]string, error) {
	list := v.Get(name)
	if list.Kind() != doc.Absent && list.Kind() != doc.List || list.Len() > maxPerTool {
		return nil, fmt.Errorf("%s must be a list of at most %d names", name, maxPerTool)
	}
	var out []string
	for _, e := range list.Elements() {
		if e.Kind() != doc.String {
			return nil, fmt.Errorf("%s must be a list of names", name)
		}
		out = append(out, e.String())
	}
	return out, nil
}

// Addresses returns the sinks whose value is an address that a person could read (a
// mail address, a URL, a host, a channel, a user, a phone number, a repository), sorted.
// Opaque ids, paths and free text are none.
func (l Label) Addresses() []string {
	var out []string
	for param, kind := range l.SinkKinds {
		if kind != "id" && kind != "free" && kind != "path" {
			out = append(out, param)
		}
	}
	slices.Sort(out)
	return out
}
