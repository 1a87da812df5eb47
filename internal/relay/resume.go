package relay

import (
	"bytes"
	"crypto/sha256"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/approval"
	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// In 2026-07-28 a call that needs a yes is answered with a wish for input, and made again with
// the answer and a requestState of the gateway's own. The server sees neither of the two: what
// goes on to it is the call as it was, with the state and the answers that it carried then.

// returns reports that the client can be asked by what answers its call (basic/patterns/mrtr,
// "Supported Requests").
func (r *Relay) returns(c *call) bool {
	if !c.modern || !c.elicits || c.large || !r.rules.Load().AskClient {
		return false
	}
	return c.method == "tools/call" || c.method == "prompts/get" || c.method == "resources/read"
}

// inputKey names the gateway's question in inputRequests.
const inputKey = "io.sallyport/approval"

// open is a question of the gateway's that a requestState stands for.
type open struct {
	approval         approval.Approval
	decision         sallyport.DecisionID
	state, responses []byte // that the call carried to the server, raw; nil: none
}

// resumed is a retry that brings the answer to a question of the gateway's.
type resumed struct {
	open
	token    string // the requestState
	response sallyport.Value
}

const whyUnknownState = "params.requestState is not known any more: it was used, or its question is over; make the call again without it"

// ownState finds the question of the gateway's that a requestState stands for, once. why is
// not "" if it looks like one and stands for none. Called with mu held.
func (r *Relay) ownState(c *call, state string, all []*given) (why string) {
	g := c.givenIn(all)
	switch {
	case g != nil && g.open != nil:
		c.resume, c.again = &resumed{open: *g.open, token: state}, false
		delete(r.states, c.state)
	case len(all) == 0 && r.opt.Desk != nil && approval.IsRequestState(state):
		return whyUnknownState
	}
	return ""
}

// responses are the answers in a request that are for the server: those of a retry that is
// the gateway's are what the call carried before.
func (c *call) responses(raw []byte) (v sallyport.Value, why string) {
	if c.resume == nil {
		c.carried[1] = raw
		return inputResponses(raw)
	}
	given, why := inputResponses(raw)
	if why != "" {
		return v, why
	}
	c.resume.response = given.Get(inputKey)
	return inputResponses(c.resume.responses)
}

// restore makes the call of the gateway's retry what it was.
func (r *Relay) restore(c *call, m mcp.Message) (mcp.Message, error) {
	c.carried = [2][]byte{c.resume.state, c.resume.responses}
	was, err := mcp.Rewrite(m,
		mcp.Edit{Path: []string{"params", "requestState"}, Value: c.resume.state},
		mcp.Edit{Path: []string{"params", "inputResponses"}, Value: c.resume.responses})
	if err != nil {
		return m, err
	}
	c.state = [32]byte{}
	if state, ok := mcp.Str(c.resume.state); ok {
		c.state = sha256.Sum256([]byte(state))
	}
	c.decision.ID = c.resume.decision // it goes on
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting += len(was.Raw) - len(c.m.Raw)
	c.m = was
	return was, nil
}

// askBack answers a call with the question about it.
func (r *Relay) askBack(c *call, a approval.Approval) {
	c.approval = a.ID
	state, err := r.opt.Desk.RequestState(c.ctx, a)
	if err != nil {
		r.withdraw(c, a.ID, "the question could not be sent")
		r.cannotBeAsked(c, err)
		return
	}
	if !r.recordVerdict(c, refusalOutcome(c.decision)) && !r.opt.AuditContinue {
		r.withdraw(c, a.ID, "it could not be recorded")
		r.unrecorded(c)
		return
	}
	r.remember(state, &given{c.method, c.target, c.decision.ID, &open{
		approval: a, decision: c.decision.ID, state: bytes.Clone(c.carried[0]), responses: bytes.Clone(c.carried[1]),
	}})
	if !r.take(c) {
		r.withdraw(c, a.ID, whyGivenUp)
		r.opt.Session.Forget(c.decision.ID)
		return
	}
	text, _ := doc.FromGo(state) // base64
	b := append([]byte(`{"jsonrpc":"2.0","id":`), c.id.Raw()...)
	b = append(b, `,"result":{"resultType":"input_required","inputRequests":{"`+inputKey+`":{"method":"elicitation/create","params":`...)
	b = append(append(b, a.PromptParams(true)...), `}},"requestState":`...)
	r.reply(c, asksWithoutLinks(append(text.AppendJSON(b), "}}"...)))
}

// takeUp goes on with a retry that brings an answer, and still is an ask.
func (r *Relay) takeUp(c *call) {
	if !r.wanted(c) {
		r.dropped(c)
		return
	}
	u, a := c.resume, c.resume.approval
	c.resume = nil // it counts once
	c.approval = a.ID
	id, err := r.opt.Desk.Resume(c.ctx, u.token, r.question(c))
	if err != nil || id != a.ID {
		r.withdraw(c, a.ID, "the call was made again as another one")
		r.nobodyAgreed(c, "the user was asked about another call than this: make it again without requestState")
		return
	}
	ans, why := a.ReadPrompt(u.response)
	if why != "" {
		r.withdraw(c, a.ID, why)
		r.nobodyAgreed(c, "nobody agreed: "+why)
		return
	}
	r.answered(c, a.ID, ans)
}

// needsNoYes goes on with a retry that brings an answer, and is no ask any more: it was
// refused, or its destination is known by now. What the user was shown and did not agree to
// does not run all the same.
func (r *Relay) needsNoYes(c *call) {
	u, id := c.resume, c.resume.approval.ID
	c.resume = nil // it counts once
	ans, why := u.approval.ReadPrompt(u.response)
	switch {
	case !c.decision.Runs() || why == "" && ans.Yes:
		r.withdraw(c, id, "the call needs no answer any more")
		r.settle(c)
	case why != "":
		r.withdraw(c, id, why)
		r.nobodyAgreed(c, "nobody agreed: "+why)
	default:
		r.answered(c, id, ans)
	}
}
