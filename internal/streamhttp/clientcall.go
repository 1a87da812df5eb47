package streamhttp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

const acceptBoth = typeJSON + ", " + typeStream

// call is one request that waits for its answer.
type call struct {
	c         *Client
	message   mcp.Message // what is sent
	version   string      // in force for it, "" if none is known yet
	session   string      // id that is sent with it
	onMessage func(mcp.Message) error
}

// Do sends one request and returns its answer, a result or an error, once. onMessage gets
// what arrives on this request's own stream before it, in order and one at a time; while
// it runs nothing more is read. An error from it ends the call and is returned. It may be
// nil: then such messages are dropped.
//
// params are the values of Mcp-Param-{name}, already as text (see [ParamText]), for
// requests of 2026-07-28. The other headers are derived from the frame.
//
// A stream that breaks is resumed where the version and the server allow it. When ctx ends,
// the connection is closed: in 2026-07-28 that cancels the request; before, the caller
// sends notifications/cancelled. The error is then the context's cause.
//
// With an HTTP+SSE server messages beside the answers come to Listen, not to onMessage.
func (c *Client) Do(ctx context.Context, frame []byte, params map[string]string, onMessage func(mcp.Message) error) (mcp.Message, error) {
	m, bad := mcp.Parse(frame)
	if bad != nil || m.Kind != mcp.Request {
		return mcp.Message{}, fmt.Errorf("%w: not a request", ErrFrame)
	}
	if onMessage == nil {
		onMessage = func(mcp.Message) error { return nil }
	}
	k := &call{c: c, message: m, onMessage: onMessage}
	k.version, k.session = c.versionFor(m)
	if events := c.eventSession(); events != nil && m.Method != "initialize" {
		return events.do(ctx, k)
	}
	return k.post(ctx, params)
}

