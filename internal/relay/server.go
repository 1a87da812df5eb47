package relay

import (
	"context"

	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/quote"
)

// FromServer takes a message of the server's. about is the client's request that a
// notification or request belongs to, if that is known; for an answer it is not looked at.
// What may reach the client is recorded and handed to ToClient before FromServer returns.
// ctx bounds what it takes to keep the server's pins.
func (r *Relay) FromServer(ctx context.Context, m mcp.Message, about mcp.ID) {
	if c, m := r.fromServer(ctx, m, about); c != nil {
		r.answer(c, m)
	}
}

// fromServer deals with all but the answers to the client's requests. Of one it returns the
// request and the message for answer: recording its output can take long, and other messages
// may go on meanwhile.
func (r *Relay) fromServer(ctx context.Context, m mcp.Message, about mcp.ID) (*call, mcp.Message) {
	m = mcp.StripReserved(m)
	if m.Extra && !r.observe("frame", 0, m.Raw) {
		r.unreadable(&mcp.ParseError{Code: mcp.CodeInvalidRequest, ID: m.ID, Reason: "it could not be recorded", Kind: m.Kind})
		return nil, m
	}
	switch m.Kind {
	case mcp.Request:
		r.serverRequest(m, r.abouts(about))
	case mcp.Notification:
		r.serverNotification(m, r.abouts(about))
	case mcp.Response:
		return r.serverResponse(ctx, m), m
	}
	return nil, m
}

