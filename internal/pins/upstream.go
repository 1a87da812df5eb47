package pins

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/doc"
)

// Upstream is what pins belong to. Make one with [Command] or [URL].
type Upstream struct {
	id    string // 64 hexadecimal characters
	shown string
}

// ID is the SHA-256 over what makes the upstream, 64 hexadecimal characters.
func (u Upstream) ID() string { return u.id }

// Short is the beginning of the ID that commands show and accept.
func (u Upstream) Short() string { return u.id[:shortID] }

const shortID = 12

// Command is a server that is started: by its command and all its arguments, in order.
func Command(argv []string) Upstream {
	return Upstream{id: identity("command", argv), shown: clip(strings.Join(withoutSecrets(argv), " "), maxShown)}
}

// URL is a server that is reached.
func URL(u string) Upstream {
	return Upstream{id: identity("url", []string{u}), shown: clip(withoutSecrets([]string{u})[0], maxShown)}
}

func identity(kind string, parts []string) string {
	h := sha256.New()
	for _, p := range append([]string{kind}, parts...) {
		_, _ = h.Write([]byte(strconv.Itoa(len(p)) + ":" + p)) // a hash takes everything
	}
	return hex.EncodeToString(h.Sum(nil))
}

var secretName = regexp.MustCompile(`(?i)(pass(word|wd)?|secret|token|api[-_ ]?key|authorization|bearer|credential|auth)`)

const hidden = "…"

// withoutSecrets is a command line for a person: the digest stands for the values of what
// is called a secret, and for what a URL holds beside host and path.
func withoutSecrets(argv []string) []string {
	out := make([]string, len(argv))
	afterSecret := false
	for i, a := range argv {
		name, _, hasValue := strings.Cut(a, "=")
		isFlag := strings.HasPrefix(a, "-")
		switch {
		case i > 0 && afterSecret && !isFlag:
			out[i] = hidden
		case hasValue && secretName.MatchString(name) && !strings.Contains(name, "://"):
			out[i] = name + "=" + hidden
		default:
			out[i] = plainURL(a)
		}
		afterSecret = isFlag && !hasValue && secretName.MatchString(a)
	}
	return out
}

// plainURL takes user information, query and fragment out of a URL.
func plainURL(s string) string {
	if !strings.Contains(s, "://") {
		return s
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return hidden
	}
	if u.User != nil {
		u.User = url.User(hidden)
	}
	if u.RawQuery != "" {
		u.RawQuery = hidden
	}
	u.Fragment, u.RawFragment = "", ""
	if text, err := url.PathUnescape(u.String()); err == nil {
		return text
	}
	return u.String()
}

func clip(s string, n int) string {
	if len(s) > n {
		s = s[:n]
	}
	return strings.ToValidUTF8(s, "?")
}

// Capabilities are those that a client declared, as a server sees them.
type Capabilities struct {
	id    string
	names []string
}

// ID is the id of the set that is pinned for a client with them.
func (c Capabilities) ID() string { return c.id }

// CapabilitiesOf reads the capabilities object of a client; anything else stands for
// itself, and nothing at all for {}.
func CapabilitiesOf(v doc.Value) Capabilities {
	if v.Kind() == doc.Absent || v.Kind() == doc.Null {
		v, _ = doc.FromGo(map[string]any{}) // an empty object is a value
	}
	c := Capabilities{id: sallyport.DigestDefinition(v).String()}
	for m := range v.Members() {
		if len(c.names) < maxNames && plainName.MatchString(m.Name) {
			c.names = append(c.names, m.Name)
		}
	}
	slices.Sort(c.names)
	return c
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9._/-]{1,64}$`)
