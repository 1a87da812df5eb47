package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/streamhttp"
)

// cancelWait is how long it may take to tell a server that a request is cancelled.
const cancelWait = 5 * time.Second

// maxRefusals bounds how many refusals are on their way to a server at once: it can cause one
// with each line that it sends.
const maxRefusals = 256

// session is the wire to an HTTP server: at most one session there.
type session struct {
	c       *conversation
	client  *streamhttp.Client
	headers paramBook

	ctx     context.Context // ends with stop
	cancel  context.CancelFunc
	running sync.WaitGroup
	posting sync.WaitGroup
	refuses chan struct{} // holds one for each refusal on its way

	mu        sync.Mutex // guards all below, and adding to running and posting
	era       Era
	listening bool
	stopped   bool

	hurry   context.Context // ends when there is no more patience
	hurried context.CancelFunc
}

// connect makes a client. Nothing is sent yet.
func (s *Server) connect(beside func(mcp.Message)) (*conversation, error) {
	o := s.opt
	c := newConversation(s, beside)
	h := &session{c: c, refuses: make(chan struct{}, maxRefusals)}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	h.hurry, h.hurried = context.WithCancel(context.Background())
	var err error
	h.client, err = streamhttp.NewClient(streamhttp.ClientOptions{
		URL: o.URL, Header: o.Header, CAFile: o.CAFile, MaxMessage: o.MaxMessage, Log: s.log, Refused: h.refused,
		// A server that answers with JSON sends no header before it is done.
		HeaderTimeout: max(o.Timeout, streamhttp.DefaultHeaderTimeout),
		IdleTimeout:   max(o.Timeout, streamhttp.DefaultIdleTimeout),
	})
	if err != nil {
		h.cancel()
		h.hurried()
		return nil, err
	}
	c.wire = h
	return c, nil
}

func (h *session) ready(era Era, version string) {
	h.mu.Lock()
	h.era = era
	h.mu.Unlock()
	h.client.SetVersion(version)
	if h.client.Shared() { // everything comes there, and too much unheard would end it
		h.listen()
	}
}

// refused answers a request of the server's that is no valid message: it waits for one.
func (h *session) refused(bad *mcp.ParseError) {
	if bad.Kind != mcp.Request || bad.ID.IsZero() {
		return
	}
	select {
	case h.refuses <- struct{}{}:
	default:
		h.c.s.log.Debug("a refusal is not sent: too many are on their way")
		return
	}
	frame := mcp.ErrorResponse(bad.ID, bad.Code, mcp.Said+bad.Reason, nil)
	if !h.start(&h.posting, func() {
		h.tell(frame)
		<-h.refuses
	}) {
		<-h.refuses
	}
}

// do is that of wire.
func (h *session) do(ctx context.Context, r *request) (mcp.Message, error) {
	answer, err := h.call(ctx, r)
	cancel := err != nil && ctx.Err() != nil
	h.c.table.remove(r, cancel && h.client.Shared())
	switch {
	case cancel:
		h.cancelled(ctx, r)
		return mcp.Message{}, context.Cause(ctx)
	case err != nil:
		return mcp.Message{}, h.failed(err)
	}
	h.c.s.reached(h.c)
	return answer, nil
}

// call sends the request, with the headers that the tool's schema wants.
func (h *session) call(ctx context.Context, r *request) (mcp.Message, error) {
	onMessage := func(m mcp.Message) error {
		h.c.hand(m, r, false)
		if sub := h.c.unsubscribed(m); sub == r {
			return ErrUnsubscribed
		}
		return nil
	}
	modern := isStateless(r.m)
	var params map[string]string
	if modern && r.m.Method == "tools/call" {
		params = h.headers.values(r.m)
	}
	answer, err := h.client.Do(ctx, r.m.Raw, params, onMessage)
	if err != nil || !modern {
		return answer, err
	}
	switch r.m.Method {
	case "tools/list":
		return h.headers.learn(answer, h.c.s.log), nil
	case "tools/call":
		if errorCode(answer) != streamhttp.CodeHeaderMismatch {
			return answer, nil
		}
		// 2026-07-28, "Client Behavior": the schema may be another one by now.
		if h.list(ctx, r.m); ctx.Err() != nil {
			return mcp.Message{}, context.Cause(ctx)
		}
		again := h.headers.values(r.m)
		if sameValues(params, again) {
			return answer, nil
		}
		return h.client.Do(ctx, r.m.Raw, again, onMessage)
	}
	return answer, nil
}

