package relay

import (
	"crypto/sha256"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// given is a request that was answered with a requestState, and the decision that its retry
// continues: 0 once one has.
type given struct {
	method, target string
	decision       sallyport.DecisionID
	open           *open // the gateway gave it; nil: the server did
}

const ofAnother = "params.requestState was given for another request"

// continues notes the requestState that a retry carries. why says that the state was given
// to this client for another tool, prompt or resource: what it makes a server do there,
// nobody was asked about.
func (r *Relay) continues(c *call, raw []byte) (why string) {
	state, ok := mcp.Str(raw)
	if !ok {
		return ""
	}
	c.state, c.again, c.carried[0] = sha256.Sum256([]byte(state)), true, raw
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.states[c.state]
	if len(all) > 0 && c.givenIn(all) == nil {
		return ofAnother
	}
	return r.ownState(c, state, all)
}

func (c *call) givenIn(all []*given) *given {
	for _, g := range all {
		if g.method == c.method && g.target == c.target {
			return g
		}
	}
	return nil
}

// GaveState reports that an answer through this relay had the requestState and the relay
// remembers it.
func (r *Relay) GaveState(state string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.states[sha256.Sum256([]byte(state))]) > 0
}

// stateDecision finds the decision that a retry continues. Each requestState counts once.
func (r *Relay) stateDecision(c *call) (id sallyport.DecisionID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if g := c.givenIn(r.states[c.state]); g != nil {
		id, g.decision = g.decision, 0
	}
	return id
}

func (r *Relay) rememberState(state string, c *call) {
	r.remember(state, &given{c.method, c.target, c.decision.ID, nil})
}

func (r *Relay) remember(state string, is *given) {
	key := sha256.Sum256([]byte(state))
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range r.states[key] {
		if g.method == is.method && g.target == is.target {
			*g = *is
			return
		}
	}
	r.states[key] = append(r.states[key], is)
	r.stateAge = append(r.stateAge, key)
	for len(r.stateAge) > maxStates {
		delete(r.states, r.stateAge[0])
		r.stateAge = r.stateAge[1:]
	}
}
