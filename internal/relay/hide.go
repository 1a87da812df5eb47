package relay

import (
	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/policy"
)

// lists are the results whose elements a policy can hide. Templates are not among them:
// what a template's text would match says nothing of the URIs that it gives.
var lists = map[string]struct {
	list, name string
	subject    policy.Subject
}{
	"tools/list":     {"tools", "name", policy.Tool},
	"prompts/list":   {"prompts", "name", policy.Prompt},
	"resources/list": {"resources", "uri", policy.Resource},
}

// shown is a list as the client may see it: without what the policy hides. The bytes of
// the rest stay as they are. Hidden is not less refused: whoever calls by name is judged
// as before.
func (r *Relay) shown(c *call, m mcp.Message) mcp.Message {
	if c.method == "tasks/list" && m.Result != nil {
		return mcp.FilterList(m, "tasks", r.unknownTask)
	}
	l, ok := lists[c.method]
	if !ok || m.Result == nil || !r.opt.Session.Hides(l.subject) {
		return m
	}
	return mcp.FilterList(m, l.list, func(element []byte) bool {
		f, err := mcp.Fields(element, l.name)
		if err != nil {
			return false
		}
		name, ok := mcp.Str(f[0])
		return ok && r.opt.Session.Hidden(sallyport.Call{Subject: l.subject, Upstream: r.opt.Upstream, Name: name, Shown: r.shownName(l.subject, name)})
	})
}
