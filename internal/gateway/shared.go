package gateway

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/upstream"
)

// sharing lets all sessions use one conversation with an upstream, one for each era of
// client. Only a server that keeps nothing per session may be shared: its author says so.
// It is greeted by the gateway, as a client that can do nothing; what it asks is refused,
// and of what it says beside requests only changes of lists reach anybody.
type sharing struct {
	begin         opener
	name, version string // of the gateway

	mu    sync.Mutex
	conns map[upstream.Era]*sharedConn
}

// sharedConn is a conversation that several sessions use.
type sharedConn struct {
	ready chan struct{} // closed when it is open or has failed
	conn  upstream.Conn
	hello mcp.Message
	err   error
	ids   atomic.Int64

	views map[*view]struct{} // guarded by sharing.mu
}

func share(begin opener, o *Options) opener {
	s := &sharing{begin: begin, name: o.Name, version: o.Version, conns: make(map[upstream.Era]*sharedConn)}
	return s.open
}

// open gives a session its view of the conversation.
func (s *sharing) open(ctx context.Context, c upstream.Client, beside func(mcp.Message)) (upstream.Conn, mcp.Message, error) {
	s.mu.Lock()
	k := s.conns[c.Era]
	if k == nil || k.isOver() {
		k = &sharedConn{ready: make(chan struct{}), views: make(map[*view]struct{})}
		s.conns[c.Era] = k
		go s.connect(k, c)
	}
	v := &view{s: s, k: k, era: c.Era, beside: beside, done: make(chan struct{})}
	k.views[v] = struct{}{}
	s.mu.Unlock()
	select {
	case <-k.ready:
	case <-ctx.Done():
		_ = v.Close(context.Background())
		return nil, mcp.Message{}, context.Cause(ctx)
	}
	if k.err != nil {
		return nil, mcp.Message{}, k.err
	}
	go func() {
		select {
		case <-k.conn.Done():
			v.end(k.conn.Err())
		case <-v.done:
		}
	}()
	return v, k.hello, nil
}

func (k *sharedConn) isOver() bool {
	select {
	case <-k.ready:
	default:
		return false
	}
	if k.err != nil {
		return true
	}
	select {
	case <-k.conn.Done():
		return true
	default:
		return false
	}
}

// connect greets the server in the name of nobody.
func (s *sharing) connect(k *sharedConn, c upstream.Client) {
	defer close(k.ready)
	info := append(append([]byte(`{"name":`), rawText(s.name)...), `,"version":`...)
	info = append(append(info, rawText(s.version)...), '}')
	handshake := append(append([]byte(`{"protocolVersion":"`+mcp.V20251125+`","capabilities":{},"clientInfo":`), info...), '}')
	stateless := append(append([]byte(`{"_meta":{"`+metaPrefix+`protocolVersion":"`+mcp.V20260728+`","`+metaPrefix+`clientCapabilities":{},"`+metaPrefix+`clientInfo":`), info...), "}}"...)
	mine := upstream.Client{Era: c.Era, Params: handshake, Stateless: stateless}
	if c.Era == upstream.Stateless {
		mine = upstream.Client{Era: c.Era, Params: stateless, Handshake: handshake}
	}
	k.conn, k.hello, k.err = s.begin(context.Background(), mine, func(m mcp.Message) { s.said(k, m) })
	if k.err != nil || k.conn.Era() != upstream.Handshake {
		return
	}
	m, _ := mcp.Parse(mcp.NewNotification(methodInitialized, nil))
	k.err = k.conn.Send(context.Background(), m)
}

// said takes what the server says to nobody in particular.
func (s *sharing) said(k *sharedConn, m mcp.Message) {
	if m.Kind == mcp.Request {
		go k.refuse(m)
		return
	}
	for _, method := range changedMethods {
		if m.Method != method {
			continue
		}
		s.mu.Lock()
		all := make([]*view, 0, len(k.views))
		for v := range k.views {
			all = append(all, v)
		}
		s.mu.Unlock()
		for _, v := range all {
			v.beside(m)
		}
	}
}

