package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/internal/client"
	"github.com/sallyport-dev/sallyport/internal/store"
)

const (
	// sessionVariable names the session where the client cannot be told, or is to be told
	// apart: processes with the same name share what they have seen.
	sessionVariable = "SALLYPORT_SESSION"
	noSession       = "none" // its value for a session of this process's own
	sessionIdle     = 8 * time.Hour
	clientPrefix    = "client:" // of names that are a client's identity
	namedPrefix     = "named:"  // of names that the user gave
	sessionWait     = 5 * time.Second
)

// sharedSession is the part of a session that the wrap processes of one client have in
// common.
type sharedSession struct {
	store *store.Store // nil: this process is alone
	name  string
}

// openShared joins the session of the client that started this process. dir is Sallyport's
// state directory, noState why there is none.
func openShared(dir string, noState error, log *slog.Logger) (*sharedSession, error) {
	name, why := sessionName()
	if why == nil {
		why = noState
	}
	switch {
	case errors.Is(why, errAlone):
		return &sharedSession{}, nil
	case errors.Is(why, errBadSession):
		return nil, why
	case why != nil:
		log.Info(client.Notice+"; to name the session yourself, set "+sessionVariable, "reason", why)
		return &sharedSession{}, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), sessionWait)
	defer cancel()
	if _, err := store.Sweep(ctx, dir, sessionEnded); err != nil {
		log.Debug("sessions that are over could not be removed", "error", err)
	}
	s, err := store.Open(ctx, store.Options{Dir: dir, Session: name, Ended: sessionEnded})
	if err != nil {
		return nil, fmt.Errorf("what this client's servers have shown is kept in %s, and that cannot be opened: %w; %s=%s does without", filepath.Join(dir, "sessions"), err, sessionVariable, noSession)
	}
	log.Info("shares what was seen with the other servers of this client", sharedWith(name))
	return &sharedSession{s, name}, nil
}

var (
	errAlone      = errors.New("the user wants no shared session")
	errBadSession = errors.New("write 1 to 100 letters, digits, dots, hyphens and underscores in " + sessionVariable + ", or the word " + noSession + ", for no sharing")
)

// sharedWith says whose session it is: its name, or the process that the client is.
func sharedWith(name string) slog.Attr {
	if text, ok := strings.CutPrefix(name, clientPrefix); ok {
		if id, err := client.Parse(text); err == nil {
			return slog.Int("client_pid", id.PID)
		}
	}
	return slog.String("session", strings.TrimPrefix(name, namedPrefix))
}

// sessionName is the user's, or that of the client process.
func sessionName() (string, error) {
	if name, set := os.LookupEnv(sessionVariable); set && name != "" {
		if name == noSession {
			return "", errAlone
		}
		if len(name) > 100 || strings.ContainsFunc(name, func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r))
		}) {
			return "", errBadSession
		}
		return namedPrefix + name, nil
	}
	id, err := client.Find()
	if err != nil {
		return "", err
	}
	return clientPrefix + id.String(), nil
}

// sessionEnded says whether a session that no process is in is over: its client has gone,
// or nothing was heard of it for long.
func sessionEnded(name string, idle time.Duration) bool {
	if idle > sessionIdle {
		return true
	}
	text, ok := strings.CutPrefix(name, clientPrefix)
	if !ok {
		return !strings.HasPrefix(name, namedPrefix)
	}
	id, err := client.Parse(text)
	if err != nil {
		return true
	}
	gone, err := id.Gone()
	return err == nil && gone
}

// engineStore is the store of an engine's budgets and rates; nil: its own.
func (s *sharedSession) engineStore() sallyport.Store {
	if s.store == nil {
		return nil
	}
	return s.store
}

// options name the session. alone is its name where it is shared with nobody.
func (s *sharedSession) options(alone string) sallyport.SessionOptions {
	o := sallyport.SessionOptions{Caller: localCaller, Doubt: cmp.Or(s.name, alone)}
	if s.store != nil {
		key := s.store.Derive("ledger")
		o.Shared, o.Key = true, [16]byte(key[:16])
	}
	return o
}

func (s *sharedSession) close() {
	if s.store != nil {
		_ = s.store.Close() // what cannot be removed now is swept later
	}
}
