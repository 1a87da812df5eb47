package relay

import (
	"context"
	"time"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/quote"
)

// call is one request of the client, from its arrival to its answer.
type call struct {
	id      mcp.ID
	method  string
	ctx     context.Context // of who gave it to the relay
	m       mcp.Message     // guarded by Relay.mu; zero once forwarded or given up
	modern  bool            // 2026-07-28 or later
	arrived time.Time

	judged   []sallyport.Call // what the engine decides; empty: nothing to decide
	target   string           // for records
	trace    string           // for records: the client's trace
	args     sallyport.Value
	decision sallyport.Decision
	seq      uint64 // of the verdict's record
	state    [32]byte
	again    bool // carries a requestState

	meta     []byte    // raw, in the frame; nil once it was read
	token    []byte    // the client's progress token, raw; nil: it wants no progress
	client   string    // of a stateless request: its client's name
	elicits  bool      // a stateless request says that its client can be asked
	carried  [2][]byte // requestState and inputResponses that go to the server, raw, in the frame
	resume   *resumed  // it brings the answer to a question of the gateway's
	approval string    // id of the approval that the verdict goes by; "": none
	keeps    bool      // the decision outlives the refusal: its retry continues it
	large    bool      // too much to be kept for a retry

	asTask  bool            // asks to be run as a task
	task    *task           // that a tasks/ request is about
	content sallyport.Value // of a tasks/update: judged for what it carries

	// Guarded by Relay.mu.
	forwarded bool
	sent      bool // its bytes have left
	cancelled bool
	cancel    *mcp.Message // the client's notice, to be sent right after them
	writes    bool         // holds the write slot
	uncounted bool         // not in Relay.open
	prompt    *prompt      // the client is being asked about it
}

// FromClient takes a message of the client's: it is judged and relayed, refused, or held
// until it can be judged. ctx counts as long as m waits to be forwarded: a request whose
// context has ended by then is refused.
func (r *Relay) FromClient(ctx context.Context, m mcp.Message) {
	switch m.Kind {
	case mcp.Request:
		if !r.Offer(ctx, m, false) {
			r.log.Warn("a request of the client is refused", "id", quote.Text(m.ID.Raw(), 64), "reason", whyEnded)
			r.toClient(m.ID, mcp.ErrorResponse(m.ID, mcp.CodeInvalidRequest, "[sallyport] "+whyEnded, nil))
		}
	case mcp.Notification:
		r.clientNotification(ctx, m)
	case mcp.Response:
		r.clientResponse(ctx, m)
	}
}

// BadFromClient refuses what is no message. A refused answer becomes an error for the
// server that waits for it.
func (r *Relay) BadFromClient(bad *mcp.ParseError) {
	r.log.Warn("a message of the client is refused", "reason", bad.Error())
	r.recordRefusedFrame(bad)
	if bad.Kind == mcp.Response {
		if p := r.takePrompt(bad.ID); p != nil {
			p.answer <- prompted{why: "the client's answer cannot be read"}
			return
		}
		if _, ok := r.takeAsked(bad.ID); ok {
			r.send(built(mcp.ErrorResponse(bad.ID, mcp.CodeInternal, "[sallyport] the client's answer is refused: "+bad.Reason, nil)))
		}
		return
	}
	if bad.Kind == mcp.Notification {
		return
	}
	r.mu.Lock()
	_, cancelled := r.cancelled[bad.ID.Key()]
	answered := !bad.ID.IsZero() && (r.calls[bad.ID.Key()] != nil || cancelled)
	r.mu.Unlock()
	if answered {
		return // that id gets its one answer already
	}
	r.toClient(bad.ID, mcp.ErrorResponse(bad.ID, bad.Code, "[sallyport] "+bad.Error(), nil))
}

func (r *Relay) clientNotification(ctx context.Context, m mcp.Message) {
	if !mcp.Known(mcp.ToServer, mcp.Notification, m.Method) {
		r.log.Warn("a notification of the client is dropped: not known", "method", quote.Text(m.Method, 64))
		return
	}
	switch m.Method {
	case "notifications/initialized":
		r.mu.Lock()
		r.initialized = true
		r.mu.Unlock()
	case "notifications/cancelled":
		r.cancel(m)
		return
	case "notifications/tasks/status":
		if !r.mayTell(ctx, m) {
			return
		}
	}
	r.send(m)
}

// cancel stops a call wherever it is. Only the server that has it is told.
func (r *Relay) cancel(m mcp.Message) {
	fields, err := mcp.Fields(m.Params, "requestId")
	if err != nil || fields[0] == nil {
		return
	}
	id, err := mcp.ParseID(fields[0])
	if err != nil {
		return
	}
	r.mu.Lock()
	c := r.calls[id.Key()]
	if c == nil {
		r.mu.Unlock()
		return
	}
	delete(r.calls, id.Key())
	c.cancelled = true
	r.rememberCancelled(c)
	forwarded, sent, writes, asking := c.forwarded, c.sent, c.writes, c.prompt
	if forwarded && !sent {
		c.cancel = &m
	}
	r.mu.Unlock()

	r.finished(c)
	r.endPrompt(asking, whyGivenUp, true)
	if !forwarded {
		return // held, queued or being decided: whoever comes to it next drops it
	}
	r.recordOutcome(c, outcome{name: "cancelled"})
	r.opt.Session.Forget(c.decision.ID)
	if sent {
		r.send(m)
	}
	if writes {
		time.AfterFunc(r.opt.CancelGrace, func() { r.releaseWrite(c) })
	}
}

