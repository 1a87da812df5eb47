package relay

import (
	"context"
	"crypto/rand"
	"errors"
	"math/big"
	"strconv"
	"time"

	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/approval"
	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/quote"
)

// prompt is a question of the gateway's own that the client was asked. It is no request of
// the server's: the server cannot name, answer or cancel it.
type prompt struct {
	id     mcp.ID
	answer chan prompted // holds one; whoever takes the prompt out of the table sends

	approval string
	settled  chan struct{} // closed when nothing more becomes of the question
}

// prompted is what became of a prompt: the client's result, or why there is none.
type prompted struct {
	result []byte
	why    string
	tell   bool // the client still shows it

	elsewhere bool // it was answered at a terminal
}

// sends reports that the client can be sent a question while its call waits: it declared so,
// has said that it is initialized, and its version has the request.
func (r *Relay) sends(c *call) (version string, ok bool) {
	if c.modern || !r.rules.Load().AskClient {
		return "", false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	version = r.version
	if r.opt.ClientVersion != "" {
		version = r.opt.ClientVersion
	}
	return version, r.elicits && r.initialized && !r.draining && !r.ended && version >= mcp.V20250618
}

// elicitsForms reports that a client's capabilities have questions in the form of a form. An
// empty object says so too (2025-11-25, elicitation, "Capabilities").
func elicitsForms(capabilities doc.Value) bool {
	e := capabilities.Get("elicitation")
	return e.Kind() == doc.Object && (e.Get("form").Kind() == doc.Object || e.Get("url").Kind() == doc.Absent)
}

// prompt asks the client about a call that waits for it.
func (r *Relay) prompt(c *call, a approval.Approval, version string) {
	c.approval = a.ID
	if !r.recordVerdict(c, refusalOutcome(c.decision)) && !r.opt.AuditContinue {
		r.withdraw(c, a.ID, "it could not be recorded")
		r.unrecorded(c)
		return
	}
	p := r.openPrompt(c, a.ID)
	if p == nil {
		r.withdraw(c, a.ID, whyGivenUp)
		r.dropped(c)
		return
	}
	defer r.promptSettled(p)
	r.opt.ToClient(asksWithoutLinks(mcp.NewRequest(p.id, "elicitation/create", a.PromptParams(version >= mcp.V20251125))), c.id)
	got := r.await(c, p, a.Expires)
	if got.tell {
		r.opt.ToClient(built(mcp.NewNotification("notifications/cancelled", cancelParams(p.id, got.why))), c.id)
	}
	r.afterPrompt(c, &a, got)
}

// asksWithoutLinks is a question of the gateway's own. What it shows is no more to be clicked on
// than what servers say.
func asksWithoutLinks(frame []byte) mcp.Message {
	m := built(frame)
	body := m.Params
	if m.Kind == mcp.Response {
		body = m.Result
	}
	v, err := doc.Parse(body, doc.Limits{})
	if err != nil {
		return m // the gateway wrote it
	}
	if broken, err := withoutLinks(m, v); err == nil {
		return broken
	}
	return m
}

const whyGivenUp = "the client gave the call up"

// openPrompt puts a question into the table; nil if nobody waits for the call any more.
func (r *Relay) openPrompt(c *call, approval string) *prompt {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls[c.id.Key()] != c || r.draining || r.ended {
		return nil
	}
	p := &prompt{answer: make(chan prompted, 1), approval: approval, settled: make(chan struct{})}
	for {
		p.id = promptID(c.id)
		_, asked := r.asked[p.id.Key()]
		if _, used := r.prompts[p.id.Key()]; !asked && !used {
			break
		}
	}
	r.prompts[p.id.Key()], r.onScreen[approval], c.prompt = p, p, p
	return p
}

// promptID is an id that no server guesses, of the kind that the client uses itself.
func promptID(like mcp.ID) mcp.ID {
	if raw := like.Raw(); raw != "" && raw[0] == '"' {
		return mcp.StringID("sallyport-" + rand.Text())
	}
	n, err := rand.Int(rand.Reader, big.NewInt(1<<52)) // exact in every client
	if err != nil {
		panic(err) // does not fail
	}
	return mcp.IntID(1<<52 + n.Int64())
}

func (r *Relay) promptSettled(p *prompt) {
	r.mu.Lock()
	delete(r.onScreen, p.approval)
	r.mu.Unlock()
	close(p.settled)
}

// takePrompt takes a question out of the table. Whoever gets it says how it ended.
func (r *Relay) takePrompt(id mcp.ID) *prompt {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.prompts[id.Key()]
	delete(r.prompts, id.Key())
	return p
}

// endPrompt ends a question without an answer; nothing happens if it has one.
func (r *Relay) endPrompt(p *prompt, why string, tell bool) {
	if p != nil && r.takePrompt(p.id) == p {
		p.answer <- prompted{why: why, tell: tell}
	}
}

// endPrompts ends all questions: the client sends no more.
func (r *Relay) endPrompts(why string) {
	r.mu.Lock()
	all := make([]*prompt, 0, len(r.prompts))
	for _, p := range r.prompts {
		all = append(all, p)
	}
	r.mu.Unlock()
	for _, p := range all {
		r.endPrompt(p, why, false)
	}
}

// promptAnswered takes an answer of the client's that is for the gateway. false: it is not.
func (r *Relay) promptAnswered(m mcp.Message) bool {
	if m.ID.IsZero() {
		return false
	}
	p := r.takePrompt(m.ID)
	switch {
	case p == nil:
		return false
	case m.Result == nil:
		p.answer <- prompted{why: "the client answered with an error"}
	default:
		p.answer <- prompted{result: m.Result}
	}
	return true
}

// await waits for the answer to a question. A client that gave a progress token is told that
// the call waits; one that did not gives up by itself after some time, and is answered before.
func (r *Relay) await(c *call, p *prompt, until time.Time) prompted {
	left := time.Until(until)
	if c.token == nil {
		left = min(left, r.opt.PromptWait)
	}
	limit := time.NewTimer(left)
	defer limit.Stop()
	const looks = 5 // between two words of progress
	tick := time.NewTicker(r.opt.PromptTick / looks)
	defer tick.Stop()
	for n := int64(1); ; n++ {
		select {
		case got := <-p.answer:
			return got
		case <-limit.C:
			r.endPrompt(p, "nobody answered in time", true)
		case <-c.ctx.Done():
			r.endPrompt(p, whyGivenUp, true)
		case <-tick.C:
			if c.token != nil && n%looks == 0 {
				r.opt.ToClient(built(mcp.NewNotification("notifications/progress", waiting(c.token, n/looks))), c.id)
			}
			if open, err := r.opt.Desk.Open(c.ctx, p.approval); err != nil || open || r.takePrompt(p.id) != p {
				continue
			}
			p.answer <- prompted{why: "it was answered at a terminal", tell: true, elsewhere: true}
		}
		return <-p.answer // that of endPrompt, or one that was faster
	}
}

// waiting is progress of a call that waits. It has to grow, and what the server says later has
// to be more.
func waiting(token []byte, n int64) []byte {
	b := append([]byte(`{"progressToken":`), token...)
	b = strconv.AppendFloat(append(b, `,"progress":`...), float64(n)/1e6, 'f', 6, 64)
	return append(b, `,"message":"waiting for the user to answer Sallyport's question"}`...)
}

func cancelParams(id mcp.ID, reason string) []byte {
	text, _ := doc.FromGo(reason) // words of this package
	b := append([]byte(`{"requestId":`), id.Raw()...)
	return append(text.AppendJSON(append(b, `,"reason":`...)), '}')
}

// afterPrompt goes on with a call whose question has ended.
func (r *Relay) afterPrompt(c *call, a *approval.Approval, got prompted) {
	if got.elsewhere {
		r.claim(c)
		return
	}
	var ans approval.Answer
	why := got.why
	if why == "" {
		v, err := doc.Parse(got.result, doc.Limits{})
		if err != nil {
			v = doc.Value{}
		}
		ans, why = a.ReadPrompt(v)
	}
	if why != "" {
		r.withdraw(c, a.ID, why)
		r.nobodyAgreed(c, "nobody agreed: "+why)
		return
	}
	r.answered(c, a.ID, ans)
}

// answered settles a question with what a person said, and the call with it.
func (r *Relay) answered(c *call, id string, ans approval.Answer) {
	ctx := context.WithoutCancel(c.ctx)
	c.approval = id
	ans.By = r.through(c)
	_, err := r.opt.Desk.Answer(ctx, id, ans)
	switch {
	case err != nil && !errors.Is(err, approval.ErrNotOpen):
		r.cannotBeAsked(c, err)
		return
	case !ans.Yes:
		if err != nil { // a yes at a terminal, which was not used, is none after this
			r.takeBack(c, id, "the user said no in the client")
		}
		r.nobodyAgreed(c, "the user said no")
		return
	}
	if !r.wanted(c) { // nobody waits for the call that was shown, and the yes is for no later one
		r.takeBack(c, id, whyGivenUp)
		r.dropped(c)
		return
	}
	// One that was answered elsewhere meanwhile may be covered, and claiming says whether.
	r.claim(c)
}

// claim lets a call run if a yes covers it now.
func (r *Relay) claim(c *call) {
	if !r.wanted(c) {
		r.dropped(c)
		return
	}
	out, err := r.opt.Desk.Claim(context.WithoutCancel(c.ctx), r.question(c))
	switch {
	case err != nil:
		r.cannotBeAsked(c, err)
	case out.State != approval.Granted:
		r.nobodyAgreed(c, out.Reason)
	default:
		r.granted(c, out)
	}
}

// through says in whose prompt a person answered, as far as the client says who it is.
func (r *Relay) through(c *call) string {
	name := c.client
	if !c.modern {
		r.mu.Lock()
		name = r.client
		r.mu.Unlock()
	}
	if name == "" {
		return ""
	}
	return "whoever sits at the client " + quote.Value(name, 64)
}
