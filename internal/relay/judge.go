package relay

import (
	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/policy"
)

// judge reads what the engine has to decide about a request. It returns why the request
// cannot be judged and so is refused.
func (r *Relay) judge(c *call, m mcp.Message) (why string) {
	switch m.Method {
	case "initialize":
		return r.declares(m)
	case "tools/call":
		return r.judgeNamed(c, m, policy.Tool)
	case "prompts/get":
		return r.judgeNamed(c, m, policy.Prompt)
	case "resources/read", "resources/subscribe":
		return r.judgeURI(c, m)
	case "resources/unsubscribe":
		return r.judgeUnsubscribe(c, m)
	case "logging/setLevel":
		level := ""
		if f, err := mcp.Fields(m.Params, "level"); err == nil {
			level, _ = mcp.Str(f[0])
		}
		if !mcp.IsLogLevel(level) {
			return "params.level is no level of logging"
		}
	case "completion/complete":
		return r.judgeCompletion(c, m)
	case "subscriptions/listen":
		return r.judgeListen(c, m)
	case "tasks/get", "tasks/result", "tasks/cancel", "tasks/update":
		return r.judgeTask(c, m)
	}
	return ""
}

func (r *Relay) judgeNamed(c *call, m mcp.Message, s policy.Subject) string {
	f, err := mcp.Fields(m.Params, "name", "arguments", "task", "requestState", "inputResponses")
	if err != nil {
		return "its params cannot be read"
	}
	name, ok := mcp.Str(f[0])
	if !ok {
		return "params.name has to be a string"
	}
	if f[2] != nil {
		if c.asTask = s == policy.Tool; !c.asTask {
			return "only tools/call can be run as a task"
		}
		if f[2][0] != '{' {
			return "params.task has to be an object"
		}
	}
	// Absent, null and {} stay apart on the wire and mean the same to the rules.
	if f[1] != nil && string(f[1]) != "null" {
		if c.args, err = doc.Parse(f[1], doc.Limits{}); err != nil {
			return "params.arguments cannot be read: " + err.Error()
		}
		if c.args.Kind() != doc.Object {
			return "params.arguments has to be an object"
		}
	}
	c.target = name
	if why := r.continues(c, f[3]); why != "" {
		return why
	}
	answers, why := c.responses(f[4])
	if why != "" {
		return why
	}
	c.judged = []sallyport.Call{{Subject: s, Upstream: r.opt.Upstream, Name: name, Shown: r.shownName(s, name), Args: c.args, Answers: answers}}
	return ""
}

func (r *Relay) judgeURI(c *call, m mcp.Message) string {
	f, err := mcp.Fields(m.Params, "uri", "requestState", "inputResponses")
	if err != nil {
		return "its params cannot be read"
	}
	uri, ok := mcp.Str(f[0])
	if !ok {
		return "params.uri has to be a string"
	}
	c.target = uri
	if why := r.continues(c, f[1]); why != "" {
		return why
	}
	answers, why := c.responses(f[2])
	if why != "" {
		return why
	}
	c.judged = []sallyport.Call{{Subject: policy.Resource, Upstream: r.opt.Upstream, Name: uri, Shown: r.shownName(policy.Resource, uri), Answers: answers}}
	return ""
}

// inputResponses reads what a retry answers to the server's own questions (2026-07-28,
// multi round-trip requests).
func inputResponses(raw []byte) (v sallyport.Value, why string) {
	if raw == nil || string(raw) == "null" {
		return v, ""
	}
	v, err := doc.Parse(raw, doc.Limits{})
	if err != nil {
		return v, "params.inputResponses cannot be read: " + err.Error()
	}
	if v.Kind() != doc.Object {
		return v, "params.inputResponses has to be an object"
	}
	return v, ""
}

func (r *Relay) judgeCompletion(c *call, m mcp.Message) string {
	f, err := mcp.Fields(m.Params, "ref", "argument", "context")
	if err != nil || f[0] == nil {
		return "params.ref is missing"
	}
	ref, err := mcp.Fields(f[0], "type", "name", "uri")
	if err != nil {
		return "params.ref has to be an object"
	}
	kind, _ := mcp.Str(ref[0])
	j := sallyport.Call{Upstream: r.opt.Upstream}
	var ok bool
	switch kind {
	case "ref/prompt":
		j.Subject = policy.Prompt
		j.Name, ok = mcp.Str(ref[1])
	case "ref/resource":
		j.Subject = policy.Resource
		j.Name, ok = mcp.Str(ref[2])
	}
	if !ok {
		return "params.ref names neither a prompt nor a resource"
	}
	if j.Args, ok = completionArgs(f[1], f[2]); !ok {
		return "params.argument and params.context.arguments cannot be read"
	}
	j.Shown = r.shownName(j.Subject, j.Name)
	c.target, c.args = j.Name, j.Args
	c.judged = []sallyport.Call{j}
	return ""
}

// completionArgs are the arguments that a completion is about, as the prompt or template
// would get them: those already chosen, and the one that is being typed.
func completionArgs(argument, context []byte) (sallyport.Value, bool) {
	all := make(map[string]any)
	if context != nil {
		v, err := doc.Parse(context, doc.Limits{})
		if err != nil {
			return sallyport.Value{}, false
		}
		for m := range v.Get("arguments").Members() {
			all[m.Name] = m.Value
		}
	}
	if argument != nil {
		v, err := doc.Parse(argument, doc.Limits{})
		if err != nil || v.Get("name").Kind() != doc.String {
			return sallyport.Value{}, false
		}
		all[v.Get("name").String()] = v.Get("value")
	}
	args, err := doc.FromGo(all)
	return args, err == nil
}

// maxSubscriptions bounds each list of one subscriptions/listen.
const maxSubscriptions = 1_000

func (r *Relay) judgeListen(c *call, m mcp.Message) string {
	f, err := mcp.Fields(m.Params, "notifications")
	if err != nil {
		return "its params cannot be read"
	}
	if f[0] == nil {
		return ""
	}
	filter, err := doc.Parse(f[0], doc.Limits{})
	if err != nil || filter.Kind() != doc.Object {
		return "params.notifications has to be an object"
	}
	uris, why := subscribed(filter, "resourceSubscriptions")
	if why != "" {
		return why
	}
	for _, u := range uris {
		c.judged = append(c.judged, sallyport.Call{Subject: policy.Resource, Upstream: r.opt.Upstream, Name: u, Shown: r.shownName(policy.Resource, u)})
	}
	ids, why := subscribed(filter, "taskIds")
	if why != "" {
		return why
	}
	for _, id := range ids {
		if !r.HasTask(id) {
			return "params.notifications.taskIds names " + notBegun
		}
	}
	return ""
}

// subscribed reads a list of strings of a subscriptions/listen.
func subscribed(filter doc.Value, name string) (all []string, why string) {
	list := filter.Get(name)
	if k := list.Kind(); k != doc.Absent && k != doc.List {
		return nil, "params.notifications." + name + " has to be a list"
	}
	if list.Len() > maxSubscriptions {
		return nil, "params.notifications." + name + " is too long"
	}
	for _, e := range list.Elements() {
		if e.Kind() != doc.String {
			return nil, "params.notifications." + name + " has to hold strings"
		}
		all = append(all, e.String())
	}
	return all, ""
}