// abouts is about, if the client knows of it: requests of the relay's own are its own
// affair.
func (r *Relay) abouts(about mcp.ID) mcp.ID {
	if about.IsZero() {
		return about
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.own[about.Key()] != nil {
		return mcp.ID{}
	}
	return about
}

// BadFromServer drops what is no message. A server that prints its logs on stdout is
// common; an answer among them that cannot be read still ends its request. Of line some
// bytes are logged.
func (r *Relay) BadFromServer(bad *mcp.ParseError, line []byte) {
	r.log.Warn("output of the server is dropped: no protocol message", "server", r.opt.Upstream,
		"reason", bad.Error(), "line", quote.Text(string(line[:min(len(line), 400)]), 200))
	r.unreadable(bad)
}

// unreadable ends what waits for a message that is refused. The client hears nothing of
// the server's words, which the ledger has not seen.
func (r *Relay) unreadable(bad *mcp.ParseError) {
	if bad.ID.IsZero() {
		return
	}
	if bad.Kind == mcp.Request {
		r.queue(mcp.ErrorResponse(bad.ID, bad.Code, "[sallyport] "+bad.Reason, nil))
		return
	}
	r.ServerFailed(bad.ID, "the server's answer is refused: "+bad.Reason)
}

// ServerFailed ends a request that the server will not answer, of the client's or of the
// relay's own. why is shown to the client. An id that waits for nothing is ignored.
func (r *Relay) ServerFailed(id mcp.ID, why string) {
	if l := r.takeListing(id); l != nil {
		r.listFailed(l, why)
		return
	}
	if c := r.takeForwarded(id); c != nil {
		r.answerError(c, why)
		return
	}
	r.mu.Lock()
	late := r.cancelled[id.Key()]
	r.mu.Unlock()
	if late != nil {
		r.releaseWrite(late)
	}
}

// takeForwarded removes and returns the call that the server may answer under id. Whoever
// took it has to reply.
func (r *Relay) takeForwarded(id mcp.ID) *call {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.calls[id.Key()]
	if c == nil || !c.forwarded {
		return nil
	}
	delete(r.calls, id.Key())
	r.answering.Add(1)
	return c
}

// answerError ends a forwarded call with an error of the gateway's.
func (r *Relay) answerError(c *call, why string) {
	r.opt.Session.Forget(c.decision.ID)
	r.releaseWrite(c)
	r.reply(c, built(mcp.ErrorResponse(c.id, mcp.CodeInternal, "[sallyport] "+why, nil)))
	r.recordOutcome(c, outcome{name: "error", detail: why})
}

func (r *Relay) serverRequest(m mcp.Message, about mcp.ID) {
	if !mcp.Known(mcp.ToClient, mcp.Request, m.Method) {
		r.log.Warn("a request of the server is refused: not known", "method", quote.Text(m.Method, 64))
		r.queue(mcp.ErrorResponse(m.ID, mcp.CodeMethodNotFound, "[sallyport] method "+quote.Value(m.Method, 64)+" is not known to the gateway and is not relayed", nil))
		return
	}
	if !r.observe(m.Method, 0, m.Params) {
		r.queue(mcp.ErrorResponse(m.ID, mcp.CodeInvalidRequest, "[sallyport] the request could not be recorded", nil))
		return
	}
	m, err := withoutLinks(m, paramsOf(m))
	if err != nil {
		r.queue(mcp.ErrorResponse(m.ID, mcp.CodeInvalidParams, "[sallyport] the question cannot be read", nil))
		return
	}
	if why := r.hostedRequest(m); why != "" {
		r.queue(mcp.ErrorResponse(m.ID, mcp.CodeInvalidParams, "[sallyport] "+why, nil))
		return
	}
	shown := m
	if m.Method == "elicitation/create" {
		var err error
		if shown, err = r.namedQuestion(m); err != nil {
			r.queue(mcp.ErrorResponse(m.ID, mcp.CodeInvalidParams, "[sallyport] the question cannot be read", nil))
			return
		}
	}
	r.mu.Lock()
	_, used := r.asked[m.ID.Key()]
	used = used || r.prompts[m.ID.Key()] != nil
	full := len(r.asked) >= maxOpen
	if !used && !full && !r.draining && !r.ended {
		r.asked[m.ID.Key()] = asked{m.ID, m.Method}
	}
	gone := r.draining || r.ended
	r.mu.Unlock()
	switch {
	case used:
		r.log.Warn("a request of the server is dropped: its id is in use", "id", quote.Text(m.ID.Raw(), 64))
	case full:
		r.queue(mcp.ErrorResponse(m.ID, mcp.CodeInvalidRequest, "[sallyport] too many requests are open", nil))
	case gone:
		r.queue(mcp.ErrorResponse(m.ID, mcp.CodeInternal, "[sallyport] the client has gone", nil))
	default:
		r.opt.ToClient(shown, about)
	}
}

func (r *Relay) serverNotification(m mcp.Message, about mcp.ID) {
	if !mcp.Known(mcp.ToClient, mcp.Notification, m.Method) {
		r.log.Warn("a notification of the server is dropped: not known", "method", quote.Text(m.Method, 64))
		return
	}
	observe := r.observe
	if m.Method == "notifications/tasks" || m.Method == "notifications/tasks/status" {
		observe = r.observeTaskNews
	}
	if !observe(m.Method, 0, m.Params) {
		r.log.Warn("a notification of the server is dropped: it could not be recorded", "method", m.Method)
		return
	}
	m, err := withoutLinks(m, paramsOf(m))
	if err != nil {
		r.log.Warn("a notification of the server is dropped: its questions cannot be read", "method", m.Method)
		return
	}
	switch m.Method {
	case "notifications/tools/list_changed":
		r.catalogueChanged()
	case "notifications/cancelled":
		if !r.serverCancels(m) {
			return
		}
	case "notifications/progress":
		if r.early(m) {
			r.log.Warn("a notification of the server is dropped: it is about a call that it was not given", "method", m.Method)
			return
		}
	}
	named, err := r.namedWishes(m, m.Params, "params")
	if err != nil {
		r.log.Warn("a notification of the server is dropped: it cannot be read", "method", m.Method)
		return
	}
	if m.Method == "notifications/tasks" {
		if named, err = r.attributed(named, paramsOf(m), m.Params, "params"); err != nil {
			r.log.Warn("a notification of the server is dropped: it cannot be read", "method", m.Method)
			return
		}
	}
	r.opt.ToClient(named, about)
}

// serverCancels reports whether a cancellation of the server's names something that it
// may end: a request of its own, or a stream that the client listens to.
func (r *Relay) serverCancels(m mcp.Message) bool {
	f, err := mcp.Fields(m.Params, "requestId")
	if err != nil || f[0] == nil {
		return false
	}
	id, err := mcp.ParseID(f[0])
	if err != nil {
		return false
	}
	if _, ok := r.takeAsked(id); ok {
		return true
	}
	r.mu.Lock()
	c := r.calls[id.Key()]
	listens := c != nil && c.forwarded && c.method == "subscriptions/listen"
	if listens {
		delete(r.calls, id.Key())
		r.rememberCancelled(c)
	}
	r.mu.Unlock()
	if listens {
		r.opt.Session.Forget(c.decision.ID)
	}
	return listens
}

// serverResponse returns the client's request that m answers, if it does. Whoever gets it has
// to reply.
func (r *Relay) serverResponse(ctx context.Context, m mcp.Message) *call {
	if l := r.takeListing(m.ID); l != nil {
		r.listAnswered(ctx, l, m)
		return nil
	}
	c := r.takeForwarded(m.ID)
	if c == nil {
		r.mu.Lock()
		late, cancelled := r.cancelled[m.ID.Key()]
		r.mu.Unlock()
		if late != nil {
			r.releaseWrite(late)
		}
		if cancelled {
			return nil // a cancelled request gets no answer
		}
		r.log.Warn("an answer of the server that answers nothing is dropped", "id", quote.Text(m.ID.Raw(), 64))
		return nil
	}
	return c
}

// answer records a call's output and relays it.
func (r *Relay) answer(c *call, m mcp.Message) {
	body, isError := m.Result, false
	if m.Error != nil {
		body, isError = m.Error, true
	}
	v, err := doc.Parse(body, doc.Limits{})
	if err != nil {
		r.answerError(c, "the server's answer could not be recorded: "+err.Error())
		return
	}
	if m, err = withoutLinks(m, v); err != nil {
		r.answerError(c, "the server's questions cannot be read")
		return
	}
	r.observeAnswer(c, v, body, isError)
	if !isError {
		r.learn(c, v)
	}
	at := "result"
	if isError {
		at = "error"
	}
	if m, err = r.attributed(m, v, body, at); err != nil {
		r.answerError(c, "the server's answer cannot be read")
		return
	}
	if m, err = r.namedAnswer(m, v); err != nil {
		r.answerError(c, "the server's questions cannot be read")
		return
	}
	how := outcome{name: "allowed", isError: isError || v.Get("isError").Bool(), result: body}
	switch {
	case !isError && r.begin(c, v):
		how.detail = "it goes on as a task"
	case asks(v):
		r.rememberState(v.Get("requestState").String(), c)
		r.releaseWrite(c)
	default:
		r.opt.Session.Forget(c.decision.ID)
		r.releaseWrite(c)
	}
	r.reply(c, r.shown(c, m))
	r.recordOutcome(c, how)
}
