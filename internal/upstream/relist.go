package upstream

import (
	"context"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// maxPages of a list are asked for.
const maxPages = 100

// list asks for the tools on behalf of the sender of m, and remembers their headers. What
// it cannot learn stays as it was. Nobody sees the lists: they decide nothing.
func (h *session) list(ctx context.Context, m mcp.Message) {
	meta := metaOf(m)
	seen := map[string]bool{}
	cursor := []byte(nil)
	for range maxPages {
		params := append([]byte(`{"_meta":`), meta...)
		if cursor != nil {
			params = append(append(params, `,"cursor":`...), cursor...)
		}
		answer, err := h.client.Do(ctx, mcp.NewRequest(ownID(), "tools/list", append(params, '}')), nil, nil)
		if err != nil || answer.Result == nil {
			return
		}
		h.headers.learn(answer, h.c.s.log)
		cursor = memberOf(answer.Result, "nextCursor")
		if _, ok := mcp.Str(cursor); !ok || seen[string(cursor)] {
			return
		}
		seen[string(cursor)] = true
	}
}

// isStateless reports whether a request is of the stateless era.
func isStateless(m mcp.Message) bool { return mcp.RequestVersion(m) >= mcp.V20260728 }

// errorCode returns the code of an error response, 0 if m is none.
func errorCode(m mcp.Message) int {
	if m.Error == nil {
		return 0
	}
	return intOf(memberOf(m.Error, "code"))
}
