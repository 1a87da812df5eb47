package gateway

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/stdio"
	"github.com/sallyport-dev/sallyport/internal/streamhttp"
	"github.com/sallyport-dev/sallyport/internal/upstream"
)

// channel is a client on stdio: a handshake session, and one for each client that
// stateless requests speak of.
type channel struct {
	g      *Gateway
	caller Caller
	out    *stdio.Writer
	gone   chan struct{} // closed when it cannot be written to
	lost   sync.Once
	calls  sync.WaitGroup

	// Only the reader uses these.
	handshake *session
	stateless map[statelessKey]*session
}

// Stdio serves one client over in and out until in ends, out cannot be written to, or ctx
// ends. Open calls are then answered as far as the client still reads: after the end of in
// they go on for at most Drain. The error is that of in. A read from in may still be under
// way when it returns: its caller closes in.
func (g *Gateway) Stdio(ctx context.Context, c Caller, in io.Reader, out io.Writer) error {
	ch := &channel{g: g, caller: c, out: stdio.NewWriter(out), gone: make(chan struct{}), stateless: make(map[statelessKey]*session)}
	ended := make(chan error, 1)
	go func() { ended <- ch.read(in) }()
	var err error
	select {
	case err = <-ended:
		ch.drain(ctx)
	case <-ch.gone:
	case <-ctx.Done():
	case <-g.quiet:
		select { // Close waits for open calls and ends the sessions
		case <-ctx.Done():
		case err = <-ended:
			ch.drain(ctx)
		}
	}
	ch.end()
	return err
}

// drain lets open calls finish after the client's last word: nobody can answer what a
// server asks any more.
func (ch *channel) drain(ctx context.Context) {
	for _, s := range ch.sessions() {
		s.abandon()
	}
	done := make(chan struct{})
	go func() {
		ch.calls.Wait()
		close(done)
	}()
	t := time.NewTimer(ch.g.setup.Load().Drain)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	case <-ch.gone:
	case <-ctx.Done():
	}
}

// farewell is how long the last answers wait for a client that does not read them.
const farewell = time.Second

func (ch *channel) end() {
	var ended sync.WaitGroup
	for _, s := range ch.sessions() {
		ended.Go(func() { s.end("the client has gone") })
	}
	done := make(chan struct{})
	go func() {
		ended.Wait()
		ch.calls.Wait()
		close(done)
	}()
	ended.Wait()
	t := time.NewTimer(farewell)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	case <-ch.gone:
	}
}

// sessions are all there are. It is called when nobody reads any more, or for a snapshot
// that may miss the latest.
func (ch *channel) sessions() []*session {
	ch.g.mu.Lock()
	defer ch.g.mu.Unlock()
	var all []*session
	for s := range ch.g.sessions {
		if s.channel == ch {
			all = append(all, s)
		}
	}
	return all
}

func (ch *channel) write(frame []byte) error {
	err := ch.out.Write(frame)
	if err != nil {
		ch.lost.Do(func() { close(ch.gone) })
	}
	return err
}

func (ch *channel) read(from io.Reader) error {
	in := stdio.NewReader(from, ch.g.setup.Load().MaxMessage)
	for {
		frame, err := in.Next()
		var large *stdio.TooLarge
		switch {
		case errors.As(err, &large):
			if bad := large.Refused(); bad != nil {
				ch.bad(bad)
			}
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case frame[0] == '[':
			ch.batch(frame)
		default:
			m, bad := mcp.Parse(frame)
			if bad != nil {
				ch.bad(bad)
				continue
			}
			ch.take(m, line{ch})
		}
	}
}

// bad refuses what is no message. A refused answer becomes an error for the server that
// waits for it.
func (ch *channel) bad(bad *mcp.ParseError) {
	u := ch.g.setup.Load()
	u.Log.Warn("a message of the client is refused", "reason", bad.Error())
	ch.record(u, bad)
	switch bad.Kind {
	case mcp.Notification:
		return
	case mcp.Response:
		if ch.handshake != nil {
			if q := ch.handshake.takeQuestion(bad.ID); q != nil {
				q.link.refuse(q.asker, "the client's answer is refused: "+bad.Reason)
			}
		}
		return
	}
	if !bad.ID.IsZero() && ch.uses(bad.ID) {
		return // that id gets its one answer already
	}
	_ = ch.write(mcp.ErrorResponse(bad.ID, bad.Code, said+bad.Error(), nil))
}

func (ch *channel) record(u *setup, bad *mcp.ParseError) {
	if u.Audit == nil {
		return
	}
	rec := audit.Record{
		Time: time.Now(), Event: "frame", Phase: "verdict", Caller: ch.caller.Name, Request: bad.ID.Raw(), Mode: "enforce",
		Verdict: sallyport.Deny.String(), Outcome: "denied", Reason: bad.Error(),
	}
	if _, err := u.Audit.Append(rec); err != nil {
		u.Log.Error("a refusal could not be recorded", "log", u.Audit.Path(), "error", err)
	}
}

