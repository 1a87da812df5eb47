package upstream

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
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
	// subscriptions/listen a limit. 0: no limit.
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

// Server is one configured upstream. Safe for concurrent use.
type Server struct {
	opt Options
	mu  sync.Mutex
}

// New checks the options. It starts nothing and connects to nothing.
func New(o Options) (*Server, error) {
	if (o.Command == "") == (o.URL == "") {
		return nil, errors.New("an upstream has a command or a URL")
	}
	return &Server{opt: o}, nil
}

// Open begins a conversation on behalf of one client. It speaks the client's era if the
// server does, else the other one. hello is the server's answer to initialize or to
// server/discover; nothing else was sent: notifications/initialized comes through Send.
//
// beside gets the notifications and requests of the server's that belong to no open
// request, one at a time, until Close has returned. Like onMessage of Do it must not
// wait for the client, nor call Do or Send.
//
// A server that could not be started is left alone for a while: the error is then a
// *Paused.
func (s *Server) Open(ctx context.Context, c Client, beside func(mcp.Message)) (conn Conn, hello mcp.Message, err error) {
	return nil, mcp.Message{}, errors.New("not there yet")
}

// State is what is known of a server.
type State uint8

// The states.
const (
	Unknown State = iota // nothing was opened yet
	Up
	Down
)

// String is "unknown", "up" or "down".
func (s State) String() string {
	switch s {
	case Up:
		return "up"
	case Down:
		return "down"
	}
	return "unknown"
}

// Status is safe to show: it quotes nothing that the server sent.
type Status struct {
	Name  string
	State State
	Since time.Time // of the state; zero while it is Unknown
	Error string    // why it is down, or was last; "" if it never was
	Retry time.Time // when it may be tried again; zero: at once
	Conns int       // conversations
}

// Status tells how the server is.
func (s *Server) Status() Status {
	return Status{Name: s.opt.Name}
}

// Close ends all conversations and returns when nothing is left of them, or when ctx ends.
// Open then fails.
func (s *Server) Close(ctx context.Context) error { return nil }
