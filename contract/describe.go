package contract

import "strings"

// Bounds on the part of a tool's description that is searched for its parameters.
const (
	maxArgsText  = 16 << 10 // bytes
	maxArgsLines = 400
)

// describeFrom gives parameters without a description the line that the tool's own
// description has on them. Servers that are made from documented functions keep it
// there:
//
//	Args:
//	    domain: The kind of entity
//	    to (str): Who gets it
func (r *schemaReader) describeFrom(description string) {
	if !strings.Contains(description, ":") {
		return
	}
	bare := map[string]*param{}
	for _, p := range r.params {
		if p.name != "" && p.description == "" && len(p.parents) == 0 {
			bare[p.name] = p
		}
	}
	n := 0
	for line := range strings.Lines(description[:min(len(description), maxArgsText)]) {
		if n++; len(bare) == 0 || n > maxArgsLines {
			return
		}
		line = strings.TrimLeft(strings.TrimPrefix(strings.TrimSpace(line), ":param "), "-*` ")
		head, text, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		head, _, _ = strings.Cut(head, "(")
		head = strings.Trim(head, "*` ")
		if p := bare[head]; p != nil {
			p.description = strings.TrimSpace(text)
			delete(bare, head)
		}
	}
}
