package bridge

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// errNotBack is the cause of a call whose client did not come back with answers.
var errNotBack = errors.New("the client did not come back")

// question takes a request of the server's that belongs to c; c may be nil for a ping.
func (s *StatelessConn) question(c *call, m mcp.Message) {
	if m.Method == "ping" {
		s.out.send(resultOf(m.ID, []byte("{}")))
		return
	}
	if refusal := s.put(c, m); refusal != nil {
		s.out.send(refusal.Answer(m.ID))
	}
}

// put notes a question, or says why it cannot be asked.
func (s *StatelessConn) put(c *call, m mcp.Message) *Refusal {
	if !interruptible(c.method) {
		return refuse(mcp.CodeInvalidRequest, "the client can be asked something during tools/call, prompts/get and resources/read only")
	}
	// Fields that 2026-07-28 does not have.
	params, err := mcp.RewriteObject(m.Params, mcp.Edit{Path: []string{"task"}}, mcp.Edit{Path: []string{"elicitationId"}})
	s.mu.Lock()
	defer s.mu.Unlock()
	if lacking := c.asks.lacks(m.Method, m.Params); lacking != nil {
		return lacking
	}
	switch {
	case err != nil:
		return refuse(mcp.CodeInvalidParams, "a question without params")
	case len(c.questions) == maxQuestions || c.rounds == MaxRounds:
		return refuse(mcp.CodeInternal, "the client was asked too much during this call")
	case !s.calls[c]:
		return refuse(mcp.CodeInternal, "the call that this question belongs to is over")
	}
	c.add(&question{id: m.ID, method: m.Method, params: bytes.Clone(params)})
	return nil
}

// withdrawn takes back a question that the server does not want answered any more.
func (s *StatelessConn) withdrawn(m mcp.Message) {
	id, err := mcp.ParseID(at(m.Params, "requestId"))
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.calls {
		c.questions = slices.DeleteFunc(c.questions, func(q *question) bool { return q.id.Key() == id.Key() })
	}
}

// add is called with the bridge's lock held.
func (c *call) add(q *question) {
	c.count++
	q.key = fmt.Sprintf("q%d", c.count)
	c.questions = append(c.questions, q)
	c.poke()
}

// poke tells whoever waits for the call that there are questions.
func (c *call) poke() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// park makes an input_required result of the questions of a call and lets it wait for the
// client to come back. It reports false if there is nothing to ask after all.
func (s *StatelessConn) park(c *call) (result []byte, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(c.questions) == 0 {
		return nil, false
	}
	if len(s.parked) == maxParked || c.rounds == MaxRounds || s.ctx.Err() != nil {
		left := c.questions
		c.questions = nil
		for _, q := range left {
			if !q.id.IsZero() {
				s.out.send(refuse(mcp.CodeInternal, "the client cannot be asked: too many calls wait for it, or this one asked too often").Answer(q.id))
			}
		}
		return nil, false
	}
	c.rounds++
	state := rand.Text() // 130 bits
	s.parked[state] = c
	c.expiry = time.AfterFunc(ParkFor, func() { s.expire(state) })
	var asked []pair
	for _, q := range c.questions {
		asked = append(asked, pair{q.key, object(pair{"method", quoted(q.method)}, pair{"params", q.params})})
	}
	return object(
		pair{"resultType", []byte(`"input_required"`)},
		pair{"inputRequests", object(asked...)},
		pair{"requestState", quoted(state)},
	), true
}

// expire cancels a call that nobody came back for.
func (s *StatelessConn) expire(state string) {
	s.mu.Lock()
	c := s.parked[state]
	delete(s.parked, state)
	s.mu.Unlock()
	if c != nil {
		c.cancel(errNotBack)
	}
}

// resume brings a retry back to the call that its requestState names. Each state is good
// for one retry of the same request.
func (s *StatelessConn) resume(ctx context.Context, m mcp.Message, w *waiting) (*call, error) {
	given, err := responses(m)
	if err != nil {
		return nil, err
	}
	state, want := text(at(m.Params, "requestState")), digest(m)
	s.mu.Lock()
	c := s.parked[state]
	switch {
	case c == nil:
		s.mu.Unlock()
		return nil, refuse(mcp.CodeInvalidParams, "this requestState is not known: it was used, has expired, or is of another conversation")
	case c.digest != want:
		s.mu.Unlock()
		return nil, refuse(mcp.CodeInvalidParams, "this requestState belongs to another request")
	}
	delete(s.parked, state)
	c.expiry.Stop()
	c.asks = w.asks
	var answered []*question
	for _, q := range c.questions {
		if given[q.key] != nil {
			answered = append(answered, q)
		}
	}
	c.questions = slices.DeleteFunc(c.questions, func(q *question) bool { return given[q.key] != nil })
	missing := len(c.questions) > 0
	s.mu.Unlock()
	if missing {
		c.poke()
	}
	if c.isAgain(answered) {
		return s.again(ctx, m, c, answered, given, missing, w)
	}
	c.line.attach(w, c.token)
	s.raise(ctx, w.level)
	for _, q := range answered {
		if err := s.conn.Send(ctx, s.answerTo(q, given[q.key])); err != nil {
			c.cancel(err)
			c.line.detach()
			return nil, err
		}
	}
	return c, nil
}

