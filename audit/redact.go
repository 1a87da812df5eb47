package audit

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"regexp"
	"sync"

	"github.com/sallyport-dev/sallyport/doc"
)

// DefaultKeyPatterns name the members whose values are never written unless a
// configuration says otherwise. Do not change the slice.
var DefaultKeyPatterns = []*regexp.Regexp{
	regexp.MustCompile(`(?i)(pass(word|wd)|secret|token|api[-_ ]?key|authorization|credential)`),
}

// Redaction says what never reaches the log.
//
// A value below a member whose name matches a pattern, or that a selector finds, is
// replaced whole by {"redacted":"hmac-sha256:…"}. The digest is over a string's own
// bytes, or over the compact JSON of any other value. Patterns hold at any depth, also
// inside strings that are themselves a JSON object or list, and for pairs: the value of
// {"name": "password", "value": …} and ["password", …]. A member with a name of more than 256 bytes counts
// as secret. A value that a selector finds is redacted wherever
// an equal string, number or boolean stands in the same arguments.
//
// What was redacted, names within it included, is also replaced in reasons, details,
// destinations and the places of arguments, as far as it is four bytes or longer.
type Redaction struct {
	KeyPatterns   []*regexp.Regexp // nil: DefaultKeyPatterns; empty: none
	Selectors     []doc.Selector   // from the arguments on: to[0], not args.to[0]
	MaxValue      int              // bytes of one string kept, then a marker; 0: DefaultMaxValue
	DropArguments bool             // include_arguments: false
	Key           []byte           // HMAC-SHA-256 key of digests; nil: random per run
}

const (
	redactedText = "[redacted]"
	digestScheme = "hmac-sha256:"
)

// redactor holds what all records of a log share. Safe for concurrent use.
type redactor struct {
	patterns  []*regexp.Regexp
	selectors []doc.Selector
	maxValue  int
	drop      bool
	macs      sync.Pool // of *mac

	mu    sync.RWMutex
	names map[string]bool // what the patterns said of a name
}

type mac struct {
	h   hash.Hash
	in  []byte
	out [sha256.Size]byte
}

const (
	maxCachedNames = 4096
	maxCachedName  = 64  // bytes
	maxJudgedName  = 256 // bytes
)

func newRedactor(r Redaction) *redactor {
	red := &redactor{
		patterns: r.KeyPatterns, selectors: r.Selectors, maxValue: r.MaxValue, drop: r.DropArguments,
		names: map[string]bool{},
	}
	if red.patterns == nil {
		red.patterns = DefaultKeyPatterns
	}
	if red.maxValue <= 0 {
		red.maxValue = DefaultMaxValue
	}
	red.maxValue = min(red.maxValue, MaxArguments)
	key := append([]byte(nil), r.Key...)
	if len(key) == 0 {
		key = make([]byte, sha256.Size)
		_, _ = rand.Read(key) // never fails
	}
	red.macs.New = func() any { return &mac{h: hmac.New(sha256.New, key)} }
	return red
}

// secretName reports whether a pattern names this member. It remembers answers,
// because the same names come again and again and a pattern is slow. For the same
// reason a very long name counts as secret.
func (r *redactor) secretName(name string) bool {
	if len(name) > maxJudgedName {
		return true
	}
	if len(name) > maxCachedName {
		return r.matches(name)
	}
	r.mu.RLock()
	secret, known := r.names[name]
	r.mu.RUnlock()
	if known {
		return secret
	}
	secret = r.matches(name)
	r.mu.Lock()
	if len(r.names) >= maxCachedNames {
		clear(r.names)
	}
	r.names[name] = secret
	r.mu.Unlock()
	return secret
}

func (r *redactor) matches(text string) bool {
	for _, p := range r.patterns {
		if p.MatchString(text) {
			return true
		}
	}
	return false
}

// digest appends the keyed digest of p.
func (r *redactor) digest(b, p []byte) []byte {
	m := r.macs.Get().(*mac)
	b = m.digest(b, p)
	r.macs.Put(m)
	return b
}

func (r *redactor) digestString(b []byte, s string) []byte {
	m := r.macs.Get().(*mac)
	m.in = append(m.in[:0], s...)
	b = m.digest(b, m.in)
	r.release(m)
	return b
}

// digestValue appends the keyed digest of a value: of a string's bytes, of the compact
// JSON of any other.
func (r *redactor) digestValue(b []byte, v doc.Value) []byte {
	if v.Kind() == doc.String {
		return r.digestString(b, v.String())
	}
	return r.digestJSON(b, v)
}

func (r *redactor) digestJSON(b []byte, v doc.Value) []byte {
	m := r.macs.Get().(*mac)
	m.in = v.AppendJSON(m.in[:0])
	b = m.digest(b, m.in)
	r.release(m)
	return b
}

func (r *redactor) release(m *mac) {
	if cap(m.in) > maxKept {
		m.in = nil
	}
	clear(m.in) // it held what must not be seen
	r.macs.Put(m)
}

func (m *mac) digest(b, p []byte) []byte {
	m.h.Reset()
	m.h.Write(p)
	b = append(b, digestScheme...)
	return hex.AppendEncode(b, m.h.Sum(m.out[:0]))
}
