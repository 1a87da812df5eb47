package token

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Entry is one token.
type Entry struct {
	Name    string // the caller
	SHA256  [sha256.Size]byte
	Expires time.Time // not valid from this moment on; zero: never
	Value   any       // passed on
}

// Why somebody is not let in. The texts can be shown to whoever calls.
var (
	ErrNone    = errors.New("no bearer token came")
	ErrForm    = errors.New("the Authorization header has no bearer token, or there are several")
	ErrUnknown = errors.New("the token is not known")
	ErrExpired = errors.New("the token has expired")
)

// maxValue bounds what is hashed, in bytes.
const maxValue = 4 << 10

// Table is the tokens that hold now. Safe for concurrent use.
type Table struct {
	now func() time.Time

	mu      sync.RWMutex // guards all below
	entries []Entry
}

// NewTable returns a table. now is the clock; nil is time.Now.
func NewTable(entries []Entry, now func() time.Time) *Table {
	if now == nil {
		now = time.Now
	}
	return &Table{now: now, entries: slices.Clone(entries)}
}

// Find returns the token that a request's headers present. The error is one of those
// above; with ErrExpired the entry is returned too, for the log.
func (t *Table) Find(h http.Header) (Entry, error) {
	value, err := bearer(h)
	if err != nil {
		return Entry{}, err
	}
	digest := Digest(value)
	t.mu.RLock()
	defer t.mu.RUnlock()
	found := -1
	for i := range t.entries {
		// Every entry is looked at, so that the time says nothing of which one it was.
		same := subtle.ConstantTimeCompare(t.entries[i].SHA256[:], digest[:])
		found = subtle.ConstantTimeSelect(same, i, found)
	}
	if found < 0 {
		return Entry{}, ErrUnknown
	}
	e := t.entries[found]
	if e.expired(t.now()) {
		return e, ErrExpired
	}
	return e, nil
}

func (e Entry) expired(now time.Time) bool { return !e.Expires.IsZero() && !now.Before(e.Expires) }

// Holds reports whether a token that was found still opens what it opened.
func (t *Table) Holds(e Entry) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	now := t.now()
	return slices.ContainsFunc(t.entries, func(h Entry) bool { return h.Name == e.Name && h.SHA256 == e.SHA256 && !h.expired(now) })
}

// Valid reports whether the caller of that name has a token that holds now.
func (t *Table) Valid(name string) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	now := t.now()
	return slices.ContainsFunc(t.entries, func(h Entry) bool { return h.Name == name && !h.expired(now) })
}

// NextExpiry is the time until the next token expires. ok is false if none will.
func (t *Table) NextExpiry() (in time.Duration, ok bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	now := t.now()
	for _, e := range t.entries {
		if d := e.Expires.Sub(now); d > 0 && (!ok || d < in) && !e.Expires.IsZero() {
			in, ok = d, true
		}
	}
	return in, ok
}

// Replace puts other tokens in the place of all. It returns the callers whose old value
// opens nothing any more: their token is gone, or has another value.
func (t *Table) Replace(entries []Entry) (revoked []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, old := range t.entries {
		kept := func(e Entry) bool { return e.Name == old.Name && e.SHA256 == old.SHA256 }
		if !slices.ContainsFunc(entries, kept) {
			revoked = append(revoked, old.Name)
		}
	}
	t.entries = slices.Clone(entries)
	return revoked
}

// bearer reads the one Authorization header (RFC 6750, section 2.1). A token in the query
// or the body is not looked for: it would stand in logs.
func bearer(h http.Header) (string, error) {
	all := h.Values("Authorization")
	if len(all) == 0 {
		return "", ErrNone
	}
	scheme, value, ok := strings.Cut(all[0], " ")
	value = strings.Trim(value, " ")
	if len(all) > 1 || !ok || !strings.EqualFold(scheme, "Bearer") || value == "" || len(value) > maxValue {
		return "", ErrForm
	}
	return value, nil
}
