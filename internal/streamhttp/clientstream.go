package streamhttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// readStreams reads the stream of one call until its answer is there, over as many
// connections as that takes (2025-11-25, "Resumability and Redelivery"). It ends s.
func (k *call) readStreams(ctx context.Context, s *span, resp *http.Response) (mcp.Message, error) {
	var at cursor
	idle := 0 // connections in a row that brought nothing
	for {
		r := newEventReader(resp.Body, k.c.opt.MaxMessage)
		at.start(r)
		answer, done, err := k.readStream(r)
		if done {
			k.c.leave(s, resp)
			return answer, nil
		}
		_ = resp.Body.Close()
		s.end()
		moved := at.take(r)
		if err := k.mayResume(ctx, err, at); err != nil {
			return mcp.Message{}, err
		}
		if moved {
			idle = 0
		}
		for resp = nil; resp == nil; {
			if idle++; idle > maxResumes {
				return mcp.Message{}, fmt.Errorf("%w: it was resumed %d times in vain", ErrNoAnswer, maxResumes)
			}
			if err := k.c.wait(ctx, at.delay(k.c.backoff(idle))); err != nil {
				return mcp.Message{}, err
			}
			if s, resp, err = k.c.get(ctx, k.version, k.session, at.id); err != nil && !temporary(err) {
				return mcp.Message{}, err
			}
		}
	}
}

// readStream reads one connection's part of a stream.
func (k *call) readStream(r *eventReader) (answer mcp.Message, done bool, err error) {
	for {
		e, err := r.next()
		if err != nil {
			return mcp.Message{}, false, err
		}
		if e.name != "message" || len(e.data) == 0 {
			continue
		}
		if answer, done, err = k.take(e.data); done || err != nil {
			if err != nil {
				err = &final{err}
			}
			return answer, done, err
		}
	}
}

// final is an error that no new connection helps against.
type final struct{ err error }

func (f *final) Error() string { return f.err.Error() }
func (f *final) Unwrap() error { return f.err }

// mayResume returns nil if the stream can be resumed after err, else what to tell the
// caller.
func (k *call) mayResume(ctx context.Context, err error, at cursor) error {
	var f *final
	switch {
	case errors.As(err, &f):
		return f.err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, ErrTooLarge):
		return err
	case k.c.base.Err() != nil:
		return ErrClosed
	case stateless(k.version) || at.id == "" || at.retry > maxRetry:
		if errors.Is(err, ErrSilent) {
			return err
		}
		return fmt.Errorf("%w: the stream ended", ErrNoAnswer)
	}
	return nil
}

// cursor is where a stream can be resumed, and when.
type cursor struct {
	id       string
	retry    time.Duration
	hasRetry bool
}

// start hands the place to the reader of a new connection.
func (c *cursor) start(r *eventReader) {
	r.id, r.nextID, r.retry, r.hasRetry = c.id, c.id, c.retry, c.hasRetry
}

// take takes the place over from it and reports whether it has moved.
func (c *cursor) take(r *eventReader) bool {
	moved := r.id != c.id
	*c = cursor{r.id, r.retry, r.hasRetry}
	return moved
}

// delay is the time to wait before the next connection.
func (c *cursor) delay(own time.Duration) time.Duration {
	if c.hasRetry {
		return max(c.retry, 0)
	}
	return own
}

// temporary reports whether reaching a server may succeed later.
func temporary(err error) bool {
	var status *StatusError
	if errors.As(err, &status) {
		return status.Status >= 500 || status.Status == http.StatusTooManyRequests || status.Status == http.StatusRequestTimeout
	}
	for _, never := range []error{ErrSessionLost, ErrNoStream, ErrMediaType, ErrRedirect, ErrTooLarge, ErrClosed} {
		if errors.Is(err, never) {
			return false
		}
	}
	return true
}

// get opens a stream. On success the caller ends the span.
func (c *Client) get(ctx context.Context, version, session, lastID string) (*span, *http.Response, error) {
	h := c.header(typeStream, version, session)
	if lastID != "" {
		h.Set(headerLastEvent, lastID)
	}
	s := c.begin(ctx, c.opt.HeaderTimeout)
	resp, err := c.roundTrip(s, http.MethodGet, c.url, h, nil)
	if err != nil {
		err = s.cause(err)
		s.end()
		return nil, nil, err
	}
	switch {
	case resp.StatusCode == http.StatusOK && mediaType(resp.Header) == typeStream && identity(resp.Header):
		return s, resp, nil
	case resp.StatusCode == http.StatusMethodNotAllowed:
		err = ErrNoStream
	case resp.StatusCode == http.StatusNotFound && session != "":
		err = ErrSessionLost
	case resp.StatusCode == http.StatusOK:
		err = ErrMediaType
	default:
		err = statusError(resp)
	}
	_ = resp.Body.Close()
	s.end()
	return nil, nil, err
}

// leave lets a stream whose answer is there come to its end, so that the connection can
// be used again, but not for long.
func (c *Client) leave(s *span, resp *http.Response) {
	s.detach()
	if resp.ProtoMajor >= 2 { // closing costs one frame there
		_ = resp.Body.Close()
		s.end()
		return
	}
	c.mu.Lock()
	if c.base.Err() != nil {
		c.mu.Unlock()
		_ = resp.Body.Close()
		s.end()
		return
	}
	c.running.Add(1)
	c.mu.Unlock()
	go func() {
		defer c.running.Done()
		defer s.end()
		stop := time.AfterFunc(drainTime, func() { s.cancel(context.Canceled) })
		defer stop.Stop()
		_, _ = io.CopyN(io.Discard, resp.Body, MaxErrorBody)
		_ = resp.Body.Close()
	}()
}

// Listen reads the stream of the server's own messages (GET, 2025-03-26 to 2025-11-25)
// and calls onMessage with each, one at a time. It connects again when a connection ends,
// where it ended and when the server says so, until ctx ends, onMessage returns an error,
// or there is nothing more to come: ErrNoStream, ErrSessionLost, or another refusal.
//
// For an HTTP+SSE server it is where everything arrives that is no answer; there it must
// run, or the connection is given up once too much waits for it. One Listen at a time.
func (c *Client) Listen(ctx context.Context, onMessage func(mcp.Message) error) error {
	if events := c.eventSession(); events != nil {
		return events.listen(ctx, onMessage)
	}
	c.mu.Lock()
	version, session := c.version, c.session
	c.mu.Unlock()
	if stateless(version) {
		return ErrNoStream
	}
	k := &call{c: c, version: version, session: session, onMessage: onMessage}
	var at cursor
	for failed := 0; ; failed++ {
		began := time.Now()
		s, resp, err := c.get(ctx, version, session, at.id)
		if err == nil {
			r := newEventReader(resp.Body, c.opt.MaxMessage)
			at.start(r)
			_, _, err = k.readStream(r)
			_ = resp.Body.Close()
			s.end()
			if at.take(r) || time.Since(began) > maxBackoff {
				failed = 0
			}
			var f *final
			if errors.As(err, &f) {
				return f.err
			}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !temporary(err) || at.retry > maxRetry {
			return err
		}
		if err := c.wait(ctx, at.delay(c.backoff(failed+1))); err != nil {
			return err
		}
	}
}
