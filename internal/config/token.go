package config

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/sallyport-dev/sallyport/internal/strictyaml"
	"github.com/sallyport-dev/sallyport/policy"
)

// Token names a caller over HTTP and binds it to a policy. Of its value only the digest
// is kept.
type Token struct {
	Name        string
	Source      string // file:line:column
	Policy      string
	SHA256      [sha256.Size]byte // of the value's bytes
	Env         string            // the variable that held the value, "" if the file gives the digest
	Short       bool              // the value in Env has fewer than MinTokenLength bytes
	Expires     time.Time         // zero: never; not valid from this moment on
	Description string
	AskClient   bool // ask: client: a person sits at this client, and is asked through it
	AskCode     bool // ask: code was written: also over stdio
}

// MinTokenLength is how many bytes a token's value needs to be hard to guess.
const MinTokenLength = 20

const maxTokens = 10_000

var tokenKeys = []string{"name", "policy", "sha256", "env", "expires", "description", "ask"}

func (c *Config) readTokens(n *strictyaml.Node, p *strictyaml.Problems, lookup func(string) (string, bool)) {
	items, ok := n.List(p)
	if !ok {
		return
	}
	if len(items) > maxTokens {
		p.Add(n, "%d tokens are defined; at most %d are read", len(items), maxTokens)
		return
	}
	names := map[string]*strictyaml.Node{}
	values := map[[sha256.Size]byte]*strictyaml.Node{}
	for _, item := range items {
		fields, ok := item.Fields(p, tokenKeys, nil)
		if !ok {
			continue
		}
		t := &Token{Source: item.Place()}
		t.readName(item, fields["name"], p, names)
		t.readRest(item, fields, p)
		if at := t.readValue(item, fields, p, lookup); at != nil {
			if first := values[t.SHA256]; first != nil {
				p.Add(at, "the token has the value of the one in line %d; each caller has its own", first.Line())
			} else {
				values[t.SHA256] = at
			}
		}
		c.Tokens = append(c.Tokens, t)
	}
}

func (t *Token) readName(item, f *strictyaml.Node, p *strictyaml.Problems, names map[string]*strictyaml.Node) {
	if f == nil {
		p.Add(item, "the token has no name; the name is the caller in rules and in the log")
		return
	}
	s, ok := f.Str(p)
	if !ok {
		return
	}
	t.Name = s
	switch err := policy.CheckName(s); {
	case err != nil:
		p.Add(f, "a token's name %v", err)
	case s == "local":
		p.Add(f, "the name local is taken by the caller over stdio; choose another")
	case names[s] != nil:
		p.Add(f, "another token is already named %s in line %d", strictyaml.Quote(s), names[s].Line())
	default:
		names[s] = f
	}
}

func (t *Token) readRest(item *strictyaml.Node, fields map[string]*strictyaml.Node, p *strictyaml.Problems) {
	if f := fields["policy"]; f != nil {
		t.Policy, _ = f.Str(p)
	} else {
		p.Add(item, "the token %s has no policy; write policy: and the name of one", strictyaml.Quote(t.Name))
	}
	if f := fields["ask"]; f != nil {
		s, _ := f.OneOf(p, "code", "client")
		t.AskClient, t.AskCode = s == "client", s == "code"
	}
	if f := fields["description"]; f != nil {
		t.Description, _ = f.Str(p)
	}
	if f := fields["expires"]; f != nil {
		if s, ok := f.Str(p); ok {
			t.Expires, ok = parseTime(s)
			if !ok {
				p.Add(f, "write a date, 2027-01-31 (valid until that day starts, UTC), or a time, 2027-01-31T18:00:00Z")
			}
		}
	}
}

// readValue reads the digest and returns the node that gave it, nil after a problem.
func (t *Token) readValue(item *strictyaml.Node, fields map[string]*strictyaml.Node, p *strictyaml.Problems, lookup func(string) (string, bool)) *strictyaml.Node {
	digest, env := fields["sha256"], fields["env"]
	switch {
	case digest == nil && env == nil:
		p.Add(item, "the token %s has no value; write sha256: with the digest of its value, or env: with a variable's name", strictyaml.Quote(t.Name))
		return nil
	case digest != nil && env != nil:
		p.Add(item, "the token %s has sha256 and env; write exactly one", strictyaml.Quote(t.Name))
		return nil
	case digest != nil:
		return t.readDigest(digest, p)
	}
	name, ok := env.Str(p)
	if !ok {
		return nil
	}
	if !isVariable(name) {
		p.Add(env, "write the name of a variable that holds the token's value, not the value")
		return nil
	}
	value, set := "", false
	if lookup != nil {
		value, set = lookup(name)
	}
	switch {
	case !set:
		p.Add(env, "the variable %s is not set", strictyaml.Quote(name))
		return nil
	case value == "" || strings.TrimSpace(value) != value:
		p.Add(env, "the variable %s is empty or has white space at an end, which no client can send", strictyaml.Quote(name))
		return nil
	}
	t.Env, t.Short, t.SHA256 = name, len(value) < MinTokenLength, sha256.Sum256([]byte(value))
	return env
}

func (t *Token) readDigest(n *strictyaml.Node, p *strictyaml.Problems) *strictyaml.Node {
	if !n.IsText() && len(n.Text()) == 2*sha256.Size {
		p.Add(n, "put the digest in quotes: without letters it is read as a number")
		return nil
	}
	s, ok := n.Str(p)
	if !ok {
		return nil
	}
	raw, err := hex.DecodeString(s)
	switch {
	case err != nil || len(raw) != sha256.Size:
		// The text is not quoted: it may be the token itself.
		p.Add(n, "write the SHA-256 of the token's value as 64 hexadecimal digits")
		return nil
	case [sha256.Size]byte(raw) == sha256.Sum256(nil):
		p.Add(n, "this is the digest of nothing: an empty token would be let in")
		return nil
	}
	t.SHA256 = [sha256.Size]byte(raw)
	return n
}

func parseTime(s string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}
