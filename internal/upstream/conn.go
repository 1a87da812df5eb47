package upstream

import (
	"context"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// Era is how a side speaks: with a handshake and a session (2024-11-05 to 2025-11-25), or
// stateless, each request saying everything of its client (from 2026-07-28).
type Era uint8

const (
	Handshake Era = iota + 1
	Stateless
)

// String is "handshake" or "stateless".
func (e Era) String() string {
	switch e {
	case Handshake:
		return "handshake"
	case Stateless:
		return "stateless"
	}
	return "no era"
}

// Conn is one conversation with one upstream, on behalf of one caller: a child process, an
// HTTP session, or one of those seen through a bridge that speaks the other era. Safe for
// concurrent use.
type Conn interface {
	// Do sends one request and returns its answer, a result or an error response, once; err
	// says that none will come. What the server sends that belongs to this request (progress,
	// logs, its own requests) goes to onMessage before the answer, in order, one at a time.
	// onMessage never waits for the client: it must not call Do or Send.
	//
	// When ctx ends, the request is cancelled in the way of its transport and era, once,
	// and Do returns the context's cause.
	Do(ctx context.Context, m mcp.Message, onMessage func(mcp.Message)) (mcp.Message, error)

	// Send sends a notification, or the answer to a request of the server's.
	Send(ctx context.Context, m mcp.Message) error

	// Era is the era that Do and Send are spoken to in.
	Era() Era

	// Version is the protocol version that is in force.
	Version() string

	// Done is closed when the conversation is over: the process ended, the session is lost,
	// or Close was called. Every Do has returned or is about to.
	Done() <-chan struct{}

	// Err says why, once Done is closed: bounded and safe to show.
	Err() error

	// Close ends it and returns when nothing is left of it, or when ctx ends.
	Close(ctx context.Context) error
}
