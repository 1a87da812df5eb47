package relay

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/internal/approval"
	"github.com/sallyport-dev/sallyport/internal/lograte"
	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/pins"
	"github.com/sallyport-dev/sallyport/internal/stdio"
	"github.com/sallyport-dev/sallyport/policy"
)

// Options of a relay. Session, Upstream, ToClient, ToServer and Log are required.
type Options struct {
	Session   *sallyport.Session
	Policy    *policy.Policy // for records, see SetPolicy
	DryRun    bool           // for records, see SetPolicy
	Caller    string         // for records
	SessionID string
	Upstream  string
	Pins      *pins.Book // nil: what is pinned is forgotten at the end

	// ToClient takes what may reach the client. about is the client's request that m
	// belongs to: for an answer its own id, for a notification or request of the server's
	// what the caller of FromServer said; zero for none. It may wait for the client: only
	// the message at hand is held up by it. It is called from several goroutines at once.
	ToClient func(m mcp.Message, about mcp.ID)
	// ToServer takes what may reach the server: requests of the client's and of the
	// relay's own, notifications, and answers to the server's requests. Messages of one
	// caller of FromClient come in order, and a request before what cancels it. It is called
	// from several goroutines at once.
	ToServer func(m mcp.Message)
	// Queue is ToServer for what a call of FromServer causes. It must not wait for the
	// server: one that waits for its output to be read would wait for ever. nil: ToServer.
	Queue func(m mcp.Message)

	// Shown is the name under which the client knows what the upstream calls name: rules
	// and the texts of refusals are about it. nil: names are shown as they are.
	Shown func(s policy.Subject, name string) string

	// Desk is where a person is asked when a decision is an ask; nil: nobody is, and the call
	// is refused. It is the session's: whoever made it ends it.
	Desk      *approval.Desk
	Decides   string // for the desk, see SetPolicy
	AskClient bool   // the client itself may be asked where it can, see SetPolicy
	// ClientVersion is the handshake version that the client is spoken to in, where that is
	// not what the server's answer to initialize says.
	ClientVersion string
	// PromptWait is how long the client's own prompt waits for an answer when the client wants
	// no progress: many give a call up after a minute. Default 50 s.
	PromptWait time.Duration
	PromptTick time.Duration // how often a client that wants it hears that the call waits; default 10 s

	Audit         *audit.Log // nil: no log
	AuditContinue bool       // audit.on_failure: continue
	Log           *slog.Logger

	MaxMessage  int           // bytes of one frame; default stdio.DefaultMaxMessage
	ListTimeout time.Duration // for the relay's own tools/list; default 30 s
	// CancelGrace is how long a cancelled write keeps others from starting when the server
	// does not say that it ended. Default 5 s.
	CancelGrace time.Duration
	// TaskGrace is how long a write that goes on as a task does so when nobody has seen that
	// it ended. Default 5 min.
	TaskGrace time.Duration
}

// Limits of one relay.
const (
	maxOpen       = 10_000    // requests of one direction that wait for an answer
	maxCancelled  = 1_000     // cancelled ids remembered, so that a late answer is not taken for another's
	maxStates     = 1_024     // requestState values of the upstream remembered
	maxFollows    = 1_024     // subscriptions remembered
	inlineOutput  = 256 << 10 // bytes; larger output may be recorded beside the server's reader
	waitingFrames = 4         // times MaxMessage: bytes of requests that were not forwarded yet
)

// Relay is one client's conversation with one server: its two ends are functions. Safe for
// concurrent use.
//
// Every request that is given to FromClient is answered through ToClient at most once, and
// exactly once unless it was cancelled, as long as its caller says how it ends: with
// FromServer, ServerFailed or End.
type Relay struct {
	opt   Options
	log   *slog.Logger
	rules atomic.Pointer[Rules]

	asking atomic.Int32 // calls that a person is being asked about; for tests

	// answering counts calls that were taken from the table and whose answer is being
	// written. It grows under mu, and not after ended is set.
	answering sync.WaitGroup

	mu          sync.Mutex // guards all below
	calls       map[string]*call
	cancelled   map[string]*call // nil but for a write that may still run
	cancelAge   []string
	asked       map[string]asked   // requests of the server that the client has to answer
	prompts     map[string]*prompt // questions of the gateway's own
	onScreen    map[string]*prompt // the same by approval, until they are settled
	own         map[string]*listing
	version     string // negotiated by initialize
	declared    pins.Capabilities
	client      string // its name, as it says
	elicits     bool   // the client of a handshake can be sent forms
	initialized bool   // and said that it is initialized
	catalogue   catalogue
	writing     *call   // holds the write slot
	writers     []*call // wait for it
	states      map[[32]byte][]*given
	stateAge    [][32]byte
	tasks       map[string]*task // that calls of the client's began, by id
	taskAge     []string
	follows     map[[32]byte]bool // URIs that the client has subscribed to, by their hash
	hosted      map[string]string // tasks that requests of the server's began with the client: their methods
	hostedAge   []string
	open        int           // requests that still get an answer
	waiting     int           // bytes of frames that were not forwarded yet
	idle        chan struct{} // closed when draining and open is 0, once
	idled       bool
	draining    bool
	ended       bool

	endRecorded sync.Once
}

