package relay

import (
	"crypto/sha256"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// judgeUnsubscribe lets a client end what it was allowed to begin, whatever the policy says
// by now. Any other URI would be told to the server by a request that nobody judged: it is
// judged as it would be for a subscription.
func (r *Relay) judgeUnsubscribe(c *call, m mcp.Message) (why string) {
	if why = r.judgeURI(c, m); why != "" {
		return why
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.follows[sha256.Sum256([]byte(c.target))] {
		c.judged, c.again = nil, false
	}
	return ""
}

// followed notes that the server has taken a subscription, or the end of one.
func (r *Relay) followed(c *call) {
	key := sha256.Sum256([]byte(c.target))
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case c.method == "resources/unsubscribe":
		delete(r.follows, key)
	case len(r.follows) < maxFollows:
		r.follows[key] = true
	}
}
