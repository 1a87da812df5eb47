package gateway

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/internal/pins"
	"github.com/sallyport-dev/sallyport/internal/stdio"
	"github.com/sallyport-dev/sallyport/internal/upstream"
	"github.com/sallyport-dev/sallyport/policy"
)

// Caller is who calls, and by what is decided. Over HTTP it is the Value of the
// streamhttp.Caller.
type Caller struct {
	Name   string
	Policy *policy.Policy
	Engine *sallyport.Engine
	DryRun bool // for records: nothing is enforced
	// Decides is a digest of all that decides: a yes that was given under another is none.
	Decides string
	// AskClient says that a person sits at the client, which may ask for the gateway.
	AskClient bool
	// Listed says that the user's own list of destinations holds for the caller.
	Listed bool
	// Session says how the engine's session is one with those of other processes: its Doubt,
	// Shared and Key are taken. The zero value: the caller's name is the scope of doubt, in
	// this process alone.
	Session sallyport.SessionOptions
}

// Upstream is one server behind the gateway.
type Upstream struct {
	Name   string // as in rules; stands in front of names where they are prefixed
	Server *upstream.Server
	Pins   *pins.Book // nil: what is pinned is forgotten with the session
	// Shared says that the server keeps nothing per session, so that all sessions may use
	// one conversation.
	Shared bool
}

// Namespace says when names get their upstream's name in front.
type Namespace uint8

const (
	Auto   Namespace = iota // with two upstreams or more
	Always                  // even with one
	Never
)

// Options of a gateway. Upstreams and Log are required.
type Options struct {
	Name, Version string // of the gateway, as clients see it where there are several upstreams
	// Instructions are shown to clients before those of the servers. "": a default where
	// there are several upstreams, nothing of the gateway's where there is one.
	Instructions string
	Namespace    Namespace
	Separator    string // default "__"
	// MaxToolName is how many bytes a tool name with its prefix may have in a list; those that
	// are longer are shortened. Default DefaultMaxToolName.
	MaxToolName int
	Upstreams   []Upstream // in the order in which their entries are listed

	Audit         *audit.Log // nil: no log
	AuditContinue bool       // audit.on_failure: continue
	Log           *slog.Logger

	Asking *Asking // nil: nobody is asked, and what needs a yes is refused

	// SessionIdle is how long what is kept for the stateless requests of one client outlives
	// the last of them. Default 15 minutes. Handshake sessions end with their transport's.
	SessionIdle time.Duration
	// MaxStateless is how many such sets one caller may have at once: it grows with every
	// name and set of capabilities that a client makes up. Default 32.
	MaxStateless int
	// StartTimeout is how long initialize waits for the upstreams where there are several:
	// those that are late appear later. Default 15 s.
	StartTimeout time.Duration
	// Drain is how long open calls may go on after a client on stdio has ended its input.
	// Default 30 s.
	Drain      time.Duration
	MaxMessage int // bytes of one frame; default stdio.DefaultMaxMessage
}

// Limits of one session, or of one caller where that is said.
const (
	maxCalls      = 10_000 // requests of the client that wait for an answer
	maxAsked      = 1_000  // requests of servers that wait for the client
	maxLinks      = 10_000 // resource links seen in results
	maxTaskTokens = 1_000  // progress tokens that outlive their call with its task
	maxSubscribed = 1_000  // resources that the client has subscribed to
	maxKept       = 8_192  // bytes of one URI that is remembered
	maxMailbox    = 1 << 20
	maxToServer   = 1_024 // messages that wait to be written to one upstream
	maxPages      = 200   // of one list of one upstream
	maxEntries    = 10_000
	pageEntries   = 1_000 // of a list that the client gets
	pageBytes     = 4 << 20
)

func (o Options) checked() (Options, error) {
	if len(o.Upstreams) == 0 {
		return o, errors.New("a gateway needs an upstream")
	}
	seen := make(map[string]bool)
	for _, u := range o.Upstreams {
		if u.Name == "" || u.Server == nil {
			return o, errors.New("an upstream needs a name and a server")
		}
		if seen[u.Name] {
			return o, fmt.Errorf("two upstreams are called %s", u.Name)
		}
		seen[u.Name] = true
	}
	o.Name, o.Separator = cmp.Or(o.Name, "sallyport"), cmp.Or(o.Separator, "__")
	o.MaxToolName = cmp.Or(o.MaxToolName, DefaultMaxToolName)
	o.SessionIdle = cmp.Or(o.SessionIdle, 15*time.Minute)
	o.MaxStateless = cmp.Or(o.MaxStateless, 32)
	o.StartTimeout = cmp.Or(o.StartTimeout, 15*time.Second)
	o.Drain = cmp.Or(o.Drain, 30*time.Second)
	o.MaxMessage = cmp.Or(o.MaxMessage, stdio.DefaultMaxMessage)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

// prefixed reports whether names get their upstream's name in front.
func (o *Options) prefixed() bool {
	return o.Namespace == Always || o.Namespace == Auto && len(o.Upstreams) > 1
}
