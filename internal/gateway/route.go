package gateway

import (
	"context"

	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/quote"
)

// owner says which upstream a shown name belongs to. A name that one upstream alone could
// have goes there, listed or not: its relay refuses what is not listed, and what the
// policy hides is refused as what it denies. why says that no upstream has it.
func (s *session) owner(ctx context.Context, u *setup, k kind, shown string) (o owned, why string) {
	readings := u.naming.readings(shown)
	what := map[kind]string{tools: "tool ", prompts: "prompt "}[k] + quote.Value(shown, 100)
	switch len(readings) {
	case 0:
		return o, "unknown " + what
	case 1:
		return readings[0], ""
	}
	m := s.known(ctx, k)
	if m.doubt[shown] {
		return o, what + " is one of several upstreams: none of them is meant for certain"
	}
	if o, ok := m.where[shown]; ok {
		return o, ""
	}
	return readings[0], ""
}

// named takes a call of a tool or prompt to its upstream, under the name that it has there.
func (c *call) named(k kind) {
	s, u := c.s, c.s.setup()
	name, ok := param(c.m, "name")
	if !ok {
		c.fail(mcp.CodeInvalidParams, "params.name has to be a string")
		return
	}
	o := owned{u.places[0].Name, name}
	if !u.naming.passes() {
		var why string
		if o, why = s.owner(c.ctx, u, k, name); why != "" {
			c.refuse(mcp.CodeInvalidParams, c.m.Method, name, why)
			return
		}
	}
	if k == tools && c.headers != nil {
		if why := c.checkHeaders(u.place(o.upstream), o.name); why != "" {
			c.fail(codeHeaderMismatch, why)
			return
		}
	}
	var edits []mcp.Edit
	if o.name != name {
		edits = []mcp.Edit{{Path: []string{"params", "name"}, Value: rawText(o.name)}}
	}
	c.to(u.place(o.upstream), nil, edits...)
}

// complete takes a completion to the upstream of the prompt or resource that it is about.
func (c *call) complete() {
	s, u := c.s, c.s.setup()
	if u.naming.passes() {
		c.to(u.places[0], nil)
		return
	}
	f, err := mcp.Fields(c.m.Params, "ref")
	if err != nil || f[0] == nil {
		c.fail(mcp.CodeInvalidParams, "params.ref is missing")
		return
	}
	ref, err := mcp.Fields(f[0], "type", "name", "uri")
	if err != nil {
		c.fail(mcp.CodeInvalidParams, "params.ref has to be an object")
		return
	}
	switch kind, _ := mcp.Str(ref[0]); kind {
	case "ref/prompt":
		name, _ := mcp.Str(ref[1])
		o, why := s.owner(c.ctx, u, prompts, name)
		if why != "" {
			c.refuse(mcp.CodeInvalidParams, c.m.Method, name, why)
			return
		}
		var edits []mcp.Edit
		if o.name != name {
			edits = []mcp.Edit{{Path: []string{"params", "ref", "name"}, Value: rawText(o.name)}}
		}
		c.to(u.place(o.upstream), nil, edits...)
	case "ref/resource":
		uri, _ := mcp.Str(ref[2])
		if o, ok := s.known(c.ctx, templates).where[uri]; ok {
			c.to(u.place(o.upstream), nil)
			return
		}
		c.toResource(u, uri, nil)
	default:
		c.fail(mcp.CodeInvalidParams, "params.ref names neither a prompt nor a resource")
	}
}
