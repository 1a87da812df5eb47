package gateway

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"
	"unicode/utf8"

	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/policy"
)

// DefaultMaxToolName is how many bytes a prefixed tool name may have: the limit of the model
// interfaces behind the clients that are in use, one of which refuses all tools for one that
// is longer. Some clients put a prefix of their own in front, which counts too.
const DefaultMaxToolName = 64

// naming says under which name a client sees what an upstream has.
type naming struct {
	prefixed  bool
	separator string
	longest   int      // bytes of a prefixed tool name
	upstreams []string // in order
}

func (o *Options) naming() naming {
	n := naming{prefixed: o.prefixed(), separator: o.Separator, longest: o.MaxToolName}
	for _, u := range o.Upstreams {
		n.upstreams = append(n.upstreams, u.Name)
	}
	return n
}

// passes reports that nothing has to be renamed or merged.
func (n naming) passes() bool { return len(n.upstreams) == 1 && !n.prefixed }

// shown is the name that rules and texts are about. The client sees it, or where it is too
// long what offered makes of it. Resources keep their URI.
func (n naming) shown(s policy.Subject, upstream, name string) string {
	if !n.prefixed || s == policy.Resource {
		return name
	}
	return upstream + n.separator + name
}

// Of a name that is too long the client sees its beginning and a hash of all of it: the same
// one always, whatever else is listed.
const hashDigits = 10 // of five bits each

var hashDigit = base32.HexEncoding.WithPadding(base32.NoPadding)

// offered is a shown name as it stands in the client's list.
func (n naming) offered(k kind, shown string) string {
	if k != tools || !n.prefixed || len(shown) <= n.longest {
		return shown
	}
	sum := sha256.Sum256([]byte(shown))
	cut := n.longest - hashDigits - 1
	for cut > 0 && !utf8.RuneStart(shown[cut]) {
		cut--
	}
	return shown[:cut] + "_" + strings.ToLower(hashDigit.EncodeToString(sum[:])[:hashDigits])
}

// mayBeShort reports whether a name could be what offered made of a longer one: only the lists
// know.
func (n naming) mayBeShort(k kind, name string) bool {
	at := len(name) - hashDigits - 1
	return k == tools && n.prefixed && len(name) <= n.longest && len(name) > n.longest-utf8.UTFMax && at >= 0 &&
		name[at] == '_' && strings.Trim(name[at+1:], "0123456789abcdefghijklmnopqrstuv") == ""
}

// owned is a name as its upstream knows it.
type owned struct{ upstream, name string }

// readings are all that a shown name can stand for, in the order of the upstreams. There
// may be several: a__b has a tool c, and a has one that is called b__c.
func (n naming) readings(shown string) []owned {
	var all []owned
	for _, u := range n.upstreams {
		switch name, ok := strings.CutPrefix(shown, u+n.separator); {
		case !n.prefixed:
			all = append(all, owned{u, shown})
		case ok && name != "":
			all = append(all, owned{u, name})
		}
	}
	return all
}

// visible reports whether every character of a name shows. What does not is never listed:
// nobody could tell it from another.
func visible(name string) bool { return name != "" && quote.Text(name, 0) == name }
