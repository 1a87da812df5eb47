package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/sallyport-dev/sallyport/internal/streamhttp"
	"github.com/sallyport-dev/sallyport/internal/token"
)

// Options of a server. MCP.Serve and Tokens are required.
type Options struct {
	// MCP are the options of the endpoint. Authenticate is set here: the caller is the
	// token's name, and its Value the entry's.
	MCP         streamhttp.HandlerOptions
	Tokens      *token.Table
	Path        string // of the endpoint; default /mcp
	PublicURL   string // the endpoint as clients reach it; "": not known
	Certificate *Certificate
	Log         *slog.Logger // nil: nothing
}

// The paths beside the endpoint.
const (
	healthPath   = "/healthz"
	readyPath    = "/readyz"
	metadataPath = "/.well-known/oauth-protected-resource"
)

// CheckPath reports what is wrong with the endpoint's path.
func CheckPath(path string) error {
	switch {
	case path == healthPath || path == readyPath || strings.HasPrefix(path, "/.well-known"):
		return fmt.Errorf("the path %s is taken", path)
	case !strings.HasPrefix(path, "/") || strings.Contains(path, "//") || len(path) > 200 || strings.ContainsFunc(path, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._~-", r))
	}), path != "/" && strings.HasSuffix(path, "/"), strings.Contains(path+"/", "/./"), strings.Contains(path+"/", "/../"):
		return errors.New("the path is made of / and names, as in /mcp: letters, digits, . _ ~ - and nothing at the end")
	}
	return nil
}

// Server is an HTTP server with one MCP endpoint. Safe for concurrent use.
type Server struct {
	opt      Options
	log      *slog.Logger
	handler  *streamhttp.Handler
	server   *http.Server
	requests requests
	expired  lately

	changed chan struct{} // holds one when the tokens are others
	stop    chan struct{} // closed when Drain begins
	once    sync.Once
}

// New checks the options.
func New(o Options) (*Server, error) {
	if o.Path == "" {
		o.Path = "/mcp"
	}
	if err := CheckPath(o.Path); err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{
		opt: o, log: o.Log, requests: requests{open: map[uint64]request{}}, expired: lately{at: map[string]time.Time{}},
		changed: make(chan struct{}, 1), stop: make(chan struct{}),
	}
	m := o.MCP
	m.Authenticate, m.Log = s.authenticate, o.Log
	var err error
	if s.handler, err = streamhttp.NewHandler(m); err != nil {
		return nil, err
	}
	s.server = streamhttp.NewServer(s, o.Log)
	return s, nil
}

// Handler is the endpoint.
func (s *Server) Handler() *streamhttp.Handler { return s.handler }

// Serve serves a listener until Drain is called; its error is never http.ErrServerClosed.
func (s *Server) Serve(l net.Listener) error {
	go expire(s.opt.Tokens, s.end, s.changed, s.stop)
	var err error
	if s.opt.Certificate != nil {
		s.server.TLSConfig = s.opt.Certificate.config()
		err = s.server.ServeTLS(l, "", "")
	} else {
		err = s.server.Serve(l)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// lastBytes is what connections get after the last answer, before they are cut.
const lastBytes = 5 * time.Second

// Drain refuses new calls, waits until the open ones are answered or ctx ends, and closes
// everything. From its beginning on /readyz says 503.
func (s *Server) Drain(ctx context.Context) error {
	s.once.Do(func() { close(s.stop) })
	err := s.handler.Drain(ctx)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastBytes)
	defer cancel()
	if s.server.Shutdown(last) != nil {
		_ = s.server.Close()
	}
	return err
}

func (s *Server) draining() bool {
	select {
	case <-s.stop:
		return true
	default:
		return false
	}
}

// Revoke ends what the callers have open whose tokens are no longer the same, after the
// table was replaced.
func (s *Server) Revoke(callers []string) {
	if len(callers) > 0 {
		gone := make(map[string]bool, len(callers))
		for _, c := range callers {
			gone[c] = true
		}
		s.end(func(caller string) bool { return gone[caller] })
	}
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// end ends the sessions and requests of callers.
func (s *Server) end(gone func(caller string) bool) {
	s.handler.EndSessions(gone)
	s.requests.cancel(gone)
}

// ServeHTTP serves the endpoint, with and without a slash at its end, and the open paths.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch path := r.URL.Path; {
	case path == s.opt.Path || path == s.opt.Path+"/":
		s.endpoint(w, r)
	case path == healthPath:
		plain(w, r, http.StatusOK, "ok")
	case path == readyPath && s.draining():
		plain(w, r, http.StatusServiceUnavailable, "draining")
	case path == readyPath:
		plain(w, r, http.StatusOK, "ready")
	case path == metadataPath || strings.HasPrefix(path, metadataPath+"/"):
		s.metadata(w, r)
	default:
		plain(w, r, http.StatusNotFound, "not found")
	}
}

// plain answers a GET with one word.
func plain(w http.ResponseWriter, r *http.Request, status int, word string) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if r.Method != http.MethodGet && r.Method != http.MethodHead && status != http.StatusNotFound {
		h.Set("Allow", "GET, HEAD")
		status, word = http.StatusMethodNotAllowed, "not offered"
	}
	h.Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write([]byte(word + "\n"))
	}
}