// cancelled tells the server of the handshake era that a request is cancelled. In
// 2026-07-28 it knows by the end of the connection.
func (h *session) cancelled(ctx context.Context, r *request) {
	h.mu.Lock()
	handshake := h.era == Handshake
	h.mu.Unlock()
	if handshake && mayCancel(r.m) {
		h.post(cancelled(ctx, r.m.ID))
	}
}

// post sends a message of this package's own without waiting for it. The end of the session
// waits: what it cancelled would run on at a server that keeps no sessions.
func (h *session) post(frame []byte) { h.start(&h.posting, func() { h.tell(frame) }) }

func (h *session) tell(frame []byte) {
	ctx, cancel := context.WithTimeout(h.hurry, cancelWait)
	defer cancel()
	if err := h.client.Send(ctx, frame); err != nil {
		h.c.s.log.Debug("a message could not be sent", "error", err)
	}
}

// start runs f beside, unless the session is over.
func (h *session) start(group *sync.WaitGroup, f func()) (begun bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopped {
		return false
	}
	group.Go(f)
	return true
}

func (h *session) send(ctx context.Context, m mcp.Message) error {
	if err := h.client.Send(ctx, m.Raw); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return h.failed(err)
	}
	if m.Method == "notifications/initialized" {
		h.listen()
	}
	return nil
}

// listen reads what the server sends by itself, in the handshake era, for as long as the
// session lives.
func (h *session) listen() {
	h.mu.Lock()
	skip := h.listening || h.era == Stateless
	h.listening = true
	h.mu.Unlock()
	if skip {
		return
	}
	h.start(&h.running, func() {
		shared := h.client.Shared()
		err := h.client.Listen(h.ctx, func(m mcp.Message) error {
			h.c.hand(m, nil, shared)
			return nil
		})
		switch {
		case h.ctx.Err() != nil, errors.Is(err, streamhttp.ErrNoStream):
		case errors.Is(err, streamhttp.ErrSessionLost):
			h.c.end(fmt.Errorf("%w: %w", ErrDied, err))
		default:
			h.c.s.log.Warn("the server's own messages are not heard any more", "error", err)
		}
	})
}

// failed says what an error means for the conversation and the server.
func (h *session) failed(err error) error {
	var status *streamhttp.StatusError
	switch {
	case errors.Is(err, streamhttp.ErrClosed):
		return h.c.because(ErrClosed)
	case errors.Is(err, streamhttp.ErrSessionLost):
		why := fmt.Errorf("%w: %w", ErrDied, streamhttp.ErrSessionLost)
		h.c.end(why)
		if errors.Is(err, streamhttp.ErrNotTaken) {
			return notTaken(why)
		}
		return why
	case errors.Is(err, streamhttp.ErrTooLarge):
		return fmt.Errorf("%w: %w", ErrTooLarge, err)
	case errors.Is(err, streamhttp.ErrBadMessage), errors.Is(err, streamhttp.ErrMediaType):
		return fmt.Errorf("%w: %w", ErrBadAnswer, err)
	case errors.Is(err, streamhttp.ErrFrame):
		return fmt.Errorf("%w: %w", ErrNotSent, err)
	case errors.Is(err, ErrUnsubscribed), errors.Is(err, streamhttp.ErrRedirect), errors.Is(err, streamhttp.ErrNoAnswer):
		return err
	case errors.As(err, &status) && status.Status < http.StatusInternalServerError:
		return err // it is there, and does not want this request
	case status == nil:
		err = unreachable(err)
	}
	h.c.s.unreached(h.c, err)
	return err
}

// stop ends the session at the server, and everything that is open.
func (h *session) stop(ctx context.Context) {
	h.mu.Lock()
	first := !h.stopped
	h.stopped = true
	h.mu.Unlock()
	if ctx.Err() != nil {
		h.hurried()
	}
	h.cancel()
	if !first {
		return
	}
	h.posting.Wait()
	ctx, cancel := context.WithTimeout(h.hurry, cancelWait)
	defer cancel()
	if err := h.client.Close(ctx); err != nil {
		h.c.s.log.Debug("the session could not be ended at the server", "error", err)
	}
	h.running.Wait()
	h.hurried()
}
