package contract

import (
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/flow"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

// maxLabels bounds the selectors of one entry's output.
const maxLabels = 200

// output reads the labels of a tool's output: a mapping of selector to label, or one
// label for all of it. Selectors start at the document: the structured content, a text
// block that is one JSON value, or a header block.
func (r *reader) output() {
	n := r.fields["output"]
	switch {
	case n == nil:
		return
	case n.IsList():
		r.p.Add(n, "output is a mapping of fields to labels, or one label: output: {from: party}")
		return
	case !n.IsMapping():
		if l, ok := r.label(n); ok {
			r.c.Output = []flow.FieldLabel{{Label: l}}
		}
		return
	}
	entries, ok := n.Entries(r.p)
	if !ok {
		return
	}
	switch {
	case len(entries) == 0:
		r.p.Add(n, "output is empty: leave it out, and everything is outside")
	case len(entries) > maxLabels:
		r.p.Add(n, "at most %d selectors", maxLabels)
		return
	}
	seen := map[string]bool{}
	for _, e := range entries {
		sel, ok := doc.Selector{}, false
		if e.Name == "" {
			r.p.Add(e.Key, "write a path into the output, such as items[*].email, or one label for all of it: output: inside")
		} else if meant := wrapped(e.Name); meant != "" {
			r.p.Add(e.Key, "%s", meant)
		} else {
			sel, ok = r.selector(e.Key, e.Name)
		}
		l, known := r.label(e.Value)
		if !ok || !known {
			continue
		}
		if seen[sel.String()] {
			r.p.Add(e.Key, "%s is already given a label", strictyaml.Quote(e.Name))
			continue
		}
		seen[sel.String()] = true
		r.c.Output = append(r.c.Output, flow.FieldLabel{Path: sel, Label: l})
	}
}

func (r *reader) label(n *strictyaml.Node) (flow.Label, bool) {
	if n.IsList() || n.IsMapping() {
		r.p.Add(n, "a field has one label; output is a mapping of fields to labels, or one label")
		return flow.LabelOutside, false
	}
	if l, ok := originsForLabels[n.Text()]; ok {
		r.p.Add(n, "%s is an origin, which Sallyport finds out; the label that leads to it is written %s", n.Text(), l)
		return flow.LabelOutside, false
	}
	s, ok := n.OneOf(r.p, flow.LabelNames()...)
	if !ok {
		return flow.LabelOutside, false
	}
	l, _ := flow.ParseLabel(s)
	return l, true
}
