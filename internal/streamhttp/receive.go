package streamhttp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// refusal is why a POST is refused.
type refusal struct {
	status int
	id     mcp.ID
	code   int
	text   string
	data   []byte
}

func bad(id mcp.ID, code int, text string) *refusal {
	return &refusal{status: http.StatusBadRequest, id: id, code: code, text: text}
}

// post serves a POST.
func (h *Handler) post(out *writer, r *http.Request, caller Caller) {
	held := &heldBody{h: h}
	defer held.release()
	body, no := h.readBody(out, r, held)
	if no == nil {
		no = h.receive(out, r, caller, body)
	}
	if no == nil {
		return
	}
	if no.status == http.StatusServiceUnavailable || no.status == http.StatusTooManyRequests {
		out.busy(no.status, no.id, no.text)
		return
	}
	_ = out.json(no.status, mcp.ErrorResponse(no.id, no.code, mcp.Said+no.text, no.data))
}

// readBody reads the body of a POST within its limits.
func (h *Handler) readBody(out *writer, r *http.Request, held *heldBody) ([]byte, *refusal) {
	if mediaType(r.Header) != typeJSON || !identity(r.Header) {
		return nil, &refusal{status: http.StatusUnsupportedMediaType, code: mcp.CodeInvalidRequest, text: "the body must be application/json in UTF-8, not compressed"}
	}
	if a := accepts(r.Header); !a.json && !a.stream {
		return nil, &refusal{status: http.StatusNotAcceptable, code: mcp.CodeInvalidRequest, text: "accept application/json and text/event-stream"}
	}
	large := &refusal{status: http.StatusRequestEntityTooLarge, code: mcp.CodeInvalidRequest, text: "the body is over the limit"}
	if r.ContentLength > h.opt.MaxBody {
		out.w.Header().Set("Connection", "close")
		return nil, large
	}
	_ = out.rc.SetReadDeadline(time.Now().Add(h.opt.BodyTimeout))
	defer func() { _ = out.rc.SetReadDeadline(time.Time{}) }()
	var b bytes.Buffer
	b.Grow(int(min(max(r.ContentLength, 0)+bytes.MinRead, 1<<20)))
	held.body = http.MaxBytesReader(out.w, r.Body, h.opt.MaxBody)
	_, err := b.ReadFrom(held)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, large
	case errors.Is(err, errBodies):
		out.w.Header().Set("Connection", "close")
		return nil, &refusal{status: http.StatusServiceUnavailable, text: "too much is being read"}
	case err != nil && !errors.Is(err, io.EOF):
		out.w.Header().Set("Connection", "close")
		return nil, &refusal{status: http.StatusRequestTimeout, code: mcp.CodeParse, text: "the body did not arrive"}
	}
	return b.Bytes(), nil
}

// heldBody counts what is read of a body, so that many of them do not fill the memory.
type heldBody struct {
	h    *Handler
	body io.Reader
	size int64
}

var errBodies = errors.New("too much is being read")

func (b *heldBody) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	b.size += int64(n)
	if b.h.bodies.Add(int64(n)) > b.h.opt.AllBodies {
		return n, errBodies
	}
	return n, err
}

func (b *heldBody) release() { b.h.bodies.Add(-b.size) }

// receive judges a body and serves what it holds. A refusal is returned before anything
// was served.
func (h *Handler) receive(out *writer, r *http.Request, caller Caller, body []byte) *refusal {
	if isArray(body) {
		return h.receiveBatch(out, r, caller, body)
	}
	m, wrong := mcp.Parse(body)
	if wrong != nil {
		return bad(wrong.ID, wrong.Code, wrong.Error())
	}
	version, isStateless, no := h.checkHeaders(r.Header, m)
	if no != nil {
		return no
	}
	if isStateless {
		return h.serve(out, r, caller, nil, version, []mcp.Message{m}, false)
	}
	ids := r.Header.Values(headerSession)
	initialize := m.Kind == mcp.Request && m.Method == "initialize"
	switch {
	case len(ids) > 1:
		return bad(m.ID, mcp.CodeInvalidRequest, "several session ids")
	case len(ids) == 0 && !initialize:
		return bad(m.ID, mcp.CodeInvalidRequest, "no session id: a session begins with initialize")
	case len(ids) == 0:
		return h.serve(out, r, caller, nil, "", []mcp.Message{m}, false)
	}
	s := h.session(ids[0], caller)
	if s == nil {
		return &refusal{status: http.StatusNotFound, id: m.ID, code: mcp.CodeInvalidRequest, text: "no such session"}
	}
	defer s.release()
	if initialize {
		return bad(m.ID, mcp.CodeInvalidRequest, "the session has begun already")
	}
	return h.serve(out, r, caller, s, s.Version(), []mcp.Message{m}, false)
}

