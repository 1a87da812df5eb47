package gateway

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"time"

	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/streamhttp"
	"github.com/sallyport-dev/sallyport/internal/upstream"
)

// statelessKey tells apart what requests say of their client.
type statelessKey [sha256.Size]byte

// statelessCaller holds the sessions of one caller's stateless requests: one for each
// client that the requests speak of.
type statelessCaller map[statelessKey]*session

var (
	errClients = errors.New("too many different clients and capability sets at once")
	errMeta    = errors.New("_meta lacks what every request says of its client")
)

// clientOf reads what a stateless request says of its client: the params of a
// server/discover that says the same, and a key for it.
func clientOf(m mcp.Message) (greeting []byte, key statelessKey, err error) {
	names := []string{metaPrefix + "protocolVersion", metaPrefix + "clientInfo", metaPrefix + "clientCapabilities"}
	f, err := mcp.Fields(metaOf(m), names...)
	if err != nil {
		return nil, key, errMeta
	}
	h := sha256.New()
	greeting = []byte(`{"_meta":{`)
	for i, raw := range f {
		if raw == nil {
			continue
		}
		v, err := doc.Parse(raw, doc.Limits{})
		if err != nil {
			return nil, key, errMeta
		}
		if greeting[len(greeting)-1] != '{' {
			greeting = append(greeting, ',')
		}
		greeting = append(append(append(append(greeting, '"'), names[i]...), `":`...), raw...)
		h.Write([]byte(names[i]))
		h.Write([]byte{0})
		h.Write(v.AppendJSON(nil))
		h.Write([]byte{0})
	}
	return append(greeting, "}}"...), statelessKey(h.Sum(nil)), nil
}

// serveStateless serves a message of a stateless version.
func (g *Gateway) serveStateless(ctx context.Context, x *streamhttp.Exchange, caller Caller) {
	m := x.Message
	if m.Kind != mcp.Request {
		return // there is none that says anything over HTTP
	}
	greeting, key, err := clientOf(m)
	if err != nil {
		refuseHTTP(x, http.StatusBadRequest, mcp.CodeInvalidParams, err.Error())
		return
	}
	for range 3 { // one that is just ending is not used
		s, err := g.statelessSession(caller, greeting, key)
		if err != nil {
			refuseHTTP(x, http.StatusServiceUnavailable, mcp.CodeInternal, err.Error())
			return
		}
		if c, _, _ := s.begin(ctx, x, m); c != nil {
			c.headers = x.Params
			c.run()
			return
		}
	}
	refuseHTTP(x, http.StatusServiceUnavailable, mcp.CodeInternal, "too many requests are open")
}

// statelessSession returns the session of a caller's client, in the place of its longest
// unused one if it has too many.
func (g *Gateway) statelessSession(caller Caller, greeting []byte, key statelessKey) (*session, error) {
	u := g.setup.Load()
	g.mu.Lock()
	s := g.stateless[caller.Name][key]
	var victim *session
	if s == nil && len(g.stateless[caller.Name]) >= u.MaxStateless {
		if victim = g.stateless[caller.Name].unused(); victim == nil {
			g.mu.Unlock()
			return nil, errClients
		}
	}
	g.mu.Unlock()
	if victim != nil && !victim.endFree("it was not used") {
		return g.statelessSession(caller, greeting, key) // a call was faster: another has to go
	}
	if s != nil {
		return s, nil
	}
	s, err := g.newSession(caller, upstream.Stateless, greeting)
	if err != nil {
		return nil, err
	}
	s.version, s.last = mcp.V20260728, time.Now()
	g.mu.Lock()
	if other := g.stateless[caller.Name][key]; other != nil { // somebody was faster
		g.mu.Unlock()
		s.end("it was not used")
		return other, nil
	}
	if g.stateless[caller.Name] == nil {
		g.stateless[caller.Name] = make(statelessCaller)
	}
	g.stateless[caller.Name][key] = s
	g.mu.Unlock()

	s.mu.Lock()
	s.gone = func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.stateless[caller.Name][key] == s {
			delete(g.stateless[caller.Name], key)
			if len(g.stateless[caller.Name]) == 0 {
				delete(g.stateless, caller.Name)
			}
		}
	}
	s.unused = time.AfterFunc(u.SessionIdle, s.endUnused)
	s.mu.Unlock()
	return s, nil
}

// unused is the session that was used last longest ago and is not now; nil if all are.
func (all statelessCaller) unused() *session {
	var oldest *session
	var since time.Time
	for _, s := range all {
		s.mu.Lock()
		free, last := len(s.everyCall) == 0, s.last
		s.mu.Unlock()
		if free && (oldest == nil || last.Before(since)) {
			oldest, since = s, last
		}
	}
	return oldest
}

// used notes that a call has ended. It is called with mu held.
func (s *session) used() {
	s.last = time.Now()
	if s.unused != nil && len(s.everyCall) == 0 && !s.ended {
		s.unused.Reset(s.setup().SessionIdle)
	}
}

func (s *session) endUnused() { s.endFree("it was not used") }
