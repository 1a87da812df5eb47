package relay

import (
	"crypto/sha256"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/quote"
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
	case "completion/complete":
		return r.judgeCompletion(c, m)
	case "subscriptions/listen":
		return r.judgeListen(c, m)
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
		return "tasks are not relayed by this version"
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
	answers, why := inputResponses(f[4])
	if why != "" {
		return why
	}
	c.target = name
	r.continues(c, f[3])
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
	answers, why := inputResponses(f[2])
	if why != "" {
		return why
	}
	c.target = uri
	r.continues(c, f[1])
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

// maxSubscriptions bounds the resources of one subscriptions/listen.
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
	uris := filter.Get("resourceSubscriptions")
	if uris.Len() > maxSubscriptions {
		return "it subscribes to too many resources"
	}
	if k := uris.Kind(); k != doc.Absent && k != doc.List {
		return "params.notifications.resourceSubscriptions has to be a list"
	}
	for _, u := range uris.Elements() {
		if u.Kind() != doc.String {
			return "params.notifications.resourceSubscriptions has to hold strings"
		}
		c.judged = append(c.judged, sallyport.Call{Subject: policy.Resource, Upstream: r.opt.Upstream, Name: u.String(), Shown: r.shownName(policy.Resource, u.String())})
	}
	return ""
}

// continues notes the requestState that a retry carries.
func (r *Relay) continues(c *call, raw []byte) {
	if state, ok := mcp.Str(raw); ok {
		c.state, c.again = sha256.Sum256([]byte(state)), true
	}
}

// submit takes a judged request on: a tool call waits until the tool list is known, and
// a write until the one before it has ended.
func (r *Relay) submit(c *call, m mcp.Message) {
	if c.method == "tools/call" && !r.listed(c, m) {
		return
	}
	r.admit(c)
}

func (r *Relay) admit(c *call) {
	if c.method == "tools/call" && r.opt.Session.Writes(c.judged[0]) && !r.takeWrite(c) {
		return
	}
	r.decide(c)
}

// takeWrite gives the write slot to c, or lets it wait.
func (r *Relay) takeWrite(c *call) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.writing != nil && r.writing != c {
		r.writers = append(r.writers, c)
		return false
	}
	r.writing, c.writes = c, true
	return true
}

// releaseWrite ends c's hold on the write slot and lets the next one run.
func (r *Relay) releaseWrite(c *call) {
	r.mu.Lock()
	if r.writing != c {
		r.mu.Unlock()
		return
	}
	r.writing = nil
	var next *call
	for len(r.writers) > 0 && next == nil {
		next, r.writers = r.writers[0], r.writers[1:]
		if next.cancelled {
			r.dropFrame(next)
			next = nil
		}
	}
	if next != nil {
		r.writing, next.writes = next, true
	}
	r.mu.Unlock()
	if next != nil {
		go r.decide(next)
	}
}

// decide puts the engine's verdict on a request, records it and acts on it.
func (r *Relay) decide(c *call) {
	if len(c.judged) == 0 {
		r.forward(c)
		return
	}
	if !r.wanted(c) {
		r.dropped(c) // cancelled while it waited: nothing is decided or charged
		return
	}
	for i := range c.judged {
		j := c.judged[i]
		if len(c.judged) == 1 {
			j.Continues = c.decision.ID // not zero when it waited for the write slot again
		}
		if c.again {
			j.Continues = r.stateDecision(c.state)
			c.again = false
		}
		d := r.opt.Session.Decide(c.ctx, j)
		if c.method == "tools/call" && d.Writes && d.Runs() && !r.takeWrite(c) {
			c.decision = d // its contract became a writing one since it was asked
			return
		}
		if d.Runs() {
			d = r.opt.Session.Start(c.ctx, d.ID)
		}
		if i > 0 && d.Runs() && c.decision.Verdict != sallyport.Allow {
			r.opt.Session.Forget(d.ID) // the first that would have been refused is recorded
			continue
		}
		if i > 0 {
			r.opt.Session.Forget(c.decision.ID)
		}
		c.decision = d
		if !d.Runs() {
			break
		}
	}
	d := c.decision
	switch {
	case !d.Runs():
		r.refusedByPin(c)
		r.recordVerdict(c, refusalOutcome(d))
		r.refuse(c)
	case r.recordVerdict(c, verdictOutcome(d)) || r.opt.AuditContinue:
		r.forward(c)
	default:
		c.decision.Verdict, c.decision.Check = sallyport.Deny, sallyport.CheckAudit
		c.decision.DryRun = false
		c.decision.Reason = "the verdict could not be recorded, and audit.on_failure is deny"
		r.refuse(c)
	}
}