// receiveBatch serves an array of messages: in sessions of 2025-03-26 only (transports,
// "Sending Messages to the Server", 3), where it holds requests and notifications, or
// responses.
func (h *Handler) receiveBatch(out *writer, r *http.Request, caller Caller, body []byte) *refusal {
	here := bad(mcp.ID{}, mcp.CodeInvalidRequest, "a batch is not accepted here")
	ids := r.Header.Values(headerSession)
	if len(ids) != 1 || stateless(r.Header.Get(headerVersion)) || len(r.Header.Values(headerMethod)) > 0 || len(r.Header.Values(headerName)) > 0 {
		return here
	}
	s := h.session(ids[0], caller)
	if s == nil {
		return &refusal{status: http.StatusNotFound, code: mcp.CodeInvalidRequest, text: "no such session"}
	}
	defer s.release()
	if s.Version() != mcp.V20250326 {
		return here
	}
	elements, err := splitBatch(bytes.TrimSpace(body))
	if err != nil {
		return bad(mcp.ID{}, mcp.CodeInvalidRequest, err.Error())
	}
	var messages []mcp.Message
	seen := map[string]bool{}
	responses := 0
	for i, e := range elements {
		m, wrong := mcp.Parse(e)
		switch {
		case wrong != nil:
			return bad(mcp.ID{}, wrong.Code, "message "+strconv.Itoa(i+1)+" of the batch: "+wrong.Error())
		case m.Method == "initialize":
			return bad(mcp.ID{}, mcp.CodeInvalidRequest, "initialize is not part of a batch")
		case m.Kind == mcp.Request && seen[m.ID.Key()]:
			return bad(mcp.ID{}, mcp.CodeInvalidRequest, "two requests of the batch have one id")
		case m.Kind == mcp.Response:
			responses++
		}
		if version, present := metaVersion(m); present && (version == "" || stateless(version)) {
			return here
		}
		seen[m.ID.Key()] = true
		messages = append(messages, m)
	}
	if responses > 0 && responses < len(messages) {
		return bad(mcp.ID{}, mcp.CodeInvalidRequest, "responses beside other messages in one batch")
	}
	return h.serve(out, r, caller, s, s.Version(), messages, true)
}

// serve hands messages to the gateway and writes the answer. s is nil in stateless
// versions and for initialize, which begins one.
func (h *Handler) serve(out *writer, r *http.Request, caller Caller, s *Session, version string, messages []mcp.Message, batch bool) *refusal {
	requests := 0
	for _, m := range messages {
		if m.Kind == mcp.Request {
			requests++
		}
	}
	like := Exchange{Caller: caller, Session: s, Version: version, Header: withoutCredentials(r.Header)}
	if requests > 0 {
		if no := h.begin(caller.Name, requests); no != nil {
			no.id = messages[0].ID
			return no
		}
	}
	initialize := s == nil && version == "" && requests > 0
	if initialize {
		var ok bool
		if s, ok = h.newSession(caller.Name); !ok {
			h.served(caller.Name)
			h.done()
			return &refusal{status: http.StatusServiceUnavailable, id: messages[0].ID, text: "too many sessions"}
		}
		defer s.release()
		like.Session = s
	}
	if s != nil {
		like.ctx = s.ctx
	} else {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(h.base, cancel)()
		like.ctx = ctx
	}
	p := newPost(h, out, accepts(r.Header), s, requests)
	p.batch, p.initialize = batch, initialize
	p.prime = s != nil && version == mcp.V20251125
	if !h.serveEach(p, like, messages) {
		return nil
	}
	if requests == 0 {
		out.w.WriteHeader(http.StatusAccepted)
		return nil
	}
	p.run(r.Context())
	return nil
}

// serveEach serves the messages in order; requests do not wait for each other. It returns
// false if the one message was refused, and that was written.
func (h *Handler) serveEach(p *post, like Exchange, messages []mcp.Message) bool {
	index := 0
	var before []chan struct{}
	for _, m := range messages {
		x := like
		x.Message, x.post, x.index = m, p, index
		if m.Kind == mcp.Request {
			index++
			held := p.session
			if held != nil && !held.use() { // it has just ended, and with it the context
				held = nil
			}
			if p.batch {
				x.taken = make(chan struct{})
				before = append(before, x.taken)
			}
			go p.serve(&x, held)
			continue
		}
		if m.Method == "notifications/cancelled" {
			for _, taken := range before {
				<-taken
			}
		}
		x.post = newPost(h, p.out, p.accept, p.session, 0)
		h.serveOneWay(&x)
		if status := x.post.status; status != http.StatusOK && !p.batch {
			_ = p.out.json(status, x.post.replies[0])
			return false
		}
	}
	return true
}

// serveOneWay serves a message that gets no answer.
func (h *Handler) serveOneWay(x *Exchange) {
	defer func() {
		if v := recover(); v != nil {
			h.panicked(v)
			_ = x.ReplyStatus(http.StatusInternalServerError, mcp.ErrorResponse(mcp.ID{}, mcp.CodeInternal, mcp.Said+"the message was not taken", nil))
		}
	}()
	h.opt.Serve(x.ctx, x)
}