// responses are the answers that a retry brings, by their keys.
func responses(m mcp.Message) (map[string][]byte, error) {
	raw := at(m.Params, "inputResponses")
	if raw == nil {
		return nil, nil
	}
	all, err := members(raw, 4*maxQuestions)
	if err != nil {
		return nil, refuse(mcp.CodeInvalidParams, "the inputResponses cannot be read, or are too many")
	}
	given := map[string][]byte{}
	for _, p := range all {
		if !isObject(p.value) {
			return nil, refuse(mcp.CodeInvalidParams, "an inputResponse is no object")
		}
		given[p.name] = p.value
	}
	return given, nil
}

// answerTo is the client's answer as the server expects it.
func (s *StatelessConn) answerTo(q *question, result []byte) mcp.Message {
	if q.method == "sampling/createMessage" && s.conn.Version() < mcp.V20251125 {
		if blocks, several := elements(at(result, "content")); several {
			if len(blocks) != 1 {
				return refuse(mcp.CodeInternal, "the client's answer has several blocks of content, and this protocol version has one").Answer(q.id)
			}
			if one, err := mcp.RewriteObject(result, mcp.Edit{Path: []string{"content"}, Value: blocks[0]}); err == nil {
				result = one
			}
		}
	}
	return resultOf(q.id, result)
}

// pages makes questions of the pages that a server of 2025-11-25 wants opened before the
// call is made again.
func (s *StatelessConn) pages(c *call, w *waiting) (mcp.Message, error) {
	switch {
	case !interruptible(c.method):
		return mcp.Message{}, refuse(mcp.CodeInternal, "the server wants a page opened where the protocol has no way to ask for it")
	case !w.asks.url:
		return mcp.Message{}, missing("the server wants a page opened, and the client does not declare elicitation by URL", `{"elicitation":{"url":{}}}`)
	}
	wanted, ok := elements(at(c.answer.Error, "data", "elicitations"))
	if !ok || len(wanted) == 0 || len(wanted) > maxQuestions {
		return mcp.Message{}, refuse(mcp.CodeInternal, "the server wants pages opened and does not say which, or too many")
	}
	var questions []*question
	for _, raw := range wanted {
		params, err := mcp.RewriteObject(raw, mcp.Edit{Path: []string{"elicitationId"}})
		if err != nil || text(at(params, "mode")) != "url" {
			return mcp.Message{}, refuse(mcp.CodeInternal, "the server wants a page opened and does not say which")
		}
		questions = append(questions, &question{method: "elicitation/create", params: params})
	}
	s.mu.Lock()
	for _, q := range questions {
		c.add(q)
	}
	s.mu.Unlock()
	if result, ok := s.park(c); ok {
		return resultOf(w.id, result), nil
	}
	return mcp.Message{}, refuse(mcp.CodeInternal, "the client was asked too much during this call")
}

// isAgain reports whether the call is over and was parked to be made again.
func (c *call) isAgain(answered []*question) bool {
	return slices.ContainsFunc(answered, func(q *question) bool { return q.id.IsZero() }) ||
		slices.ContainsFunc(c.questions, func(q *question) bool { return q.id.IsZero() })
}

// again makes a call anew when all its pages were opened.
func (s *StatelessConn) again(ctx context.Context, m mcp.Message, c *call, answered []*question, given map[string][]byte, missing bool, w *waiting) (*call, error) {
	for _, q := range answered {
		if text(at(given[q.key], "action")) != "accept" {
			return nil, refuse(mcp.CodeInternal, "the server wants a page opened, and it was not")
		}
	}
	if missing {
		s.mu.Lock()
		c.questions = nil // asked again, all of them
		s.mu.Unlock()
		return c, nil
	}
	next, err := s.start(ctx, m, w)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	next.rounds += c.rounds
	next.count += c.count
	s.mu.Unlock()
	return next, nil
}