// uses reports whether an id is that of an open call.
func (ch *channel) uses(id mcp.ID) bool {
	for _, s := range ch.sessions() {
		s.mu.Lock()
		used := s.calls[id.Key()] != nil
		s.mu.Unlock()
		if used {
			return true
		}
	}
	return false
}

// take serves one message; x is the way back.
func (ch *channel) take(m mcp.Message, x Exchange) {
	switch m.Kind {
	case mcp.Notification:
		if m.Method == methodCancelled {
			for _, s := range ch.sessions() {
				s.notified(s.ctx, m)
			}
		} else if ch.handshake != nil {
			ch.handshake.notified(ch.handshake.ctx, m)
		}
	case mcp.Response:
		if ch.handshake != nil {
			ch.handshake.answered(ch.handshake.ctx, m)
		}
	case mcp.Request:
		ch.request(m, x)
	}
}

// request begins a call in the session that it belongs to.
func (ch *channel) request(m mcp.Message, x Exchange) {
	s, refusal := ch.sessionFor(m)
	if s == nil {
		_ = x.Reply(refusal)
		return
	}
	c, why, again := s.begin(s.ctx, x, m)
	if c == nil {
		s.log.Warn("a request of the client is refused", "reason", why)
		if again {
			_ = x.Drop()
		} else {
			_ = x.Reply(mcp.ErrorResponse(m.ID, mcp.CodeInvalidRequest, said+why, nil))
		}
		return
	}
	ch.calls.Go(c.run)
}

// sessionFor finds the session of a request by its era, which its _meta says.
func (ch *channel) sessionFor(m mcp.Message) (s *session, refusal []byte) {
	refuse := func(code int, text string) (*session, []byte) {
		return nil, mcp.ErrorResponse(m.ID, code, said+text, nil)
	}
	f, err := mcp.Fields(metaOf(m), metaPrefix+"protocolVersion")
	switch version, ok := mcp.Str(f[0]); {
	case err != nil || f[0] != nil && !ok:
		return refuse(mcp.CodeInvalidParams, "_meta has a protocol version that is no text")
	case ok && version != mcp.V20260728:
		return nil, unsupported(m.ID, version)
	case ok:
		return ch.statelessFor(m)
	case m.Method == methodInitialize && ch.handshake != nil:
		return refuse(mcp.CodeInvalidRequest, "the session has begun already")
	case m.Method == methodInitialize:
		s, err := ch.g.newHandshake(ch.caller, m, ch.write)
		if err != nil {
			return refuse(mcp.CodeInternal, err.Error())
		}
		ch.own(s)
		ch.handshake = s
		return s, nil
	case ch.handshake != nil:
		return ch.handshake, nil
	case m.Method == methodDiscover || m.Method == methodListen:
		return refuse(mcp.CodeInvalidParams, "_meta has no protocol version")
	}
	return refuse(mcp.CodeInvalidRequest, "the session has not begun: initialize comes first, or _meta with a protocol version")
}

func (ch *channel) own(s *session) {
	ch.g.mu.Lock()
	defer ch.g.mu.Unlock()
	s.channel = ch
}

func (ch *channel) statelessFor(m mcp.Message) (*session, []byte) {
	greeting, key, err := clientOf(m)
	if err != nil {
		return nil, mcp.ErrorResponse(m.ID, mcp.CodeInvalidParams, said+err.Error(), nil)
	}
	if s := ch.stateless[key]; s != nil {
		return s, nil
	}
	if len(ch.stateless) >= ch.g.setup.Load().MaxStateless {
		return nil, mcp.ErrorResponse(m.ID, mcp.CodeInternal, said+errClients.Error(), nil)
	}
	s, err := ch.g.newSession(ch.caller, upstream.Stateless, greeting)
	if err != nil {
		return nil, mcp.ErrorResponse(m.ID, mcp.CodeInternal, said+err.Error(), nil)
	}
	s.version, s.unique = mcp.V20260728, true
	ch.own(s)
	ch.stateless[key] = s
	return s, nil
}

// unsupported is UnsupportedProtocolVersionError (2026-07-28, versioning).
func unsupported(id mcp.ID, requested string) []byte {
	data := append([]byte(`{"supported":`), rawTexts(versions)...)
	data = append(append(append(data, `,"requested":`...), rawText(requested[:min(len(requested), 64)])...), '}')
	return mcp.ErrorResponse(id, streamhttp.CodeUnsupportedVersion, said+"Unsupported protocol version", data)
}

// line is the way back for one message on stdio.
type line struct{ ch *channel }

func (l line) Send(frame []byte) error           { return l.ch.write(frame) }
func (l line) Reply(frame []byte) error          { return l.ch.write(frame) }
func (l line) ReplyStatus(_ int, f []byte) error { return l.ch.write(f) }
func (l line) Drop() error                       { return nil }
