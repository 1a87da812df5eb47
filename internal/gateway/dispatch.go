package gateway

import (
	"fmt"
	"strings"
	"time"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/internal/upstream"
)

// dispatch takes a request to what answers it.
func (c *call) dispatch() {
	s := c.s
	defer s.recovered(c)
	if only := eraOnly[c.m.Method]; only != 0 && only != s.era || !mcp.Known(mcp.ToServer, mcp.Request, c.m.Method) {
		c.refuse(mcp.CodeMethodNotFound, "unknown", c.m.Method, "method "+quote.Value(c.m.Method, 64)+" does not exist in this protocol version, or is not known to the gateway")
		return
	}
	if why := c.lacks(); why != "" {
		c.mu.Lock()
		c.badStatus = true
		c.mu.Unlock()
		c.fail(mcp.CodeInvalidParams, why)
		return
	}
	switch c.m.Method {
	case methodInitialize:
		c.initialize()
	case methodDiscover:
		c.discover()
	case methodPing:
		c.result([]byte(`{}`))
	case methodListen:
		c.listen()
	case methodSetLevel:
		c.setLevel()
	case "tools/call":
		c.named(tools)
	case "prompts/get":
		c.named(prompts)
	case "resources/read", methodSubscribe, methodUnsubscribe:
		c.resource()
	case "completion/complete":
		c.complete()
	default:
		k, isList := kindOf(c.m.Method)
		switch {
		case strings.HasPrefix(c.m.Method, "tasks/"):
			c.task()
		case !isList:
			c.refuse(mcp.CodeMethodNotFound, "unknown", c.m.Method, "method "+quote.Value(c.m.Method, 64)+" is not relayed by the gateway")
		case s.setup().naming.passes():
			c.to(s.setup().places[0], func(m mcp.Message) { c.listPassed(k, m) })
		default:
			c.list(k)
		}
	}
}

// recovered keeps a defect in one call from ending all others.
func (s *session) recovered(c *call) {
	if v := recover(); v != nil {
		s.log.Error("a request was not served", "panic", fmt.Sprint(v), "method", quote.Text(c.m.Method, 64))
		c.fail(mcp.CodeInternal, "the request was not served")
	}
}

// lacks says which member a stateless request has not that every one must have (2026-07-28,
// basic, "_meta").
func (c *call) lacks() string {
	if c.s.era != upstream.Stateless {
		return ""
	}
	f, err := mcp.Fields(metaOf(c.m), metaPrefix+"clientCapabilities")
	if err != nil || len(f[0]) == 0 || f[0][0] != '{' {
		return "_meta has no " + metaPrefix + "clientCapabilities"
	}
	return ""
}

// maxTries bounds how often a call looks for a link that has not just ended.
const maxTries = 10

// to sends the call to an upstream, opening it if need be. One that a reload replaces while
// the call waits for it, or whose conversation ends just then, is looked for again: nothing
// was sent.
func (c *call) to(p *place, take func(mcp.Message), edits ...mcp.Edit) {
	err := errReplaced
	for range maxTries {
		now := c.s.setup().place(p.Name)
		var l *link
		if l, err = c.s.link(c.ctx, p); err != nil {
			if c.s.setup().place(p.Name) != now {
				continue
			}
			break
		}
		if c.strays(l) {
			c.refuse(mcp.CodeInvalidParams, c.m.Method, p.Name, "params.requestState was given for a request to another upstream")
			return
		}
		answered := take
		if answered == nil {
			answered = func(m mcp.Message) { c.answered(l, m) }
		}
		if c.offer(l, nil, answered, nil, edits...) {
			return
		}
		err = errReplaced
	}
	c.fail(mcp.CodeInternal, err.Error())
}

// strays reports a requestState that another upstream gave this client, and this one did not:
// it may hold what only that one is to know.
func (c *call) strays(to *link) bool {
	if c.s.setup().naming.passes() {
		return false
	}
	state, ok := param(c.m, "requestState")
	if !ok || to.relay.GaveState(state) {
		return false
	}
	for _, l := range c.s.openLinks() {
		if l != to && l.isReady() && l.relay.GaveState(state) {
			return true
		}
	}
	return false
}

// answered gives the client what an upstream answered to a call that was passed on.
func (c *call) answered(l *link, m mcp.Message) {
	c.s.notice(l, c, m)
	if c.m.Method == "resources/read" {
		c.answer(m, c.privately(m)...)
		return
	}
	c.answer(m)
}

// refuse answers a request that no upstream could be found for, and records that.
func (c *call) refuse(code int, event, target, why string) {
	c.recordRefusal(event, target, why)
	c.fail(code, audit.RedactText(why))
}

func (c *call) recordRefusal(event, target, why string) {
	s, u := c.s, c.s.setup()
	if u.Audit != nil {
		caller := s.currentCaller()
		rec := audit.Record{
			Time: time.Now(), Event: event, Phase: "verdict", Session: s.id, Caller: s.name, Target: target,
			Request: c.m.ID.Raw(), Mode: "enforce", Verdict: sallyport.Deny.String(), Outcome: "denied", Reason: why,
		}
		if caller.DryRun {
			rec.Mode = "dry-run"
		}
		if caller.Policy != nil {
			rec.Policy, rec.PolicyDigest = caller.Policy.Name(), caller.Policy.Digest()
		}
		if _, err := u.Audit.Append(rec); err != nil {
			s.log.Error("a refusal could not be recorded", "log", u.Audit.Path(), "error", err)
		}
	}
}

// setLevel tells every upstream that writes logs how much of them the client wants.
func (c *call) setLevel() {
	s, u := c.s, c.s.setup()
	f, err := mcp.Fields(c.m.Params, "level")
	if err != nil || f[0] == nil {
		c.fail(mcp.CodeInvalidParams, "params.level is missing")
		return
	}
	if level, _ := mcp.Str(f[0]); !mcp.IsLogLevel(level) {
		c.fail(mcp.CodeInvalidParams, "params.level is no level of logging")
		return
	}
	set := func() {
		s.mu.Lock()
		s.logLevel = f[0]
		s.mu.Unlock()
	}
	if u.naming.passes() {
		c.to(u.places[0], func(m mcp.Message) {
			if m.Result != nil {
				set()
			}
			c.answer(m)
		})
		return
	}
	var refused *mcp.Message
	taken := false
	open := s.openAll(c.ctx, u, false)
	writes := len(open) < len(u.places) // what is down may write logs
	for _, l := range open {
		if !l.hello.logging {
			continue
		}
		writes = true
		m, err := s.ask(c.ctx, l, c.m)
		switch {
		case err != nil:
		case m.Error != nil && refused == nil:
			refused = &m
		case m.Error == nil:
			taken = true
		}
	}
	switch {
	case refused != nil && !taken:
		c.answer(*refused)
		return
	case !writes:
		c.fail(mcp.CodeMethodNotFound, "no upstream writes logs")
		return
	}
	set()
	c.result([]byte(`{}`))
}