func refusalOutcome(d sallyport.Decision) string {
	if d.Check == sallyport.CheckRate {
		return "rate_limited"
	}
	return "denied"
}

func verdictOutcome(d sallyport.Decision) string {
	if d.Verdict != sallyport.Allow {
		return "dry-run-allowed"
	}
	return "allowed"
}

// wanted reports whether a call still waits for an answer. What it holds of one that does
// not is given up.
func (r *Relay) wanted(c *call) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls[c.id.Key()] == c {
		return true
	}
	r.dropFrame(c)
	return false
}

// forward sends the bytes that were judged.
func (r *Relay) forward(c *call) {
	r.mu.Lock()
	m := c.m
	r.dropFrame(c)
	if r.calls[c.id.Key()] != c {
		r.mu.Unlock()
		r.dropped(c)
		return
	}
	c.forwarded = true
	r.mu.Unlock()
	r.send(m)
	r.mu.Lock()
	c.sent = true
	cancel := c.cancel
	r.mu.Unlock()
	if cancel != nil {
		r.send(*cancel)
	}
}

// dropped cleans up after a call that was cancelled before it was forwarded, or that the
// end of the relay answered.
func (r *Relay) dropped(c *call) {
	r.recordOutcome(c, outcome{name: "cancelled"})
	r.opt.Session.Forget(c.decision.ID)
	r.releaseWrite(c)
}

// cannotAsk ends an ask, because there is no channel to a human yet, and says what the
// user can do instead.
func cannotAsk(d sallyport.Decision) string {
	const lead = ". This version cannot ask: if it is right, the user can "
	switch {
	case d.Check == sallyport.CheckPolicy && d.Rule != "":
		return lead + "change the effect of rule " + quote.Value(d.Rule, 120)
	case d.Check == sallyport.CheckFlow && len(d.Questions) > 0 && d.Questions[0].Destination != "":
		return lead + "add it to trusted_destinations in the tool's contract"
	case d.Check == sallyport.CheckApproval:
		return lead + "take destructive: true out of the tool's contract"
	}
	return lead + "allow it in the configuration"
}

// refuse answers a call that the engine refused, in the form that its method has for it.
func (r *Relay) refuse(c *call) {
	defer r.releaseWrite(c)
	defer r.opt.Session.Forget(c.decision.ID)
	if !r.take(c) {
		return
	}
	text := "[sallyport blocked] " + c.decision.Reason
	if c.decision.Verdict == sallyport.Ask {
		text += cannotAsk(c.decision)
	}
	data, err := c.decision.MarshalJSON()
	if err != nil {
		data = nil
	}
	if c.method == "tools/call" {
		r.reply(c, built(mcp.ToolRefusal(c.id, text, data, c.modern)))
	} else {
		r.reply(c, built(mcp.ErrorResponse(c.id, mcp.CodeRefused, text, data)))
	}
}

// stateDecision finds the decision that a retry continues. Each requestState counts once.
func (r *Relay) stateDecision(state [32]byte) sallyport.DecisionID {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := r.states[state]
	delete(r.states, state)
	return id
}

func (r *Relay) rememberState(state string, id sallyport.DecisionID) {
	key := sha256.Sum256([]byte(state))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.states[key] = id
	r.stateAge = append(r.stateAge, key)
	for len(r.stateAge) > maxStates {
		delete(r.states, r.stateAge[0])
		r.stateAge = r.stateAge[1:]
	}
}
