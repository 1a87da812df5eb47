package streamhttp

import (
	"context"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// post is the answer to one POST that holds requests.
type post struct {
	h       *Handler
	out     *writer
	accept  accepted
	session *Session // nil in stateless versions
	prime   bool     // the stream begins with an event that is only an id
	batch   bool

	// Exactly one of them is closed, under mu, unless the client leaves before.
	opened chan struct{} // the answer is a stream
	ready  chan struct{} // all replies are there, and they are no stream
	gone   chan struct{} // the connection is gone

	mu         sync.Mutex
	left       int      // requests without an answer
	replies    [][]byte // by index, nil for none
	status     int
	stream     *stream
	conn       *connection
	lost       bool // nobody can get anything any more
	initialize bool
	ends       bool // the answer to initialize is no result
}

func newPost(h *Handler, out *writer, a accepted, s *Session, requests int) *post {
	return &post{
		h: h, out: out, accept: a, session: s, left: requests, replies: make([][]byte, requests), status: http.StatusOK,
		opened: make(chan struct{}), ready: make(chan struct{}), gone: make(chan struct{}),
	}
}

// streamFor returns the stream for what x sends, and opens it.
func (p *post) streamFor(x *Exchange) (*stream, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case x.Message.Kind != mcp.Request:
		return nil, ErrFrame
	case x.state == isAnswered:
		return nil, ErrAnswered
	case p.lost:
		return nil, ErrGone
	case !p.accept.stream:
		return nil, ErrJSONOnly
	}
	p.open()
	return p.stream, nil
}

// open makes the answer a stream. p.mu is held.
func (p *post) open() {
	if p.stream != nil {
		return
	}
	p.conn = newConnection()
	if p.session != nil {
		p.stream = p.session.open(p.conn)
	} else {
		p.stream = newStream(0, p.h.opt.Queue, p.conn)
	}
	p.stream.owed = p.h.done
	if p.prime {
		_ = p.stream.add(context.Background(), nil, false, false)
	}
	for _, r := range p.replies { // of a batch, given before it became a stream
		if r != nil {
			_ = p.stream.add(context.Background(), r, false, false)
		}
	}
	close(p.opened)
}

// reply takes the answer to x; the zero Message is none.
func (p *post) reply(x *Exchange, status int, m mcp.Message) error {
	p.mu.Lock()
	if x.state == isAnswered {
		p.mu.Unlock()
		return ErrAnswered
	}
	x.state = isAnswered
	if x.Message.Kind != mcp.Request {
		p.status, p.replies = status, [][]byte{m.Raw}
		p.mu.Unlock()
		return nil
	}
	if m.Raw == nil && p.batch {
		m.Raw = mcp.ErrorResponse(x.Message.ID, mcp.CodeInternal, mcp.Said+"the request was cancelled", nil)
	}
	ends := p.begun(m)
	p.ends = p.ends || ends // before anybody writes the answer
	p.left--
	err := p.deliver(x, status, m.Raw)
	last, st := p.left == 0, p.stream
	p.mu.Unlock()
	if ends {
		p.session.End()
	}
	if last && st != nil && p.session != nil {
		p.session.retire(st)
	}
	return err
}

// begun notes what the answer to initialize says. It reports whether the session does not
// begin. p.mu is held.
func (p *post) begun(m mcp.Message) (ends bool) {
	if !p.initialize {
		return false
	}
	found, err := mcp.Fields(m.Result, "protocolVersion")
	if m.Result == nil || err != nil {
		return true
	}
	p.session.mu.Lock()
	defer p.session.mu.Unlock()
	p.session.version, _ = mcp.Str(found[0])
	return false
}