// rememberCancelled is called with mu held. Of most calls it keeps the id and no more.
func (r *Relay) rememberCancelled(c *call) {
	r.cancelled[c.id.Key()] = nil
	if c.forwarded && c.writes {
		r.cancelled[c.id.Key()] = c
	}
	r.cancelAge = append(r.cancelAge, c.id.Key())
	for len(r.cancelAge) > maxCancelled {
		delete(r.cancelled, r.cancelAge[0])
		r.cancelAge = r.cancelAge[1:]
	}
}

// unknownMethod is the event of a request whose method is not known: the log has events
// of its own, which a client must not be able to name.
const unknownMethod = "unknown"

// whyEnded refuses a request that came after the end.
const whyEnded = "the relay has ended"

// Offer is FromClient for a request, but that it reports false and answers nothing once the
// relay has ended: another may take the request. elsewhere says that another will: then it is
// not begun either when nothing is open any more after Drain, and the end would cut it off.
func (r *Relay) Offer(ctx context.Context, m mcp.Message, elsewhere bool) (taken bool) {
	c := &call{id: m.ID, method: m.Method, ctx: ctx, m: m, arrived: time.Now(), large: len(m.Raw) > maxAskedFrame}
	c.readsMeta(m)
	why, answer := r.register(c, elsewhere)
	if why == whyEnded {
		return false
	}
	r.clientRequest(c, m, why, answer)
	return true
}

// clientRequest takes a request that was registered, or refused for why.
func (r *Relay) clientRequest(c *call, m mcp.Message, why string, answer bool) {
	if why != "" {
		r.log.Warn("a request of the client is refused", "id", quote.Text(m.ID.Raw(), 64), "reason", why)
		if answer {
			r.toClient(m.ID, mcp.ErrorResponse(m.ID, mcp.CodeInvalidRequest, "[sallyport] "+why, nil))
		}
		return
	}
	version := mcp.RequestVersion(m)
	if version == "" {
		r.mu.Lock()
		version = r.version
		r.mu.Unlock()
	}
	c.modern = version >= mcp.V20260728
	if c.modern && c.meta != nil && r.opt.Desk != nil && r.rules.Load().AskClient {
		c.readsClient()
	}
	c.meta = nil // or the frame would be kept

	if !mcp.Known(mcp.ToServer, mcp.Request, m.Method) {
		c.method, c.target = unknownMethod, m.Method
		r.refuseRequest(c, mcp.CodeMethodNotFound, "method "+quote.Value(m.Method, 64)+" is not known to the gateway and is not relayed")
		return
	}
	if why := r.judge(c, m); why != "" {
		r.refuseRequest(c, mcp.CodeInvalidParams, why)
		return
	}
	if c.resume != nil {
		was, err := r.restore(c, m)
		if err != nil {
			r.refuseRequest(c, mcp.CodeInvalidParams, "the retry cannot be read")
			return
		}
		m = was
	}
	r.submit(c, m)
}

// register makes the request known before anything else happens to it. answer says
// whether a refusal may be sent: an id that is in use gets its one answer later.
func (r *Relay) register(c *call, elsewhere bool) (why string, answer bool) {
	key := c.id.Key()
	r.mu.Lock()
	defer r.mu.Unlock()
	_, cancelled := r.cancelled[key]
	switch {
	case r.ended || elsewhere && r.idled:
		return whyEnded, true
	case r.calls[key] != nil:
		return "its id is in use by another request", false
	case r.own[key] != nil, cancelled:
		return "its id was used before", true
	case len(r.calls) >= maxOpen:
		return "too many requests are open", true
	case r.waiting > 0 && (r.waiting+len(c.m.Raw))/waitingFrames > r.opt.MaxMessage:
		return "the requests that wait to be forwarded are too large", true
	}
	r.calls[key] = c
	r.waiting += len(c.m.Raw)
	if c.method == "subscriptions/listen" {
		c.uncounted = true // it stays open as long as the client likes
	} else {
		r.open++
	}
	return "", false
}

// take removes a call that is about to be answered: whoever took it has to reply. false:
// it was cancelled or answered by someone else.
func (r *Relay) take(c *call) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dropFrame(c)
	if r.calls[c.id.Key()] != c {
		return false
	}
	delete(r.calls, c.id.Key())
	r.answering.Add(1)
	return true
}

// dropFrame lets go of a frame that leaves or never will. Called with mu held.
func (r *Relay) dropFrame(c *call) {
	r.waiting -= len(c.m.Raw)
	c.m = mcp.Message{}
}

// refuseRequest answers a request with an error that is no decision of the engine's.
func (r *Relay) refuseRequest(c *call, code int, why string) {
	if !r.take(c) {
		return
	}
	c.decision.Reason = why
	r.recordVerdict(c, "denied")
	r.reply(c, built(mcp.ErrorResponse(c.id, code, "[sallyport] "+audit.RedactText(why), nil)))
}

// reply writes the answer to a call that was taken.
func (r *Relay) reply(c *call, m mcp.Message) {
	defer r.answering.Done()
	r.opt.ToClient(m, c.id)
	r.finished(c)
}
