package gateway

import (
	"context"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/internal/upstream"
)

// owner says which upstream a shown name belongs to. A name that one upstream alone could
// have goes there, listed or not: its relay refuses what is not listed, and what the
// policy hides is refused as what it denies. why says that no upstream has it.
func (s *session) owner(ctx context.Context, u *setup, k kind, shown string) (o owned, why string) {
	readings := u.naming.readings(shown)
	what := map[kind]string{tools: "tool ", prompts: "prompt "}[k] + quote.Value(shown, 100)
	switch {
	case len(readings) == 0:
		return o, "unknown " + what
	case len(readings) == 1 && !u.naming.mayBeShort(k, shown):
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
			if c.refusedAsHidden(k, name) {
				return
			}
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

// refusedAsHidden refuses a name that leads to no upstream as what the policy denies, if that
// hides what it denies: the answer does not say what exists.
func (c *call) refusedAsHidden(k kind, name string) bool {
	s := c.s
	j := sallyport.Call{Subject: kinds[k].subject, Name: name}
	if !s.engine.Hidden(j) {
		return false
	}
	d := s.engine.Decide(c.ctx, j)
	defer s.engine.Forget(d.ID)
	if d.Runs() { // the policy has just changed
		return false
	}
	c.recordRefusal(c.m.Method, name, d.Reason)
	d.Reason = audit.RedactText(d.Reason)
	data, err := d.MarshalJSON()
	if err != nil {
		data = nil
	}
	text := "[sallyport blocked] " + d.Reason
	if c.m.Method == "tools/call" {
		c.box.finish(mcp.ToolRefusal(c.m.ID, text, data, s.era == upstream.Stateless))
	} else {
		c.box.finish(mcp.ErrorResponse(c.m.ID, mcp.CodeRefused, text, data))
	}
	return true
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
			if c.refusedAsHidden(prompts, name) {
				return
			}
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
