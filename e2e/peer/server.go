package peer

import (
	"context"
	"encoding/json/jsontext"
	json "encoding/json/v2"
	"errors"
	"fmt"
	"sync"
)

// Server answers requests with what Handle says. It speaks one era only, over HTTP
// (ServeHTTP) and over pipes (ServeStdio).
type Server struct {
	Era Era
	// Capabilities is a JSON object.
	Capabilities string
	// Handle answers a request with Reply or Fail, once. ping, initialize and
	// server/discover are answered without it. It may be called at the same time.
	Handle func(ctx context.Context, r *Request)
	// Notice gets what the client says without an id, such as cancellations.
	Notice func(method string, params []byte)

	mu       sync.Mutex
	sessions map[string]*session
	listens  map[*Request]bool
}

// Request is one request of a client's.
type Request struct {
	Frame
	Session string // "" in the stateless era

	server *Server
	ses    *session
	send   func(frame []byte) // of a frame on this request's own way
	once   sync.Once
	done   chan struct{} // closed with the answer
}

// session is what belongs to one handshake.
type session struct {
	id    string
	queue chan []byte // for the stream of its own

	mu      sync.Mutex
	next    int
	waiting map[string]chan Frame
}

func newSession(id string) *session {
	return &session{id: id, queue: make(chan []byte, 256), waiting: map[string]chan Frame{}}
}

// Reply answers with a result, raw JSON.
func (r *Request) Reply(result []byte) { r.answer("result", result) }

// Fail answers with an error object, raw JSON.
func (r *Request) Fail(object []byte) { r.answer("error", object) }

func (r *Request) answer(member string, value []byte) {
	r.once.Do(func() {
		frame := make([]byte, 0, len(value)+len(r.ID)+64)
		frame = fmt.Appendf(frame, `{"jsonrpc":"2.0","id":%s,%q:`, r.ID, member)
		frame = append(frame, value...)
		r.send(append(frame, '}'))
		close(r.done)
	})
}

// Notify sends a notification on the request's own stream.
func (r *Request) Notify(method string, params []byte) {
	r.send(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params))
}

// Ask sends the client a request, which the handshake era allows, and waits for the
// answer.
func (r *Request) Ask(ctx context.Context, method string, params []byte) (*Frame, error) {
	if r.ses == nil {
		return nil, errors.New("a stateless server asks with input_required")
	}
	r.ses.mu.Lock()
	r.ses.next++
	id := fmt.Sprintf(`"ask-%d"`, r.ses.next)
	back := make(chan Frame, 1)
	r.ses.waiting[id] = back
	r.ses.mu.Unlock()
	r.send(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params))
	select {
	case f := <-back:
		return &f, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// ProgressToken is the request's token as JSON, nil without one.
func (r *Request) ProgressToken() jsontext.Value {
	var p struct {
		Meta struct {
			ProgressToken jsontext.Value `json:"progressToken"`
		} `json:"_meta"`
	}
	if json.Unmarshal(r.Params, &p) != nil {
		return nil
	}
	return p.Meta.ProgressToken
}

// Publish sends a notification to everyone who listens: the streams of all sessions, and
// all subscriptions.
func (s *Server) Publish(method, members string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ses := range s.sessions {
		select {
		case ses.queue <- fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q,"params":{%s}}`, method, members):
		default: // nobody reads
		}
	}
	if members != "" {
		members += ","
	}
	for r := range s.listens {
		r.Notify(method, fmt.Appendf(nil, `{%s"_meta":{%q:%s}}`, members, metaSubscription, r.ID))
	}
}

// dispatch answers a request; for what takes time it returns when the answer is sent.
func (s *Server) dispatch(ctx context.Context, r *Request) {
	switch {
	case r.Method == "ping" && s.Era == Handshake:
		r.Reply([]byte("{}"))
	case r.Method == "initialize" && s.Era == Handshake:
		r.Reply([]byte(`{"protocolVersion":"` + HandshakeVersion + `","capabilities":` + s.Capabilities + `,"serverInfo":{"name":"peer","version":"1"}}`))
	case r.Method == "server/discover" && s.Era == Stateless:
		r.Reply([]byte(`{"resultType":"complete","supportedVersions":["` + StatelessVersion + `"],"capabilities":` + s.Capabilities +
			`,"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"peer","version":"1"}}}`))
	case r.Method == "subscriptions/listen" && s.Era == Stateless:
		s.subscribe(ctx, r)
	case r.Method == "initialize" || r.Method == "server/discover" || r.Method == "ping":
		r.Fail([]byte(`{"code":-32601,"message":"method not found"}`))
	default:
		s.Handle(ctx, r)
	}
}

// subscribe holds the request open until the client goes.
func (s *Server) subscribe(ctx context.Context, r *Request) {
	var p struct {
		Notifications jsontext.Value `json:"notifications"`
	}
	if err := json.Unmarshal(r.Params, &p); err != nil || p.Notifications == nil {
		r.Fail([]byte(`{"code":-32602,"message":"no notifications"}`))
		return
	}
	s.mu.Lock()
	r.Notify("notifications/subscriptions/acknowledged", fmt.Appendf(nil, `{"_meta":{%q:%s},"notifications":%s}`, metaSubscription, r.ID, p.Notifications))
	if s.listens == nil {
		s.listens = map[*Request]bool{}
	}
	s.listens[r] = true
	s.mu.Unlock()
	<-ctx.Done()
	s.mu.Lock()
	delete(s.listens, r)
	s.mu.Unlock()
}

// receive takes a frame that is no request. ses may be nil.
func (s *Server) receive(f Frame, ses *session) {
	if f.Method != "" {
		if s.Notice != nil {
			s.Notice(f.Method, f.Params)
		}
		return
	}
	if ses == nil {
		return
	}
	ses.mu.Lock()
	back := ses.waiting[string(f.ID)]
	delete(ses.waiting, string(f.ID))
	ses.mu.Unlock()
	if back != nil {
		back <- f
	}
}

// Sessions is how many handshakes are open.
func (s *Server) Sessions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sessions)
}

// Forget drops all sessions, as a server does that was started again.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ses := range s.sessions {
		close(ses.queue)
	}
	s.sessions = nil
}

// PublishTo sends a notification to one session's own stream.
func (s *Server) PublishTo(session, method, params string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ses := s.sessions[session]; ses != nil {
		select {
		case ses.queue <- fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params):
		default: // nobody reads
		}
	}
}
