package streamhttp

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Errors of [Client]. Compare with errors.Is: most come with more words around them. None
// quotes what the server sent.
var (
	// ErrSessionLost: the server answered 404 to a request with a session id, or the stream
	// of an HTTP+SSE server ended. A new session begins with initialize.
	ErrSessionLost = errors.New("the server no longer knows the session")
	// ErrNotTaken is the ErrSessionLost of a POST that was answered with 404, or that was not
	// sent because the stream of an HTTP+SSE server had ended: the server did nothing with the
	// message.
	ErrNotTaken = fmt.Errorf("%w", ErrSessionLost)
	// ErrNoStream: the server offers no GET stream.
	ErrNoStream = errors.New("the server offers no stream of its own messages")
	// ErrTooLarge: a message is over the limit.
	ErrTooLarge = errors.New("a message is over the limit")
	// ErrMediaType: the answer is neither JSON nor an event stream, or it is compressed.
	ErrMediaType = errors.New("the answer is neither JSON nor an event stream")
	// ErrRedirect: the server redirected to another origin, or in a way that loses the body.
	ErrRedirect = errors.New("a redirect that is not followed")
	// ErrNoAnswer: the stream ended, or nothing came at all, without an answer to the request.
	ErrNoAnswer = errors.New("the connection ended without an answer")
	// ErrBadMessage: what came instead of the answer is no message.
	ErrBadMessage = errors.New("the answer is not a valid message")
	// ErrSilent: nothing came for longer than the limit.
	ErrSilent = errors.New("the server was silent for too long")
	// ErrFrame: the frame that was to be sent is not what the method takes, or a value in it
	// cannot stand in a header.
	ErrFrame = errors.New("the message cannot be sent")
	// ErrClosed: Close was called.
	ErrClosed = errors.New("the client is closed")
)

// MaxErrorBody is how much of the body of a refusal is kept, in bytes.
const MaxErrorBody = 16 << 10

// StatusError is an answer with a status that is no success and that does not hold the
// answer to the request itself.
type StatusError struct {
	Status     int
	Body       []byte        // at most MaxErrorBody bytes of it: text of the server's
	Challenge  []string      // the values of WWW-Authenticate
	RetryAfter time.Duration // from Retry-After in seconds, at most an hour; 0 if there is none
}

// Error names the status and quotes nothing.
func (e *StatusError) Error() string {
	text := http.StatusText(e.Status)
	if text == "" {
		text = "unknown status"
	}
	return fmt.Sprintf("the server answered %d %s", e.Status, text)
}

// statusError reads what a refusal says, and closes it.
func statusError(resp *http.Response) *StatusError {
	e := &StatusError{Status: resp.StatusCode, Challenge: resp.Header.Values(headerChallenge)}
	if identity(resp.Header) {
		e.Body, _ = io.ReadAll(io.LimitReader(resp.Body, MaxErrorBody))
	}
	if s, err := time.ParseDuration(resp.Header.Get("Retry-After") + "s"); err == nil && s > 0 {
		e.RetryAfter = min(s, time.Hour)
	}
	_ = resp.Body.Close()
	return e
}
