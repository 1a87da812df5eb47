package bridge

import (
	"bytes"
	"context"
	"time"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// ask is one question that the client was asked.
type ask struct {
	id     mcp.ID
	key    string           // in inputRequests
	link   []byte           // the raw elicitationId of a question by URL
	answer chan mcp.Message // holds one
}

// rounds carries a request to the server until its answer is one that a handshake client
// knows: the server's wish for input is asked of the client, and the request sent again.
func (h *HandshakeConn) rounds(ctx context.Context, m mcp.Message, d *delivery) (mcp.Message, error) {
	tasks := false     // whether the client is said to know tasks
	var links [][]byte // of pages that the client was sent to
	var again []mcp.Edit
	if interruptible(m.Method) {
		// They would be read by the server, and mean nothing where a session is spoken.
		again = []mcp.Edit{{Path: []string{"params", "inputResponses"}}, {Path: []string{"params", "requestState"}}}
	}
	for round := 0; ; round++ {
		answer, err := h.once(ctx, m, again, round > 0, &tasks, d)
		if err != nil {
			return mcp.Message{}, err
		}
		if answer.Error != nil {
			return withID(answer, m.ID)
		}
		f, err := mcp.Fields(answer.Result, "resultType", "inputRequests", "requestState", "ttlMs", "cacheScope")
		if err != nil || !isObject(answer.Result) {
			return mcp.Message{}, refuse(mcp.CodeInternal, "the server's result cannot be read")
		}
		switch kind := text(f[0]); {
		case f[0] == nil || kind == "complete":
			for _, link := range links {
				d.send(built(mcp.NewNotification("notifications/elicitation/complete", object(pair{"elicitationId", link}))))
			}
			return h.finished(m, answer, f)
		case kind != "input_required":
			return mcp.Message{}, refuse(mcp.CodeInternal, "the server's result is of a kind that was not asked for")
		case !interruptible(m.Method):
			return mcp.Message{}, refuse(mcp.CodeInternal, "the server asks for input where the protocol has no way to")
		case round == MaxRounds:
			return mcp.Message{}, refuse(mcp.CodeInternal, "the server asked for input too often")
		case f[1] == nil && f[2] == nil:
			return mcp.Message{}, refuse(mcp.CodeInternal, "the server asks for input and does not say which")
		}
		responses, opened, err := h.ask(ctx, f[1], round, d)
		if err != nil {
			return mcp.Message{}, err
		}
		links = append(links, opened...)
		// Not f[2] itself: the answer's bytes are not kept through a further round.
		again = []mcp.Edit{
			{Path: []string{"params", "inputResponses"}, Value: responses},
			{Path: []string{"params", "requestState"}, Value: bytes.Clone(f[2])},
		}
	}
}

// once sends a request to the server once, fresh with an id of its own: sent again, it is
// another request.
func (h *HandshakeConn) once(ctx context.Context, m mcp.Message, again []mcp.Edit, fresh bool, tasks *bool, d *delivery) (mcp.Message, error) {
	edits := append(h.modern(*tasks), again...)
	if m.Method == "tools/call" {
		// A server that does not declare tasks ignores the wish for one.
		edits = append(edits, mcp.Edit{Path: []string{"params", "task"}})
	}
	if fresh {
		edits = append(edits, mcp.Edit{Path: []string{"id"}, Value: rawID(h.nextID())})
	}
	request, err := rewritten(m, edits...)
	if err != nil {
		return mcp.Message{}, err
	}
	answer, err := h.conn.Do(ctx, request, h.fromServer(d))
	switch {
	case err != nil:
		return mcp.Message{}, err
	case m.Method == "tools/call" && h.can.tasks && !*tasks && wantsTasks(answer):
		*tasks = true
		return h.once(ctx, m, again, true, tasks, d)
	case *tasks && text(at(answer.Result, "resultType")) == "task":
		return h.follow(ctx, answer, d)
	}
	return answer, nil
}

// withID is an answer with the id of the request that it is for.
func withID(m mcp.Message, id mcp.ID) (mcp.Message, error) {
	if m.ID.Raw() == id.Raw() {
		return m, nil
	}
	return rewritten(m, mcp.Edit{Path: []string{"id"}, Value: rawID(id)})
}

// finished makes a complete result one for a handshake client.
func (h *HandshakeConn) finished(m, answer mcp.Message, f [][]byte) (mcp.Message, error) {
	var edits []mcp.Edit
	if answer.ID.Raw() != m.ID.Raw() {
		edits = append(edits, mcp.Edit{Path: []string{"id"}, Value: rawID(m.ID)})
	}
	if f[0] != nil {
		edits = append(edits, mcp.Edit{Path: []string{"result", "resultType"}})
	}
	if cacheable(m.Method) {
		if f[3] != nil {
			edits = append(edits, mcp.Edit{Path: []string{"result", "ttlMs"}})
		}
		if f[4] != nil {
			edits = append(edits, mcp.Edit{Path: []string{"result", "cacheScope"}})
		}
	}
	if len(edits) > 0 {
		var err error
		if answer, err = rewritten(answer, edits...); err != nil {
			return answer, err
		}
	}
	return ForClient(answer, mcp.V20260728, h.version)
}

// ask asks the client what the server wants to know, all at once, and returns the raw
// inputResponses; links are the ids of pages that the client was sent to.
func (h *HandshakeConn) ask(ctx context.Context, requests []byte, round int, d *delivery) (responses []byte, links [][]byte, err error) {
	if requests == nil {
		return nil, nil, pause(ctx, round)
	}
	all, err := members(requests, maxQuestions)
	if err != nil {
		return nil, nil, refuse(mcp.CodeInternal, "the server's questions cannot be read, or are too many")
	}
	if len(all) == 0 {
		return []byte("{}"), nil, pause(ctx, round)
	}
	var messages []mcp.Message
	var open []*ask
	for _, p := range all {
		m, err := h.question(p.value)
		if err != nil {
			return nil, nil, err
		}
		a := &ask{id: m.ID, key: p.name, answer: make(chan mcp.Message, 1)}
		if m.Method == "elicitation/create" && text(at(m.Params, "mode")) == "url" {
			a.link = bytes.Clone(at(m.Params, "elicitationId"))
		}
		messages, open = append(messages, m), append(open, a)
	}
	h.mu.Lock()
	ready := h.ready
	for _, a := range open {
		h.asked[a.id.Key()] = a
	}
	h.mu.Unlock()
	defer h.forget(open)
	if !ready {
		return nil, nil, refuse(mcp.CodeInternal, "the server asks the client something before the client sent notifications/initialized")
	}
	for _, m := range messages {
		d.send(m)
	}
	var pairs []pair
	for i, a := range open {
		select {
		case m := <-a.answer:
			if m.Result == nil {
				h.withdraw(open[i+1:], d)
				return nil, nil, refuse(mcp.CodeInternal, "the client answered the server's question with an error")
			}
			pairs = append(pairs, pair{a.key, m.Result})
			if a.link != nil && h.version >= mcp.V20251125 && text(at(m.Result, "action")) == "accept" {
				links = append(links, a.link)
			}
		case <-ctx.Done():
			h.withdraw(open[i:], d)
			return nil, nil, context.Cause(ctx)
		case <-h.ctx.Done():
			return nil, nil, context.Cause(h.ctx)
		}
	}
	return object(pairs...), links, nil
}

// question makes a request to the client of one of the server's inputRequests.
func (h *HandshakeConn) question(raw []byte) (mcp.Message, error) {
	unreadable := refuse(mcp.CodeInternal, "the server's question cannot be read")
	if !isObject(raw) {
		return mcp.Message{}, unreadable
	}
	f, err := mcp.Fields(raw, "method", "params")
	if err != nil || f[1] != nil && !isObject(f[1]) {
		return mcp.Message{}, unreadable
	}
	method := text(f[0])
	if lacking := h.asks.lacks(method, f[1]); lacking != nil {
		return mcp.Message{}, refuse(mcp.CodeInternal, "the server asks for more than the client declared: "+lacking.Reason)
	}
	m, perr := mcp.Parse(mcp.NewRequest(h.nextID(), method, f[1]))
	if perr != nil {
		return mcp.Message{}, unreadable
	}
	m, err = ForClient(m, mcp.V20260728, h.version)
	if err != nil {
		return mcp.Message{}, refuse(mcp.CodeInternal, "the server's question cannot be asked: "+err.Error())
	}
	return m, nil
}

// answered takes the client's answer to a question. One that answers none is dropped.
func (h *HandshakeConn) answered(m mcp.Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if a := h.asked[m.ID.Key()]; a != nil {
		delete(h.asked, m.ID.Key())
		a.answer <- m
	}
}

func (h *HandshakeConn) forget(open []*ask) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, a := range open {
		delete(h.asked, a.id.Key())
	}
}

// withdraw tells the client that questions need no answer any more.
func (h *HandshakeConn) withdraw(open []*ask, d *delivery) {
	for _, a := range open {
		h.mu.Lock()
		_, waits := h.asked[a.id.Key()]
		h.mu.Unlock()
		if waits {
			d.send(built(mcp.NewNotification("notifications/cancelled", object(pair{"requestId", rawID(a.id)}))))
		}
	}
}

// pause waits before a request is sent again that the server wants to see again later.
func pause(ctx context.Context, round int) error {
	t := time.NewTimer(100 * time.Millisecond << round)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