// Rules are what records and questions say of what decides. The engine that decides by it is
// the session's.
type Rules struct {
	Policy *policy.Policy
	DryRun bool
	// Decides stands for all that decides, policy, contracts and flow: a yes that was given
	// under another is none.
	Decides   string
	AskClient bool // the client itself may be asked where it can
}

// New starts a relay and records that its session starts.
func New(opt Options) *Relay {
	if opt.Queue == nil {
		opt.Queue = opt.ToServer
	}
	if opt.MaxMessage == 0 {
		opt.MaxMessage = stdio.DefaultMaxMessage
	}
	if opt.ListTimeout == 0 {
		opt.ListTimeout = 30 * time.Second
	}
	if opt.CancelGrace == 0 {
		opt.CancelGrace = 5 * time.Second
	}
	if opt.PromptWait == 0 {
		opt.PromptWait = 50 * time.Second
	}
	if opt.PromptTick == 0 {
		opt.PromptTick = 10 * time.Second
	}
	if opt.TaskGrace == 0 {
		opt.TaskGrace = 5 * time.Minute
	}
	opt.Log = lograte.New(opt.Log)
	r := &Relay{
		opt: opt, log: opt.Log,
		calls: make(map[string]*call), cancelled: make(map[string]*call), asked: make(map[string]asked), prompts: make(map[string]*prompt), onScreen: make(map[string]*prompt),
		own: make(map[string]*listing), states: make(map[[32]byte][]*given), follows: make(map[[32]byte]bool),
		tasks: make(map[string]*task), hosted: make(map[string]string), idle: make(chan struct{}),
		declared: pins.CapabilitiesOf(sallyport.Value{}),
	}
	r.SetPolicy(Rules{opt.Policy, opt.DryRun, opt.Decides, opt.AskClient})
	r.recordSession("start")
	return r
}

// SetPolicy changes what later records and questions say.
func (r *Relay) SetPolicy(rules Rules) { r.rules.Store(&rules) }

// toClient hands an answer of the relay's own to the client. about is the request that it
// answers; zero for what could not be read.
func (r *Relay) toClient(about mcp.ID, frame []byte) { r.opt.ToClient(built(frame), about) }

// send hands a message to the server. Not for what FromServer causes.
func (r *Relay) send(m mcp.Message) { r.opt.ToServer(m) }

// queue hands a message of the relay's own to the server that a call of FromServer causes.
func (r *Relay) queue(frame []byte) { r.opt.Queue(built(frame)) }

// built is a message of the relay's own.
func built(frame []byte) mcp.Message {
	m, bad := mcp.Parse(frame)
	if bad != nil { // it holds what was parsed before: it can only nest too deep
		m = mcp.Message{Raw: frame, Kind: mcp.Response, ID: bad.ID}
	}
	return m
}

// shownName is the name that rules are about; "" if it is the upstream's own.
func (r *Relay) shownName(s policy.Subject, name string) string {
	if r.opt.Shown == nil {
		return ""
	}
	if shown := r.opt.Shown(s, name); shown != name {
		return shown
	}
	return ""
}

// finished counts a request whose answer was written, or that gets none.
func (r *Relay) finished(c *call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.uncounted {
		return
	}
	c.uncounted = true
	r.open--
	r.nowIdle()
}

// nowIdle is called with mu held.
func (r *Relay) nowIdle() {
	if r.draining && r.open == 0 && !r.idled {
		r.idled = true
		close(r.idle)
	}
}

// ownID is an id for a request of the relay's own: of the kind that the client uses,
// because some servers read only one, and in use by no one.
func (r *Relay) ownID(like mcp.ID) mcp.ID {
	for {
		n := rand.Int64N(1<<30) + 1<<30
		id := mcp.IntID(n)
		if raw := like.Raw(); raw != "" && raw[0] == '"' {
			id = mcp.StringID(fmt.Sprintf("sallyport-%d", n))
		}
		if r.calls[id.Key()] == nil && r.own[id.Key()] == nil {
			return id
		}
	}
}

// Drain is called when the client sends no more. What the server asks of it is answered
// with an error from now on; the channel is closed when no request is open any more.
// Subscriptions do not count.
func (r *Relay) Drain() <-chan struct{} {
	r.mu.Lock()
	r.draining = true
	r.nowIdle()
	r.mu.Unlock()
	r.endPrompts("the conversation is ending")
	r.abandonAsked()
	return r.idle
}

// End answers everything that is open with an error that says why. It returns when the
// answers were handed over, or when ctx ends. After it every request is refused.
func (r *Relay) End(ctx context.Context, why string) {
	defer r.recordEnd()
	select {
	case <-r.end(why):
	case <-ctx.Done():
	}
}