// refuse answers what a shared server asks: it cannot say whom.
func (k *sharedConn) refuse(m mcp.Message) {
	<-k.ready
	if k.err != nil {
		return
	}
	if m.Method == methodPing {
		out, _ := mcp.Parse(append(append([]byte(`{"jsonrpc":"2.0","id":`), m.ID.Raw()...), `,"result":{}}`...))
		_ = k.conn.Send(context.Background(), out)
		return
	}
	out, bad := mcp.Parse(mcp.ErrorResponse(m.ID, mcp.CodeMethodNotFound, said+"nobody can be asked: this server is shared", nil))
	if bad == nil {
		_ = k.conn.Send(context.Background(), out)
	}
}

// view is one session's view of a shared conversation.
type view struct {
	s      *sharing
	k      *sharedConn
	era    upstream.Era
	beside func(mcp.Message)

	once sync.Once
	done chan struct{}
	err  error
}

// Do sends a request under an id that is unique among all sessions.
func (v *view) Do(ctx context.Context, m mcp.Message, onMessage func(mcp.Message)) (mcp.Message, error) {
	if m.Method == methodSubscribe || m.Method == methodUnsubscribe {
		out, bad := mcp.Parse(mcp.ErrorResponse(m.ID, mcp.CodeMethodNotFound, said+"a shared server keeps no subscriptions", nil))
		if bad != nil {
			return out, bad
		}
		out.Own = true
		return out, nil
	}
	id := mcp.IntID(v.k.ids.Add(1))
	edits := []mcp.Edit{{Path: []string{"id"}, Value: []byte(id.Raw())}}
	token := progressToken(m)
	if token != nil {
		edits = append(edits, mcp.Edit{Path: tokenPath, Value: []byte(id.Raw())})
	}
	out, err := mcp.Rewrite(m, edits...)
	if err != nil {
		return out, err
	}
	listens := m.Method == methodListen
	answer, err := v.k.conn.Do(ctx, out, func(n mcp.Message) {
		var err error
		switch {
		case n.Kind == mcp.Request:
			go v.k.refuse(n)
			return
		case n.Method == methodProgress && token != nil:
			n, err = mcp.Rewrite(n, mcp.Edit{Path: progressPath, Value: token})
		case n.Method == methodCancelled && listens:
			n, err = mcp.Rewrite(n, mcp.Edit{Path: []string{"params", "requestId"}, Value: []byte(m.ID.Raw())})
		case ofSubscription[n.Method] && listens:
			n, err = mcp.Rewrite(n, mcp.Edit{Path: subscriptionInParams, Value: []byte(m.ID.Raw())})
		}
		if err == nil {
			onMessage(n)
		}
	})
	if errors.Is(err, upstream.ErrNotTaken) {
		v.end(v.k.conn.Err()) // whoever makes it again wants another conversation
	}
	if err != nil {
		return answer, err
	}
	return mcp.Rewrite(answer, mcp.Edit{Path: []string{"id"}, Value: []byte(m.ID.Raw())})
}

// Send drops what a session says: the server knows no sessions.
func (v *view) Send(context.Context, mcp.Message) error { return nil }

func (v *view) Era() upstream.Era     { return v.k.conn.Era() }
func (v *view) Version() string       { return v.k.conn.Version() }
func (v *view) Done() <-chan struct{} { return v.done }

func (v *view) Err() error {
	select {
	case <-v.done:
		return v.err
	default:
		return nil
	}
}

func (v *view) end(err error) {
	v.once.Do(func() {
		v.err = err
		close(v.done)
	})
}

// Close ends this session's part; the last closes the conversation.
func (v *view) Close(ctx context.Context) error {
	v.end(upstream.ErrClosed)
	v.s.mu.Lock()
	_, had := v.k.views[v]
	delete(v.k.views, v)
	last := had && len(v.k.views) == 0
	if last && v.s.conns[v.era] == v.k {
		delete(v.s.conns, v.era)
	}
	v.s.mu.Unlock()
	if !last {
		return nil
	}
	<-v.k.ready
	if v.k.err != nil && v.k.conn == nil {
		return nil
	}
	return v.k.conn.Close(ctx)
}
