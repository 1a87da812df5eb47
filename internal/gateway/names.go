package gateway

import (
	"strings"

	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/policy"
)

// maxToolName is how long a prefixed tool name may be: the limit of the model interfaces
// behind the clients that are in use, one of which refuses all tools for one that is longer.
const maxToolName = 64

// naming says under which name a client sees what an upstream has.
type naming struct {
	prefixed  bool
	separator string
	upstreams []string // in order
}

func (o *Options) naming() naming {
	n := naming{prefixed: o.prefixed(), separator: o.Separator}
	for _, u := range o.Upstreams {
		n.upstreams = append(n.upstreams, u.Name)
	}
	return n
}

// passes reports that nothing has to be renamed or merged.
func (n naming) passes() bool { return len(n.upstreams) == 1 && !n.prefixed }

// shown is the name that the client sees. Resources keep their URI.
func (n naming) shown(s policy.Subject, upstream, name string) string {
	if !n.prefixed || s == policy.Resource {
		return name
	}
	return upstream + n.separator + name
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