// deliver puts an answer where the client gets it. p.mu is held.
func (p *post) deliver(x *Exchange, status int, raw []byte) error {
	if p.lost {
		return ErrGone
	}
	prefer := p.h.opt.PreferStream && p.accept.stream && status == http.StatusOK && raw != nil && !p.batch
	if p.stream == nil && (prefer || !p.accept.json) {
		p.open()
	}
	if p.stream != nil {
		switch last := p.left == 0; {
		case raw != nil:
			return p.stream.add(context.Background(), raw, false, last)
		case last:
			p.stream.finish()
		}
		return nil
	}
	p.replies[x.index] = raw
	if !p.batch {
		p.status = status
	}
	if p.left == 0 {
		close(p.ready)
	}
	return nil
}

// serve hands one request to the gateway and sees to it that it has an answer afterwards.
func (p *post) serve(x *Exchange, s *Session) {
	defer p.h.served(x.Caller.Name)
	defer x.Taken()
	if s != nil {
		defer s.release()
	}
	defer func() {
		if v := recover(); v != nil {
			p.h.panicked(v)
		}
		_ = x.Reply(mcp.ErrorResponse(x.Message.ID, mcp.CodeInternal, mcp.Said+"the request was not answered", nil))
	}()
	p.h.opt.Serve(x.ctx, x)
}

func (h *Handler) panicked(v any) {
	h.log.Error("a message was not served", slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
}

// run waits for the answer and writes it. It returns when this connection has no more to
// do: the answer is written, or the client is gone.
func (p *post) run(ctx context.Context) {
	var late <-chan time.Time
	if p.accept.stream {
		t := time.NewTimer(p.h.opt.StreamAfter)
		defer t.Stop()
		late = t.C
	}
	for {
		select {
		case <-p.ready:
			if ctx.Err() != nil { // that is why Serve came to its end
				p.leave()
				return
			}
			p.writeJSON()
			p.h.done()
			return
		case <-p.opened:
			p.writeStream(ctx)
			return
		case <-late:
			p.mu.Lock()
			if p.left > 0 {
				p.open()
			}
			p.mu.Unlock()
			late = nil
		case <-ctx.Done():
			p.leave()
			return
		}
	}
}

func (p *post) sessionHeader() {
	if p.initialize {
		p.out.w.Header().Set("Mcp-Session-Id", p.session.id)
	}
}

func (p *post) writeJSON() {
	p.mu.Lock()
	replies, status, ends := p.replies, p.status, p.ends
	p.mu.Unlock()
	var given [][]byte
	for _, r := range replies {
		if r != nil {
			given = append(given, r)
		}
	}
	if !ends {
		p.sessionHeader()
	}
	var err error
	switch {
	case len(given) == 0: // all were cancelled
		p.out.w.WriteHeader(http.StatusAccepted)
	case p.batch:
		err = p.out.json(status, joinBatch(given))
	default:
		err = p.out.json(status, given[0])
	}
	if err != nil {
		p.h.log.Debug("an answer was not taken", "error", err)
	}
}

// writeStream writes the stream as far as this connection goes.
func (p *post) writeStream(ctx context.Context) {
	p.sessionHeader()
	if beginStream(p.out) == nil && p.stream.pump(ctx, p.conn, p.out, 0, p.h.opt.KeepAlive) {
		return
	}
	p.leave()
}

// beginStream writes the head of a stream and a comment, so that everybody in between
// passes it on.
func beginStream(out *writer) error {
	h := out.w.Header()
	h.Set("Content-Type", typeStream)
	h.Set("X-Accel-Buffering", "no")
	out.w.WriteHeader(http.StatusOK)
	return out.write([]byte(": hello\n\n"), true)
}

// leave notes that the connection is gone. A stream of a session stays for a client that
// got an event of it and comes back; everything else is lost.
func (p *post) leave() {
	p.mu.Lock()
	close(p.gone)
	st := p.stream
	if st != nil {
		st.detach(p.conn)
	}
	p.lost = st == nil || p.session == nil || p.session.ctx.Err() != nil || !st.begun()
	lost, never := p.lost, p.initialize && st == nil
	p.mu.Unlock()
	switch {
	case st == nil:
		p.h.done()
	case lost:
		st.discard()
	}
	if never { // nobody knows its id
		p.session.End()
	}
}
