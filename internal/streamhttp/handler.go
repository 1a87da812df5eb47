package streamhttp

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// Defaults of HandlerOptions.
const (
	DefaultMaxBody      = 64 << 20 // bytes
	DefaultAllBodies    = 1 << 30
	DefaultBodyTimeout  = time.Minute
	DefaultWriteTimeout = 30 * time.Second
	DefaultKeepAlive    = 20 * time.Second
	DefaultStreamAfter  = 2 * time.Second
	DefaultSessionIdle  = 8 * time.Hour
	DefaultMaxSessions  = 4096
	DefaultCallerShare  = 256 // sessions of one caller, and its open requests
	DefaultQueue        = 1 << 20
	DefaultReplay       = 2 << 20
	DefaultReplayFor    = 2 * time.Minute
)

// HandlerOptions configure a Handler. Serve and Authenticate must be set; other zero
// fields mean the defaults.
type HandlerOptions struct {
	// Serve takes one message. For a request it calls Reply or Drop before it returns; if
	// it does not, the client gets an internal error. It is called on a goroutine of its
	// own for each request, and for a notification or response before the 202 is sent. ctx
	// ends when nobody can get the answer any more: with the session, and in 2026-07-28
	// with the connection.
	Serve func(ctx context.Context, x *Exchange)
	// Authenticate says who calls. It sees the headers only; the body was not read. An
	// error is a refusal, see AuthError.
	Authenticate func(r *http.Request) (Caller, error)
	// ResourceMetadata is the URL of the protected-resource metadata (RFC 9728) that a 401
	// names; "" for none.
	ResourceMetadata string

	// AllowedHosts are the values of Host that are taken, "name" or "name:port". Empty: any
	// on an address that other machines reach, and on a loopback address, where a foreign
	// name means DNS rebinding, the names of this machine only.
	AllowedHosts []string
	// AllowedOrigins are the origins whose pages may call, "https://app.example"; they get
	// the CORS headers. A page of the very host that is called may too.
	AllowedOrigins []string

	// Versions are the protocol versions that are taken. Default: all of internal/mcp.
	Versions []string

	// PreferStream answers with a stream also where nothing but the answer is sent, if the
	// client takes streams and the status is 200. Both are right; it is what most servers
	// do, and what shows a stream's id to clients that want to come back. Batches stay JSON.
	PreferStream bool

	MaxBody      int64         // bytes of a request's body
	AllBodies    int64         // bytes of all bodies that are being read or served; more are refused with 503
	BodyTimeout  time.Duration // for the whole body of a request
	WriteTimeout time.Duration // for each 256 KiB that a client takes
	KeepAlive    time.Duration // between comments on a quiet stream
	StreamAfter  time.Duration // after it an answer becomes a stream, so that it can be kept alive

	SessionIdle time.Duration // without a request or stream, after which a session ends
	MaxSessions int           // of all callers
	CallerShare int           // sessions of one caller; also requests of one caller at a time

	Queue     int           // bytes that wait on one stream for a client that is slow or away
	Replay    int           // bytes kept for the resumption of finished streams, per session
	ReplayFor time.Duration // how long they are kept

	Log *slog.Logger // nil: nothing
}

// Caller is who makes a request.
type Caller struct {
	Name  string // sessions are bound to it
	Value any    // passed on
}

// Handler is the MCP endpoint: an http.Handler for whatever paths it is mounted on. Mount
// it with and without a trailing slash: a redirect between the two loses credentials.
type Handler struct {
	opt     HandlerOptions
	hosts   []hostPort
	origins []string
	log     *slog.Logger

	base  context.Context // ends with Drain
	stop  context.CancelFunc
	drain chan struct{} // closed when Drain begins

	bodies atomic.Int64 // bytes of bodies in memory

	mu       sync.Mutex
	draining bool
	active   int           // answers that are owed
	idle     chan struct{} // closed when draining and active is 0
	sessions map[string]*Session
	perName  map[string]int // sessions by caller
	open     map[string]int // requests by caller
}

// NewHandler checks the options.
func NewHandler(o HandlerOptions) (*Handler, error) {
	if o.Serve == nil || o.Authenticate == nil {
		return nil, errors.New("a handler needs Serve and Authenticate")
	}
	h := &Handler{
		drain: make(chan struct{}), idle: make(chan struct{}),
		sessions: map[string]*Session{}, perName: map[string]int{}, open: map[string]int{},
	}
	for _, s := range o.AllowedHosts {
		hp, ok := parseHost(s)
		if !ok {
			return nil, errors.New("an allowed host is not a name with or without a port")
		}
		h.hosts = append(h.hosts, hp)
	}
	for _, s := range o.AllowedOrigins {
		origin, ok := parseOrigin(s)
		if !ok {
			return nil, errors.New("an allowed origin is not scheme://host[:port]")
		}
		h.origins = append(h.origins, origin)
	}
	o.Versions = slices.Clone(o.Versions)
	if len(o.Versions) == 0 {
		o.Versions = []string{mcp.V20260728, mcp.V20251125, mcp.V20250618, mcp.V20250326, mcp.V20241105}
	}
	handlerDefaults(&o)
	h.opt, h.log = o, o.Log
	h.base, h.stop = context.WithCancel(context.Background())
	return h, nil
}

