package upstream

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/internal/streamhttp"
)

// Errors of Open, Do and Send. Compare with errors.Is: most come with more words around
// them. None quotes what a server sent.
var (
	// ErrClosed: the conversation or the server was closed from this side.
	ErrClosed = errors.New("the conversation is closed")
	// ErrIdle: the conversation was closed because nothing was open for long.
	ErrIdle = errors.New("the conversation ended because it was idle")
	// ErrDied: the process ended, closed its output, or the session is lost.
	ErrDied = errors.New("the conversation with the server is over")
	// ErrNotTaken is the ErrDied of a request of which nothing was done: the server answered
	// 404 for its session, or the request was not sent, because the session was lost before.
	// It may be made again in another conversation.
	ErrNotTaken = errors.New("the server no longer knows the session and did not take the request")
	// ErrTooMany: there are as many conversations as are allowed.
	ErrTooMany = errors.New("too many conversations with this server: max_sessions of the upstream bounds them")
	// ErrShare: the caller has as many of them as one may have.
	ErrShare = errors.New("this caller has too many conversations with this server: one may have three quarters of max_sessions")
	// ErrUnreachable: the server could not be reached, or the connection broke.
	ErrUnreachable = errors.New("the server cannot be reached")
	// ErrTimeout: the server was silent about a request for too long.
	ErrTimeout = errors.New("the server did not answer in time")
	// ErrRefused: the server answered, but speaks no era or version that can be used.
	ErrRefused = errors.New("the server refused the conversation")
	// ErrTooLarge: the answer is over the limit of one message.
	ErrTooLarge = errors.New("the answer is over the limit of one message")
	// ErrBadAnswer: what came instead of the answer is no message. A *mcp.ParseError may be
	// in it.
	ErrBadAnswer = errors.New("the answer is not a valid message")
	// ErrUnsubscribed: the server ended a subscription without answering the request for it.
	ErrUnsubscribed = errors.New("the server ended the subscription")
	// ErrID: the id is that of another open request, or of one that was cancelled and may
	// still be answered.
	ErrID = errors.New("the id is in use")
	// ErrNotSent: the message is not what the method takes.
	ErrNotSent = errors.New("the message cannot be sent")
)

// notTaken is why, of a request of which nothing was done. The conversation itself never ends
// with it: other requests were taken.
func notTaken(why error) error { return fmt.Errorf("%w (%w)", why, ErrNotTaken) }

// Paused is why a server that failed is not tried: its pause is not over.
type Paused struct {
	Until time.Time
	Err   error // the failure
}

// Error names the time that is left and the failure.
func (p *Paused) Error() string {
	return fmt.Sprintf("it is not tried again before %s: %v", p.Until.UTC().Format(time.RFC3339), p.Err)
}

// Unwrap returns the failure.
func (p *Paused) Unwrap() error { return p.Err }

// dialled says why there is no connection. Callers read it: it names no address.
func dialled(op *net.OpError) string {
	var name *net.DNSError
	var errno syscall.Errno
	switch {
	case errors.As(op.Err, &name):
		return "its host name cannot be resolved"
	case op.Timeout():
		return "the connection timed out"
	case errors.As(op.Err, &errno):
		return quote.Text(errno.Error(), 100)
	}
	return "the connection failed"
}

// unreachable names what happened to a connection, in words that the server cannot choose:
// the errors of net/http quote malformed answers, those of x509 what a certificate says.
func unreachable(err error) error {
	var op *net.OpError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.Is(err, streamhttp.ErrSilent):
		return fmt.Errorf("%w: %w", ErrUnreachable, streamhttp.ErrSilent)
	case errors.As(err, &certificate):
		return fmt.Errorf("%w: its certificate is not trusted", ErrUnreachable)
	case errors.As(err, &op) && op.Op == "dial":
		return fmt.Errorf("%w: %s", ErrUnreachable, dialled(op))
	case errors.As(err, &op) && op.Op == "proxyconnect":
		return fmt.Errorf("%w: the proxy cannot be", ErrUnreachable)
	}
	return fmt.Errorf("%w: the connection failed", ErrUnreachable)
}
