package streamhttp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// span is the life of one HTTP exchange: it ends with its context, with the client, when
// the peer is silent for too long, or with end.
type span struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	stops  [2]func() bool
	timer  *time.Timer
}

// begin starts an exchange whose header may take limit.
func (c *Client) begin(ctx context.Context, limit time.Duration) *span {
	s := &span{}
	s.ctx, s.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	if ctx.Err() != nil { // at once: what follows runs beside
		s.cancel(context.Cause(ctx))
	}
	s.stops[0] = context.AfterFunc(ctx, func() { s.cancel(context.Cause(ctx)) })
	s.stops[1] = context.AfterFunc(c.base, func() { s.cancel(ErrClosed) })
	s.timer = time.AfterFunc(limit, func() { s.cancel(ErrSilent) })
	return s
}

// detach takes the exchange out of its caller's context.
func (s *span) detach() { s.stops[0]() }

func (s *span) end() {
	s.timer.Stop()
	for _, stop := range s.stops {
		stop()
	}
	s.cancel(context.Canceled)
}

// cause returns why the exchange was ended from this side, else err.
func (s *span) cause(err error) error {
	if cause := context.Cause(s.ctx); cause != nil {
		return cause
	}
	return err
}

// watched is a body that may not be silent for longer than limit while it is read. The
// time between reads does not count: that is the reader's own.
type watched struct {
	io.ReadCloser
	span  *span
	limit time.Duration
}

func (w *watched) Read(p []byte) (int, error) {
	w.span.timer.Reset(w.limit)
	n, err := w.ReadCloser.Read(p)
	w.span.timer.Stop()
	if err != nil && err != io.EOF {
		err = w.span.cause(err)
	}
	return n, err
}

// header builds the headers of a request from nothing but the configuration and the
// arguments.
func (c *Client) header(accept, version, session string) http.Header {
	h := c.opt.Header.Clone()
	if len(h.Values("User-Agent")) == 0 {
		h.Set("User-Agent", "sallyport")
	}
	if accept != "" {
		h.Set("Accept", accept)
	}
	if version != "" {
		h.Set(headerVersion, version)
	}
	if session != "" {
		h.Set(headerSession, session)
	}
	return h
}

// maxRedirects within one origin.
const maxRedirects = 5

// roundTrip sends one request and returns its answer's header. It follows redirects that
// keep method and body within the origin of target and refuses all others: the headers
// are meant for that origin.
func (c *Client) roundTrip(s *span, method string, target *url.URL, h http.Header, body []byte) (*http.Response, error) {
	for range maxRedirects {
		var r io.Reader
		if body != nil {
			r = bytes.NewReader(body)
		}
		req, err := http.NewRequestWithContext(s.ctx, method, target.String(), r)
		if err != nil {
			return nil, ErrFrame
		}
		req.Header = h
		resp, err := c.transport.RoundTrip(req)
		if err != nil {
			return nil, s.cause(err)
		}
		if resp.StatusCode < 300 || resp.StatusCode > 399 || resp.StatusCode == http.StatusNotModified {
			s.timer.Stop()
			resp.Body = &watched{resp.Body, s, c.opt.IdleTimeout}
			return resp, nil
		}
		_ = resp.Body.Close()
		if target, err = redirect(method, target, resp); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%w: too many of them", ErrRedirect)
}

// redirect returns where to go next.
func redirect(method string, from *url.URL, resp *http.Response) (*url.URL, error) {
	switch resp.StatusCode {
	case http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther:
		if method != http.MethodGet {
			return nil, fmt.Errorf("%w: %d would turn the request into a GET", ErrRedirect, resp.StatusCode)
		}
	default:
		return nil, fmt.Errorf("%w: status %d", ErrRedirect, resp.StatusCode)
	}
	to, err := from.Parse(resp.Header.Get("Location"))
	if err != nil || resp.Header.Get("Location") == "" {
		return nil, fmt.Errorf("%w: no place to go to", ErrRedirect)
	}
	if !sameOrigin(from, to) {
		return nil, fmt.Errorf("%w: it leads to another origin", ErrRedirect)
	}
	return to, nil
}

// sameOrigin compares scheme, host and port (RFC 6454, section 5). A user name in either
// makes them differ.
func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b) && a.User == nil && b.User == nil
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if u.Scheme == "https" {
		return "443"
	}
	return "80"
}

// wait returns after d, or earlier with the reason why there is nothing to wait for.
func (c *Client) wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.base.Done():
		return ErrClosed
	}
}

// backoff returns the time before attempt n (1, 2, …) of reaching a server again.
func (c *Client) backoff(n int) time.Duration {
	return min(c.opt.RetryDelay<<min(n-1, 16), maxBackoff)
}
