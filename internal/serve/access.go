package serve

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/sallyport-dev/sallyport/internal/streamhttp"
	"github.com/sallyport-dev/sallyport/internal/token"
)

type openKey struct{}

// opened is one request to the endpoint. Only its own goroutine uses it.
type opened struct {
	cancel context.CancelFunc
	id     uint64 // of the server's requests; 0 before the caller is known
}

func (s *Server) endpoint(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	o := &opened{cancel: cancel}
	s.handler.ServeHTTP(w, r.WithContext(context.WithValue(ctx, openKey{}, o)))
	if o.id != 0 {
		s.requests.remove(o.id)
	}
}

// authenticate finds the caller by its token.
func (s *Server) authenticate(r *http.Request) (streamhttp.Caller, error) {
	e, err := s.opt.Tokens.Find(r.Header)
	if err == nil {
		if o, ok := r.Context().Value(openKey{}).(*opened); ok {
			o.id = s.requests.add(e.Name, o.cancel)
		}
		if s.opt.Tokens.Holds(e) { // or it was revoked before the request could be found
			return streamhttp.Caller{Name: e.Name, Value: e.Value}, nil
		}
		err = token.ErrUnknown
	}
	no := &streamhttp.AuthError{Metadata: s.metadataURL(r)}
	if !errors.Is(err, token.ErrNone) {
		no.Code, no.Description = "invalid_token", err.Error()
	}
	if errors.Is(err, token.ErrExpired) && s.expired.first(e.Name, time.Now()) {
		s.log.Warn("a token that has expired was used", "token", e.Name)
	}
	return streamhttp.Caller{}, no
}

// lately keeps what can be caused from outside from filling the log.
type lately struct {
	mu sync.Mutex
	at map[string]time.Time // by token's name, so it is bounded
}

// first reports whether name was not said within the last minute.
func (l *lately) first(name string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at, ok := l.at[name]; ok && now.Sub(at) < time.Minute {
		return false
	}
	l.at[name] = now
	return true
}
