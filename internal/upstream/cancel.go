package upstream

import (
	"context"
	"errors"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// maxReason is how much of the reason for a cancellation a server is told, in bytes of JSON.
// A longer one is left out.
const maxReason = 4096

// Cancelled as the cause that ends the context of Do: the client cancelled the request.
type Cancelled struct {
	// Reason is what the client says about it, a raw JSON string; nil: nothing. A server of
	// the handshake era, and any on stdio, is told.
	Reason []byte
}

// Error does not quote the reason.
func (*Cancelled) Error() string { return "the client cancelled the request" }

// mayCancel reports whether the server may be told that m is cancelled: not for a
// greeting (2025-11-25, "Cancellation", 2), which a probe is too, and not for what runs as
// a task (3).
func mayCancel(m mcp.Message) bool {
	return m.Method != "initialize" && m.Method != "server/discover" && memberOf(m.Params, "task") == nil
}

// cancelled tells a server that a request is cancelled, and why, if ctx knows.
func cancelled(ctx context.Context, id mcp.ID) []byte {
	params := append([]byte(`{"requestId":`), id.Raw()...)
	var c *Cancelled
	if errors.As(context.Cause(ctx), &c) && len(c.Reason) <= maxReason {
		if _, ok := mcp.Str(c.Reason); ok {
			params = append(append(params, `,"reason":`...), c.Reason...)
		}
	}
	return mcp.NewNotification("notifications/cancelled", append(params, '}'))
}
