package upstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// Defaults of Options.
const (
	DefaultStartTimeout = 60 * time.Second
	DefaultMaxConns     = 64
)

// Options say how one server is reached: by Command, or by URL.
type Options struct {
	Name string // as in the configuration; it stands in log lines

	// A child process. Env is its whole environment: nothing is inherited beside it.
	Command string
	Args    []string
	Env     []string
	Dir     string

	// Streamable HTTP, or HTTP with SSE. Header holds what is configured and nothing else.
	URL    string
	Header http.Header
	CAFile string

	// Timeout is how long the server may leave a request unanswered and be silent about it.
	// The time that it waits for an answer of the client's does not count, nor has
	// subscriptions/listen a limit. 0: no limit but that of HTTP, five minutes without a byte.
	Timeout time.Duration
	// StartTimeout bounds Open, from the start of the process to the answer to the greeting.
	// 0 means DefaultStartTimeout.
	StartTimeout time.Duration
	// Idle is after how long without anything open a conversation ends. 0: never.
	Idle time.Duration
	// MaxConns is how many conversations there may be at a time. 0 means DefaultMaxConns.
	MaxConns int
	// MaxMessage is the limit of one message from the server, in bytes. 0 means that of the
	// transport, 64 MiB.
	MaxMessage int
	// Log gets the lines of a child's stderr, what is dropped, and when the server goes down
	// and comes up. nil: nothing.
	Log *slog.Logger
}

// Client is for whom a conversation is opened, and what the server is greeted with.
type Client struct {
	Era Era
	// Params is the raw params of the client's initialize (Handshake), or those of a
	// server/discover that carries the client's _meta (Stateless).
	Params []byte
	// Handshake is the params of an initialize, for a stateless client whose server speaks
	// no other era; nil: such a server is not opened.
	Handshake []byte
	// Stateless is the params of a server/discover, for a client of the handshake era; nil:
	// a server that speaks no other era is not opened.
	Stateless []byte
}

// params returns what a server of an era is greeted with, nil if it is not to be.
func (c Client) params(e Era) []byte {
	switch {
	case e == c.Era:
		return c.Params
	case e == Handshake:
		return c.Handshake
	}
	return c.Stateless
}

// Server is one configured upstream. Safe for concurrent use.
type Server struct {
	opt Options
	log *slog.Logger
	// dial begins a conversation that nobody has greeted yet.
	dial  func(beside func(mcp.Message)) (*conversation, error)
	probe time.Duration // probeTime, but for tests

	base    context.Context // ends with Close
	stop    context.CancelCauseFunc
	opening sync.WaitGroup

	mu     sync.Mutex // guards all below; taken after that of a conversation
	closed bool
	slots  int // conversations and Opens
	conns  map[*conversation]bool
	eras   eras
	pause  pause
	status Status // without Conns and Retry
}

// New checks the options. It starts nothing and connects to nothing.
func New(o Options) (*Server, error) {
	if (o.Command == "") == (o.URL == "") {
		return nil, errors.New("an upstream has a command or a URL")
	}
	if o.StartTimeout <= 0 {
		o.StartTimeout = DefaultStartTimeout
	}
	if o.MaxConns <= 0 {
		o.MaxConns = DefaultMaxConns
	}
	s := &Server{opt: o, log: logFor(o.Log, o.Name), conns: map[*conversation]bool{}, status: Status{Name: o.Name}, probe: probeTime}
	s.base, s.stop = context.WithCancelCause(context.Background())
	s.dial = s.startProcess
	if o.URL != "" {
		s.dial = s.connect
		trial, err := s.connect(nil) // checks URL, headers and certificates
		if err != nil {
			return nil, err
		}
		trial.wire.stop(context.Background())
	}
	return s, nil
}

// Open begins a conversation on behalf of one client. It speaks the client's era if the
// server does, else the other one. hello is the server's answer to initialize or to
// server/discover; nothing else was sent: notifications/initialized comes through Send.
//
// beside gets the notifications and requests of the server's that belong to no open
// request, one at a time, maybe before Open and until Close has returned. Like onMessage of
// Do it must not wait for the client, nor call Do or Send. nil: they are dropped.
//
// A server that could not be started is left alone for a while: the error is then a
// *Paused.
func (s *Server) Open(ctx context.Context, c Client, beside func(mcp.Message)) (conn Conn, hello mcp.Message, err error) {
	if c.Era != Handshake && c.Era != Stateless || c.Params == nil {
		return nil, mcp.Message{}, fmt.Errorf("%w: no greeting", ErrNotSent)
	}
	if err := s.admit(); err != nil {
		return nil, mcp.Message{}, err
	}
	defer s.opening.Done()
	began := time.Now()
	limited, cancel := context.WithTimeoutCause(ctx, s.opt.StartTimeout, errStart)
	defer cancel()
	limited, end := context.WithCancelCause(limited)
	defer end(nil)
	defer context.AfterFunc(s.base, func() { end(ErrClosed) })()
	made, hello, err := s.greet(limited, c, beside)
	if err != nil {
		s.release()
		if ctx.Err() == nil && !errors.Is(err, ErrClosed) && !errors.Is(err, ErrNotSent) {
			s.startFailed(began, err)
		}
		return nil, mcp.Message{}, err
	}
	return made, hello, nil
}

var errStart = fmt.Errorf("%w: it was not ready in time", ErrTimeout)

// admit takes a slot.
func (s *Server) admit() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	if err := s.pause.held(time.Now()); err != nil {
		return err
	}
	if s.slots >= s.opt.MaxConns {
		return ErrTooMany
	}
	s.slots++
	s.opening.Add(1)
	return nil
}

func (s *Server) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slots--
}

// Close ends all conversations and returns when nothing is left of them, or when ctx ends.
// Open then fails.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop(ErrClosed)
	s.mu.Lock()
	all := slices.Collect(maps.Keys(s.conns))
	s.mu.Unlock()
	errs := make([]error, len(all))
	var closing sync.WaitGroup
	for i, c := range all {
		closing.Go(func() { errs[i] = c.Close(ctx) })
	}
	closing.Wait()
	opened := make(chan struct{})
	go func() {
		s.opening.Wait() // they have lost their context
		close(opened)
	}()
	select {
	case <-opened:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return errors.Join(errs...)
}
