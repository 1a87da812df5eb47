package streamhttp

import (
	"cmp"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// AuthError is why a caller is refused. Its texts are sent to whoever calls. Any other
// error of Authenticate is a 401 without words.
type AuthError struct {
	Status      int    // 401 (the default) or 403
	Code        string // of RFC 6750, section 3.1: "invalid_token", "insufficient_scope"; "" if no token came
	Description string // for a person, printable
	Scope       string // that would do
	// Metadata is the URL of the protected-resource metadata, if it depends on the request;
	// "" is HandlerOptions.ResourceMetadata.
	Metadata string
}

func (e *AuthError) Error() string { return "refused: " + e.Code }

// challenge refuses a caller (RFC 6750, section 3; RFC 9728, section 5.1).
func (h *Handler) challenge(out *writer, r *http.Request, err error) {
	var e *AuthError
	if !errors.As(err, &e) {
		e = &AuthError{}
	}
	status := http.StatusUnauthorized
	if e.Status == http.StatusForbidden {
		status = e.Status
	}
	value := "Bearer"
	sep := " "
	for _, p := range [][2]string{
		{"resource_metadata", cmp.Or(e.Metadata, h.opt.ResourceMetadata)}, {"error", e.Code}, {"error_description", e.Description}, {"scope", e.Scope},
	} {
		if p[1] != "" {
			value += sep + p[0] + "=" + quoted(p[1])
			sep = ", "
		}
	}
	out.w.Header().Set("WWW-Authenticate", value)
	h.log.Debug("refused a caller", "method", r.Method, "status", status)
	out.refuse(status, mcp.ID{}, mcp.CodeInvalidRequest, "not authorised")
}

// quoted writes a quoted-string (RFC 9110, section 5.6.4) of printable ASCII.
func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
		case c >= ' ' && c <= '~':
			b.WriteRune(c)
		default:
			b.WriteByte('?')
		}
	}
	b.WriteByte('"')
	return b.String()
}

// writeChunk is what must be taken within one write timeout.
const writeChunk = 256 << 10

// writer writes an answer to a client that may be slow: each piece has its own deadline.
type writer struct {
	w       http.ResponseWriter
	rc      *http.ResponseController
	timeout time.Duration
}

// newWriter takes away the deadlines that a connection may still have: they would end a
// call that is only waiting.
func newWriter(w http.ResponseWriter, timeout time.Duration) *writer {
	o := &writer{w, http.NewResponseController(w), timeout}
	_ = o.rc.SetReadDeadline(time.Time{})
	_ = o.rc.SetWriteDeadline(time.Time{})
	return o
}

// write writes b, and flushes it if flush is set.
func (o *writer) write(b []byte, flush bool) error {
	defer func() { _ = o.rc.SetWriteDeadline(time.Time{}) }()
	for len(b) > 0 {
		n := min(len(b), writeChunk)
		_ = o.rc.SetWriteDeadline(time.Now().Add(o.timeout))
		if _, err := o.w.Write(b[:n]); err != nil {
			return err
		}
		b = b[n:]
	}
	if !flush {
		return nil
	}
	_ = o.rc.SetWriteDeadline(time.Now().Add(o.timeout))
	return o.rc.Flush()
}

// last sets the deadlines for what the server does after the handler: it writes the end of
// the answer, and reads what is left of a body that was refused unread.
func (o *writer) last(read time.Duration) {
	_ = o.rc.SetWriteDeadline(time.Now().Add(o.timeout))
	_ = o.rc.SetReadDeadline(time.Now().Add(read))
}

// json answers with one body.
func (o *writer) json(status int, body []byte) error {
	o.w.Header().Set("Content-Type", typeJSON)
	o.w.WriteHeader(status)
	return o.write(body, false)
}

// refuse answers with a JSON-RPC error.
func (o *writer) refuse(status int, id mcp.ID, code int, text string) {
	_ = o.json(status, mcp.ErrorResponse(id, code, mcp.Said+text, nil))
}

func (o *writer) notAllowed(methods string) {
	o.w.Header().Set("Allow", methods)
	o.refuse(http.StatusMethodNotAllowed, mcp.ID{}, mcp.CodeInvalidRequest, "this method is not offered here")
}

func (o *writer) busy(status int, id mcp.ID, text string) {
	o.w.Header().Set("Retry-After", "1")
	o.refuse(status, id, mcp.CodeInternal, text)
}
