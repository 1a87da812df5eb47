package relay

import (
	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/quote"
)

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
	if len(c.judged) == 0 && c.content.Kind() == doc.Absent {
		r.forward(c)
		return
	}
	if !r.wanted(c) {
		r.dropped(c) // cancelled while it waited: nothing is decided or charged
		return
	}
	if c.content.Kind() != doc.Absent {
		c.decision = r.opt.Session.Reply(c.ctx, c.method, c.content)
	}
	for i := range c.judged {
		j := c.judged[i]
		if len(c.judged) == 1 {
			j.Continues = c.decision.ID // not zero when it waited for the write slot again
		}
		if c.again {
			j.Continues = r.stateDecision(c)
			c.again = false
		}
		if j.Continues == 0 && len(c.judged) == 1 {
			j.Continues = r.answeredDecision(c, j)
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
	if r.askable(c) {
		r.releaseWrite(c) // it is not held while a person thinks
		r.asking.Add(1)
		go func() {
			defer r.asking.Add(-1)
			if c.resume != nil {
				r.takeUp(c)
			} else {
				r.ask(c)
			}
		}()
		return
	}
	if c.resume != nil {
		r.needsNoYes(c)
		return
	}
	r.settle(c)
}

// settle records the verdict on a request and acts on it.
func (r *Relay) settle(c *call) {
	d := unasked(c.decision)
	c.decision = d
	switch {
	case !d.Runs():
		r.refusedByPin(c)
		r.recordVerdict(c, refusalOutcome(d))
		r.refuse(c)
	case r.recordVerdict(c, verdictOutcome(d)) || r.opt.AuditContinue:
		r.forward(c)
	default:
		r.unrecorded(c)
	}
}

// unrecorded refuses a call whose verdict is not in the log.
func (r *Relay) unrecorded(c *call) {
	c.decision.Verdict, c.decision.Check = sallyport.Deny, sallyport.CheckAudit
	c.decision.DryRun = false
	c.decision.Reason = "the verdict could not be recorded, and audit.on_failure is deny"
	r.refuse(c)
}

func refusalOutcome(d sallyport.Decision) string {
	switch {
	case d.Verdict == sallyport.Ask:
		return "asked"
	case d.Check == sallyport.CheckRate:
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
	c.carried = [2][]byte{} // or the frame would be kept
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

// unasked is the refusal that an ask becomes which nobody can be asked about; any other
// decision stays as it is.
func unasked(d sallyport.Decision) sallyport.Decision {
	if d.Runs() || d.Verdict != sallyport.Ask {
		return d
	}
	return closed(d, d.Reason+cannotAsk(d))
}

// cannotAsk says what the user can do where nobody can be asked.
func cannotAsk(d sallyport.Decision) string {
	const lead = ". Nobody can be asked about this here: if it is right, the user can "
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
	d := r.told(c)
	r.refuseWith(c, d, d.Reason)
}

// refuseWith refuses a call with a decision, and what is said of it.
func (r *Relay) refuseWith(c *call, d sallyport.Decision, text string) {
	defer r.releaseWrite(c)
	if !c.keeps {
		defer r.opt.Session.Forget(c.decision.ID)
	}
	if !r.take(c) {
		return
	}
	text = "[sallyport blocked] " + text
	data, err := d.MarshalJSON()
	if err != nil {
		data = nil
	}
	if c.method == "tools/call" {
		r.reply(c, built(mcp.ToolRefusal(c.id, text, data, c.modern)))
	} else {
		r.reply(c, built(mcp.ErrorResponse(c.id, mcp.CodeRefused, text, data)))
	}
}
