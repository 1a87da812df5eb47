package streamhttp

import (
	"context"
	"net/http"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// Exchange is one message of a client and the way back to it. Each message of a batch has
// its own. Safe for concurrent use.
type Exchange struct {
	Message mcp.Message
	Caller  Caller
	// Session is nil in stateless versions. For initialize it is the session that begins
	// if the answer is a result.
	Session *Session
	// Version in force for this message: what a stateless request states, else what the
	// session negotiated; "" for initialize.
	Version string
	// Header holds the request's headers without those that carry credentials. To check
	// Mcp-Param-… against a tool's schema, see Params.
	Header http.Header

	ctx   context.Context
	post  *post
	index int // within the batch
	state exchangeState
	taken chan struct{} // closed by Taken, under post.mu; nil outside of batches
}

type exchangeState uint8

const (
	isOpen exchangeState = iota
	isAnswered
)

// credentials are the headers that nobody behind the transport sees.
var credentials = []string{"Authorization", "Cookie", "Proxy-Authorization", headerSession}

func withoutCredentials(h http.Header) http.Header {
	h = h.Clone()
	for _, name := range credentials {
		h.Del(name)
	}
	return h
}

// Params returns the values of Mcp-Param-{name}, as sent: see ParamMatches. ok is false
// if the header stands there more than once.
func (x *Exchange) Params(name string) (value string, present, ok bool) {
	values := x.Header.Values(headerParamPrefix + name)
	if len(values) == 0 {
		return "", false, true
	}
	return values[0], true, len(values) == 1
}

// Send sends a notification or a request on this request's own stream; the answer becomes
// a stream with the first. It waits while a client that reads is slow. ErrJSONOnly: the
// client takes no stream. ErrGone: nobody will read it. ErrFull: the client is away and
// too much waits for it. ErrAnswered: it is too late.
func (x *Exchange) Send(frame []byte) error {
	m, bad := mcp.Parse(frame)
	if bad != nil || m.Kind == mcp.Response {
		return ErrFrame
	}
	st, err := x.post.streamFor(x)
	if err != nil {
		return err
	}
	return st.add(x.ctx, m.Raw, true, false)
}

// Reply answers the request: with one JSON body if nothing was sent before and the client
// takes JSON, else at the end of the stream. The frame is a response with the request's
// id. The first answer counts; another is ErrAnswered. An error means that this client
// will not get it.
func (x *Exchange) Reply(frame []byte) error { return x.ReplyStatus(http.StatusOK, frame) }

// ReplyStatus is Reply with an HTTP status, for answers that have one: 404 for a method
// that does not exist, 400 for what a stateless request lacks (2026-07-28). Where the
// answer has become a stream, the status is 200. For a notification or response it
// refuses what came: the status is then 4xx or 5xx, and the frame an error without an id.
func (x *Exchange) ReplyStatus(status int, frame []byte) error {
	m, bad := mcp.Parse(frame)
	if bad != nil || m.Kind != mcp.Response {
		return ErrFrame
	}
	if x.Message.Kind == mcp.Request && m.ID.Key() != x.Message.ID.Key() {
		return ErrFrame
	}
	if x.Message.Kind != mcp.Request && (status < 400 || m.Error == nil) {
		return ErrFrame
	}
	return x.post.reply(x, status, m)
}

// Taken says that the request is known to who serves it: what cancels it may come. In a batch a
// cancellation waits for the requests before it, until then or until Serve returns.
func (x *Exchange) Taken() {
	if x.taken == nil {
		return
	}
	x.post.mu.Lock()
	defer x.post.mu.Unlock()
	select {
	case <-x.taken:
	default:
		close(x.taken)
	}
}

// Drop ends a request that gets no answer, because the client has cancelled it. In a batch it
// gets an error: whoever sent the batch waits for as many answers as it has requests.
func (x *Exchange) Drop() error { return x.post.reply(x, http.StatusOK, mcp.Message{}) }

// Done is closed when the connection that the message came on is gone before the answer
// was written to it. In handshake versions that says nothing: the client may come back
// for a stream, and cancels with a notification.
func (x *Exchange) Done() <-chan struct{} { return x.post.gone }
