package packscore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/quote"
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

var effects = []string{"read", "write", "send", "share", "delete", "execute"}

// ParseLabels reads a JSON list of labels: objects with the members tool, effect, sink,
// and where there are any sink_params, sink_kinds (parameter to kind), write_params and
// doubtful; others are passed over. A parameter in sink_params without a kind has the
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
			return nil, fmt.Errorf("the label at position %d: %w", i, err)
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
	kinds := v.Get("sink_kinds")
	if kinds.Kind() != doc.Absent && kinds.Kind() != doc.Object || kinds.Len() > maxPerTool {
		return l, fmt.Errorf("sink_kinds must be an object with at most %d members", maxPerTool)
	}
	for m := range kinds.Members() {
		if m.Value.Kind() != doc.String {
			return l, fmt.Errorf("sink_kinds: the kind of %s must be text", quote.Value(m.Name, maxShown))
		}
		l.SinkKinds[m.Name] = m.Value.String()
	}
	if len(l.SinkKinds) > 0 && !l.Sink {
		return l, fmt.Errorf("it names sinks, and sink is false")
	}
	l.WriteParams, err = texts(v, "write_params")
	return l, err
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
