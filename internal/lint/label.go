package lint

import (
	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/flow"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

// labels looks at what an entry says of its tool's output.
func (k *check) labels(e entry) {
	n := e.value.Get("output")
	if n == nil {
		return
	}
	nodes := []*strictyaml.Node{n}
	if n.IsMapping() {
		nodes = nil
		for _, p := range n.Pairs() {
			nodes = append(nodes, p.Key)
		}
	}
	tool := show(e.contract.Tool)
	vouches := false
	for i, l := range e.contract.Output {
		vouches = vouches || l.Label == flow.LabelVouched || l.Label == flow.LabelParty
		if i < len(nodes) && len(l.Path.Steps()) > 0 {
			k.labelled(nodes[i], e.contract, l.Path)
		}
		if i >= len(nodes) || !l.Label.Loosens() {
			continue
		}
		steps := l.Path.Steps()
		switch {
		case len(steps) == 0 && l.Label == flow.LabelInside:
			k.addAs(nodes[i], "SP315", Note, "name the fields that people write", "all output of "+tool+" counts as text by people inside, quotations and attachments too")
		case len(steps) == 0, everyElement(steps) && l.Label == flow.LabelVouched:
			k.add(nodes[i], "SP315", "name the fields, such as items[*].email", "whatever stands alone in the output of "+tool+" is "+l.Label.String())
		}
	}
	if vouches && e.contract.Upstream == "" && len(k.config.Upstreams) > 1 {
		k.add(n, "SP316", "write the entry as upstream/tool", "the entry for "+tool+" names no upstream, and its labels hold for whichever of "+itoa(len(k.config.Upstreams))+" has a tool of that name")
	}
}

// labelled looks for a labelled field in the outputSchema of the listed tools. Where one
// of them has none, its output may be anything.
func (k *check) labelled(n *strictyaml.Node, c *contract.Contract, path doc.Selector) {
	listed := k.known.find(c.Upstream, c.Tool)
	for _, t := range listed {
		if a := ask(t.output, path.Steps()); a.found || !a.known {
			return
		}
	}
	if len(listed) > 0 {
		k.add(n, "SP317", trimHint(strictyaml.Hint(path.String(), argumentNames(listed[0].output))),
			"the outputSchema of "+show(listed[0].name)+" has no field "+show(path.String())+", so the label is for nothing")
	}
}

// everyElement reports a path that leads to all there is.
func everyElement(steps []doc.Step) bool {
	for _, s := range steps {
		if s.Kind != doc.StepAll {
			return false
		}
	}
	return true
}