// versionFor returns the version and the session id that go with a message.
func (c *Client) versionFor(m mcp.Message) (version, session string) {
	if version := mcp.RequestVersion(m); version != "" && stateless(version) {
		return version, ""
	}
	if m.Method == "initialize" {
		return "", ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if stateless(c.version) {
		return c.version, ""
	}
	return c.version, c.session
}

// post sends the request and reads whatever kind of answer comes.
func (k *call) post(ctx context.Context, params map[string]string) (mcp.Message, error) {
	h, err := k.c.postHeader(k.message, k.version, k.session, params)
	if err != nil {
		return mcp.Message{}, err
	}
	s := k.c.begin(ctx, k.c.opt.HeaderTimeout)
	resp, err := k.c.roundTrip(s, http.MethodPost, k.c.url, h, k.message.Raw)
	if err != nil {
		s.end()
		return mcp.Message{}, err
	}
	if resp.StatusCode >= 200 && resp.StatusCode < 300 && k.message.Method == "initialize" {
		if err := k.c.startSession(resp.Header); err != nil {
			_ = resp.Body.Close()
			s.end()
			return mcp.Message{}, err
		}
	}
	switch t := mediaType(resp.Header); {
	case resp.StatusCode == http.StatusNotFound && k.session != "":
		_ = resp.Body.Close()
		s.end()
		return mcp.Message{}, ErrNotTaken
	case resp.StatusCode < 200 || resp.StatusCode >= 300:
		defer s.end()
		return k.refused(ctx, resp, t)
	case resp.StatusCode != http.StatusOK:
		_ = resp.Body.Close()
		s.end()
		return mcp.Message{}, fmt.Errorf("%w: status %d", ErrNoAnswer, resp.StatusCode)
	case t == typeJSON && identity(resp.Header):
		defer s.end()
		return k.readJSON(resp)
	case t == typeStream && identity(resp.Header):
		return k.readStreams(ctx, s, resp)
	}
	_ = resp.Body.Close()
	s.end()
	return mcp.Message{}, ErrMediaType
}

// postHeader builds the headers of a POST (2026-07-28, "Request Metadata").
func (c *Client) postHeader(m mcp.Message, version, session string, params map[string]string) (http.Header, error) {
	h := c.header(acceptBoth, version, session)
	h.Set("Content-Type", typeJSON)
	if !isFieldText(version) {
		return nil, fmt.Errorf("%w: a version with characters that no header can carry", ErrFrame)
	}
	if !stateless(version) || m.Kind == mcp.Response {
		return h, nil
	}
	if m.Method == "" || m.Method != EncodeValue(m.Method) || len(m.Method) > MaxValue {
		return nil, fmt.Errorf("%w: a method that no header can carry", ErrFrame)
	}
	h.Set(headerMethod, m.Method)
	if name, needed, ok := bodyName(m); needed {
		if !ok || len(name) > MaxValue {
			return nil, fmt.Errorf("%w: no name, or one that no header can carry", ErrFrame)
		}
		h.Set(headerName, EncodeValue(name))
	}
	for name, value := range params {
		if !isToken(name) || len(name) > 128 || len(value) > MaxValue {
			return nil, fmt.Errorf("%w: an argument that no header can carry", ErrFrame)
		}
		h.Set(headerParamPrefix+name, EncodeValue(value))
	}
	return h, nil
}

// startSession takes over what the answer to initialize says of the session
// (2025-11-25, "Session Management", 1). An earlier one is forgotten.
func (c *Client) startSession(h http.Header) error {
	ids := h.Values(headerSession)
	id := h.Get(headerSession)
	if len(ids) > 1 || len(id) > maxSessionID {
		return fmt.Errorf("%w: an unusable session id", ErrBadMessage)
	}
	for i := range len(id) {
		if id[i] < 0x21 || id[i] > 0x7e {
			return fmt.Errorf("%w: an unusable session id", ErrBadMessage)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session, c.version, c.events = id, "", nil
	return nil
}

// refused reads an answer with another status than success. It may hold the answer to the
// request all the same (2026-07-28: 404 with -32601, 400 with what was wrong).
func (k *call) refused(ctx context.Context, resp *http.Response, mediaType string) (mcp.Message, error) {
	if mediaType == typeJSON && identity(resp.Header) && resp.StatusCode != http.StatusUnauthorized && len(resp.Header.Values(headerChallenge)) == 0 {
		body, err := readBody(resp, k.c.opt.MaxMessage)
		if err != nil {
			return mcp.Message{}, err
		}
		m, bad := mcp.Parse(body)
		if bad == nil && m.Error != nil && m.ID.Key() == k.message.ID.Key() {
			return m, nil
		}
		resp.Body = io.NopCloser(bytes.NewReader(body))
	}
	status := statusError(resp)
	switch status.Status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed:
		if k.message.Method == "initialize" {
			return k.c.fallBack(ctx, k, status)
		}
	}
	return mcp.Message{}, status
}

// readJSON reads an answer that is one JSON body.
func (k *call) readJSON(resp *http.Response) (mcp.Message, error) {
	body, err := readBody(resp, k.c.opt.MaxMessage)
	if err != nil {
		return mcp.Message{}, err
	}
	answer, done, err := k.take(body)
	if err == nil && !done {
		err = ErrBadMessage
	}
	return answer, err
}

// readBody reads a whole body of at most limit bytes and closes it.
func readBody(resp *http.Response, limit int) ([]byte, error) {
	defer resp.Body.Close()
	if resp.ContentLength > int64(limit) {
		return nil, ErrTooLarge
	}
	var b bytes.Buffer
	b.Grow(int(min(max(resp.ContentLength, 0)+bytes.MinRead, 1<<20)))
	_, err := b.ReadFrom(io.LimitReader(resp.Body, int64(limit)+1))
	switch {
	case err != nil:
		return nil, err
	case b.Len() > limit:
		return nil, ErrTooLarge
	}
	return b.Bytes(), nil
}

// take judges what one event or body holds: messages for onMessage, or the answer. done
// says that the answer is there.
func (k *call) take(data []byte) (answer mcp.Message, done bool, err error) {
	if !isArray(data) || k.version != mcp.V20250326 {
		return k.takeOne(data)
	}
	elements, err := splitBatch(bytes.TrimSpace(data))
	if err != nil && k.message.Kind != mcp.Request {
		k.c.refuse(&mcp.ParseError{Code: mcp.CodeInvalidRequest, Reason: err.Error()})
		return mcp.Message{}, false, nil
	}
	if err != nil {
		return mcp.Message{}, false, fmt.Errorf("%w: %w", ErrBadMessage, err)
	}
	for _, e := range elements {
		m, isAnswer, err := k.takeOne(e)
		if err != nil {
			return mcp.Message{}, false, err
		}
		if isAnswer && !done { // what stands beside it in the same array comes before it
			answer, done = m, true
		}
	}
	return answer, done, nil
}

func (k *call) takeOne(data []byte) (answer mcp.Message, done bool, err error) {
	m, bad := mcp.Parse(data)
	waits := k.message.Kind == mcp.Request // nobody does on the stream of the server's own messages
	if bad != nil {
		if waits && bad.Kind != mcp.Request && bad.Kind != mcp.Notification {
			return mcp.Message{}, false, fmt.Errorf("%w: %w", ErrBadMessage, bad)
		}
		k.c.refuse(bad)
		return mcp.Message{}, false, nil
	}
	switch {
	case m.Kind != mcp.Response:
		return mcp.Message{}, false, k.onMessage(m)
	case waits && m.ID.IsZero():
		return mcp.Message{}, false, fmt.Errorf("%w: an error without an id", ErrBadMessage)
	case !waits || m.ID.Key() != k.message.ID.Key():
		k.c.log.Warn("dropped a response that answers nothing")
		return mcp.Message{}, false, nil
	}
	return m, true, nil
}

// refuse tells of a message that cannot be judged.
func (c *Client) refuse(bad *mcp.ParseError) {
	c.log.Warn("dropped a message that is not valid", "reason", bad.Error())
	if c.opt.Refused != nil {
		c.opt.Refused(bad)
	}
}

// Send sends a notification or a response. It returns when the server has accepted it.
func (c *Client) Send(ctx context.Context, frame []byte) error {
	m, bad := mcp.Parse(frame)
	if bad != nil || m.Kind == mcp.Request {
		return fmt.Errorf("%w: not a notification or a response", ErrFrame)
	}
	version, session := c.versionFor(m)
	if events := c.eventSession(); events != nil {
		return events.send(ctx, m)
	}
	h, err := c.postHeader(m, version, session, nil)
	if err != nil {
		return err
	}
	s := c.begin(ctx, c.opt.HeaderTimeout)
	defer s.end()
	resp, err := c.roundTrip(s, http.MethodPost, c.url, h, m.Raw)
	if err != nil {
		return err
	}
	return accept(resp, session)
}

// accept reads the answer to a message that gets none.
func accept(resp *http.Response, session string) error {
	switch {
	case resp.StatusCode == http.StatusNotFound && session != "":
		_ = resp.Body.Close()
		return ErrSessionLost
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return statusError(resp)
	case mediaType(resp.Header) != typeStream: // which could stay open for ever
		_, _ = io.CopyN(io.Discard, resp.Body, MaxErrorBody) // lets the connection be used again
	}
	return resp.Body.Close()
}