func handlerDefaults(o *HandlerOptions) {
	if o.MaxBody <= 0 {
		o.MaxBody = DefaultMaxBody
	}
	if o.AllBodies <= 0 {
		o.AllBodies = max(DefaultAllBodies, 2*o.MaxBody)
	}
	for p, d := range map[*time.Duration]time.Duration{
		&o.BodyTimeout: DefaultBodyTimeout, &o.WriteTimeout: DefaultWriteTimeout, &o.KeepAlive: DefaultKeepAlive,
		&o.StreamAfter: DefaultStreamAfter, &o.SessionIdle: DefaultSessionIdle, &o.ReplayFor: DefaultReplayFor,
	} {
		if *p <= 0 {
			*p = d
		}
	}
	for p, d := range map[*int]int{
		&o.MaxSessions: DefaultMaxSessions, &o.CallerShare: DefaultCallerShare, &o.Queue: DefaultQueue, &o.Replay: DefaultReplay,
	} {
		if *p <= 0 {
			*p = d
		}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
}

// NewServer returns an http.Server with the limits that belong to the server and not to
// one handler: time and size of headers, idle connections, and a write deadline that
// each request starts anew. HTTP/2 is on where TLS is.
func NewServer(h http.Handler, log *slog.Logger) *http.Server {
	s := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		WriteTimeout:      DefaultWriteTimeout,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    maxHeaderBytes,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: 250, SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second, WriteByteTimeout: DefaultWriteTimeout},
	}
	if log != nil {
		s.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelWarn)
	}
	return s
}

// ServeHTTP serves one request. What can be refused without reading the body is.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	out := newWriter(w, h.opt.WriteTimeout)
	defer out.last(h.opt.BodyTimeout)
	w.Header().Set("Cache-Control", "no-store, no-transform")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if !h.hostAllowed(r) {
		out.refuse(http.StatusForbidden, mcp.ID{}, mcp.CodeInvalidRequest, "the Host header names no allowed host; an operator can allow it (allowed_hosts)")
		return
	}
	if len(h.origins) > 0 {
		w.Header().Add("Vary", "Origin")
	}
	origin, ok := h.originAllowed(r)
	if !ok {
		out.refuse(http.StatusForbidden, mcp.ID{}, mcp.CodeInvalidRequest, "the Origin header names no allowed origin; an operator can allow it (allowed_origins)")
		return
	}
	if origin != "" {
		h.allowOrigin(w.Header(), origin)
		if isPreflight(r) {
			h.preflight(w, r)
			return
		}
	}
	switch r.Method {
	case http.MethodPost, http.MethodGet, http.MethodDelete:
	default:
		out.notAllowed("POST, GET, DELETE")
		return
	}
	caller, err := h.opt.Authenticate(r)
	if err != nil {
		h.challenge(out, r, err)
		return
	}
	switch r.Method {
	case http.MethodPost:
		h.post(out, r, caller)
	case http.MethodGet:
		h.get(out, r, caller)
	case http.MethodDelete:
		h.delete(out, r, caller)
	}
}

// supported reports whether a protocol version is taken.
func (h *Handler) supported(version string) bool { return slices.Contains(h.opt.Versions, version) }

// begin counts the answer to a POST that holds n requests of a caller, and the requests.
// done ends the one, served each of the others.
func (h *Handler) begin(caller string, n int) *refusal {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.draining {
		return &refusal{status: http.StatusServiceUnavailable, text: "shutting down"}
	}
	if h.open[caller]+n > h.opt.CallerShare {
		return &refusal{status: http.StatusTooManyRequests, text: "too many requests at once"}
	}
	h.open[caller] += n
	h.active += 1 + n
	return nil
}

func (h *Handler) served(caller string) {
	h.mu.Lock()
	if h.open[caller]--; h.open[caller] == 0 {
		delete(h.open, caller)
	}
	h.mu.Unlock()
	h.done()
}

// done counts an answer that is written or lost, or a request that is served.
func (h *Handler) done() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.active--; h.active == 0 && h.draining {
		close(h.idle)
	}
}

// Draining is closed when Drain begins. Whoever serves a request without an end
// (subscriptions/listen) ends it then.
func (h *Handler) Draining() <-chan struct{} { return h.drain }

// lastAnswers is the time that calls have to give an answer when Drain's context ends.
const lastAnswers = 2 * time.Second

// Drain refuses new requests with 503 and returns when all that were accepted are
// answered and their answers are taken, or lost with their client. An answer on a stream
// that its client may come back for is waited for as long as it is kept (ReplayFor).
// What clients send to open calls still comes in. When ctx ends first, the contexts of the
// rest are cancelled, they get two seconds, and its error is returned. All sessions end.
// Call it once, before the server's Shutdown.
func (h *Handler) Drain(ctx context.Context) error {
	h.mu.Lock()
	if h.draining {
		h.mu.Unlock()
		return errors.New("drained before")
	}
	h.draining = true
	close(h.drain)
	if h.active == 0 {
		close(h.idle)
	}
	h.mu.Unlock()
	var err error
	select {
	case <-h.idle:
	case <-ctx.Done():
		err = ctx.Err()
	}
	h.stop()
	for _, s := range h.allSessions() {
		s.End()
	}
	if err != nil {
		t := time.NewTimer(lastAnswers)
		defer t.Stop()
		select {
		case <-h.idle:
		case <-t.C:
		}
	}
	return err
}
