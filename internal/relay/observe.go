package relay

import (
	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/policy"
)

// observeAnswer records what answers a call.
func (r *Relay) observeAnswer(c *call, v doc.Value, body []byte, isError bool) {
	switch {
	case c.task != nil:
		r.observeTask(c.task, c.method, v, body, isError)
	case c.method == "tools/call":
		r.opt.Session.Observe(sallyport.Output{Upstream: r.opt.Upstream, Tool: c.target, Call: c.decision.Call, Value: v})
	default:
		r.opt.Session.Observe(sallyport.Output{Upstream: r.opt.Upstream, Tool: c.method, Call: c.decision.Call, Value: v})
	}
}

// asks reports a result that wants the call again with more input.
func asks(v doc.Value) bool {
	return v.Get("resultType").String() == "input_required" && v.Get("requestState").Kind() == doc.String
}

// learn takes from a result what later decisions need.
func (r *Relay) learn(c *call, v doc.Value) {
	switch c.method {
	case "initialize":
		r.mu.Lock()
		r.version = v.Get("protocolVersion").String()
		r.mu.Unlock()
	case "tools/list":
		if !r.opt.Session.Listing(r.opt.Upstream, r.tools(v)) {
			r.catalogueStale()
		}
	case "resources/subscribe", "resources/unsubscribe":
		r.followed(c)
	case "resources/list":
		r.opt.Session.Listed(r.opt.Upstream, texts(v.Get("resources"), "uri"))
	case "resources/templates/list":
		r.opt.Session.Listed(r.opt.Upstream, texts(v.Get("resourceTemplates"), "uriTemplate"))
	}
}

func texts(list doc.Value, name string) []string {
	var all []string
	for _, e := range list.Elements() {
		if s := e.Get(name); s.Kind() == doc.String {
			all = append(all, s.String())
		}
	}
	return all
}

// tools reads the definitions of a tools/list result. One that has no name as text is
// left out: nothing can call it.
func (r *Relay) tools(result doc.Value) []contract.Tool {
	var all []contract.Tool
	for _, e := range result.Get("tools").Elements() {
		if n := e.Get("name"); n.Kind() == doc.String {
			all = append(all, contract.Tool{
				Upstream: r.opt.Upstream, Name: n.String(), Shown: r.shownName(policy.Tool, n.String()), Definition: e,
			})
		}
	}
	return all
}

// observe records what is no call's answer. false: it could not be read and must not be
// relayed.
func (r *Relay) observe(method string, number uint64, body []byte) bool {
	if body == nil {
		return true
	}
	v, err := doc.Parse(body, doc.Limits{})
	if err != nil {
		return false
	}
	r.opt.Session.Observe(sallyport.Output{Upstream: r.opt.Upstream, Tool: method, Call: number, Value: v})
	return true
}

// outcome is how a call ended.
type outcome struct {
	name    string // allowed, error, cancelled
	isError bool
	detail  string
	result  []byte
}
