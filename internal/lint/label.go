package lint

import (
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

// everyElement reports a path that leads to all there is.
func everyElement(steps []doc.Step) bool {
	for _, s := range steps {
		if s.Kind != doc.StepAll {
			return false
		}
	}
	return true
}
