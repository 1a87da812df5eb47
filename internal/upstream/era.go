package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/streamhttp"
)

// probeTime is how long a server may take to answer server/discover before it is greeted
// with initialize, when it is not known to answer it.
const probeTime = 5 * time.Second

// eras is what is known of the eras that a server speaks.
type eras [Stateless + 1]verdict

type verdict uint8

const (
	unknown verdict = iota
	speaks
	silent // the greeting got no answer, and the other one did: taken for refuses until the server fails
	refuses
)

// doubt forgets what was only concluded from silence.
func (e *eras) doubt() {
	for i := range e {
		if e[i] == silent {
			e[i] = unknown
		}
	}
}

// order says in which order a server is greeted for a client: its own era first, unless
// the server refused that.
func (e *eras) order(c Client) []Era {
	own, other := c.Era, Handshake+Stateless-c.Era
	switch {
	case c.params(other) == nil:
		return []Era{own}
	case e[own] >= silent:
		return []Era{other, own}
	}
	return []Era{own, other}
}

// greeting errors: whether there is sense in the other era.
var (
	errOtherEra = errors.New("it does not speak this era")
	errNoProbe  = errors.New("it did not answer in time")
)

// greet finds out what the server speaks and begins a conversation.
func (s *Server) greet(ctx context.Context, client Client, beside func(mcp.Message)) (*conversation, mcp.Message, error) {
	s.mu.Lock()
	known := s.eras
	s.mu.Unlock()
	order := known.order(client)
	var c *conversation
	var first error
	fail := func(err error) (*conversation, mcp.Message, error) {
		if c != nil {
			_ = c.Close(ctx)
		}
		return nil, mcp.Message{}, err
	}
	for i := 0; i < len(order); i++ {
		era := order[i]
		if c == nil {
			var err error
			if c, err = s.dial(beside); err != nil {
				return nil, mcp.Message{}, err
			}
		}
		limit := time.Duration(0)
		if era == Stateless && i+1 < len(order) && known[era] != speaks {
			limit = s.probe
		}
		hello, version, err := c.hello(ctx, era, client.params(era), limit)
		switch {
		case err == nil:
			c.greet(era, version)
			known[era] = speaks
			if !s.admitted(c, known) {
				return fail(ErrClosed)
			}
			return c, hello, nil
		case ctx.Err() != nil:
			return fail(context.Cause(ctx))
		case errors.Is(err, errNoProbe):
			known[era] = silent
			order = append(order, era) // it may have been slow to start
		case errors.Is(err, errOtherEra):
			known[era] = refuses
		case errors.Is(err, ErrDied):
			known[era] = silent // some servers end when they are asked what they do not know
		default:
			return fail(err)
		}
		if first == nil || errors.Is(first, errNoProbe) {
			first = err
		}
		if c.isOver() {
			if err := c.Close(ctx); err != nil {
				return nil, mcp.Message{}, err
			}
			c = nil
		}
	}
	if errors.Is(first, errOtherEra) {
		first = fmt.Errorf("%w: %w", ErrRefused, first)
	}
	return fail(first)
}

// hello sends the greeting of an era. The error is errOtherEra or ErrDied if the server may
// speak the other one, errNoProbe if it was silent for longer than limit (0: none).
func (c *conversation) hello(ctx context.Context, era Era, params []byte, limit time.Duration) (hello mcp.Message, version string, err error) {
	method := "initialize"
	if era == Stateless {
		method = "server/discover"
	}
	m, bad := mcp.Parse(mcp.NewRequest(ownID(), method, params))
	if bad != nil {
		return mcp.Message{}, "", fmt.Errorf("%w: %w", ErrNotSent, bad)
	}
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, errNoProbe)
		defer cancel()
	}
	hello, err = c.do(ctx, m, nil, 0)
	if err != nil {
		return mcp.Message{}, "", greetingError(era, err)
	}
	if era == Stateless {
		return readDiscover(hello)
	}
	return readInitialize(hello)
}

// greetingError says what it means that there was no answer to a greeting.
func greetingError(era Era, err error) error {
	var status *streamhttp.StatusError
	switch {
	case errors.As(err, &status):
		switch status.Status {
		case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusTooManyRequests, http.StatusServiceUnavailable:
			return err
		}
		if m, bad := mcp.Parse(status.Body); bad == nil && era == Stateless && isModern(errorCode(m)) {
			return modernRefusal(m)
		}
		return fmt.Errorf("%w: %w", errOtherEra, err)
	case errors.Is(err, ErrBadAnswer), errors.Is(err, streamhttp.ErrNoAnswer):
		return fmt.Errorf("%w: %w", errOtherEra, err)
	}
	return err
}

// readInitialize reads the answer to initialize. Any error may come from a server that knows
// no handshake.
func readInitialize(hello mcp.Message) (mcp.Message, string, error) {
	if hello.Error != nil {
		return mcp.Message{}, "", fmt.Errorf("%w: it answered initialize with error %d", errOtherEra, errorCode(hello))
	}
	version, _ := mcp.Str(memberOf(hello.Result, "protocolVersion"))
	switch version {
	case mcp.V20241105, mcp.V20250326, mcp.V20250618, mcp.V20251125:
		return hello, version, nil
	}
	return mcp.Message{}, "", fmt.Errorf("%w: it answered initialize with a version that is not known here", errOtherEra)
}

// readDiscover reads the answer to server/discover. An error that only a modern server gives
// ends the search, unless it names a version of the other era (2026-07-28, stdio and
// streamable-http, "Backward Compatibility").
func readDiscover(hello mcp.Message) (mcp.Message, string, error) {
	if hello.Error != nil {
		if isModern(errorCode(hello)) {
			return mcp.Message{}, "", modernRefusal(hello)
		}
		return mcp.Message{}, "", fmt.Errorf("%w: it answered server/discover with error %d", errOtherEra, errorCode(hello))
	}
	versions := strs(memberOf(hello.Result, "supportedVersions"))
	switch {
	case slices.Contains(versions, mcp.V20260728):
		return hello, mcp.V20260728, nil
	case len(versions) == 0, slices.ContainsFunc(versions, isHandshake):
		return mcp.Message{}, "", fmt.Errorf("%w: its answer to server/discover names no version of it", errOtherEra)
	}
	return mcp.Message{}, "", fmt.Errorf("%w: it speaks no version that is known here", ErrRefused)
}

// modernRefusal reads an error that only servers of the stateless era give.
func modernRefusal(m mcp.Message) error {
	if slices.ContainsFunc(strs(memberOf(m.Error, "data", "supported")), isHandshake) {
		return fmt.Errorf("%w: it names versions of the other", errOtherEra)
	}
	return fmt.Errorf("%w: it answered server/discover with error %d", ErrRefused, errorCode(m))
}

// isModern reports a code that 2026-07-28 defines.
func isModern(code int) bool { return code <= -32020 && code >= -32022 }

func isHandshake(version string) bool { return version < mcp.V20260728 }

// strs reads a raw list of strings; what is no string is left out.
func strs(raw []byte) []string {
	var l []string
	m := mcp.Message{Raw: fmt.Appendf(nil, `{"result":{"list":%s}}`, raw)}
	if len(raw) == 0 || raw[0] != '[' {
		return nil
	}
	mcp.FilterList(m, "list", func(e []byte) bool {
		if s, ok := mcp.Str(e); ok && len(l) < 64 {
			l = append(l, s)
		}
		return false
	})
	return l
}

func intOf(raw []byte) int {
	n, _ := strconv.Atoi(string(raw))
	return n
}
