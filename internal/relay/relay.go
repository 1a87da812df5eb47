package relay

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/pins"
	"github.com/sallyport-dev/sallyport/internal/stdio"
	"github.com/sallyport-dev/sallyport/policy"
)

// Ending says which end of a relay ended it.
type Ending int

const (
	ClientEnded Ending = iota + 1 // end of input, or the client reads no more
	ServerEnded                   // the server closed its output or its input
	Stopped                       // the context was cancelled
)

// Options of a relay. Session, Upstream, the four ends and Log are required.
type Options struct {
	Session   *sallyport.Session
	Policy    *policy.Policy // for records
	DryRun    bool
	Caller    string // for records
	SessionID string
	Upstream  string
	Pins      *pins.Book // nil: what is pinned is forgotten at the end

	ClientIn  io.Reader
	ClientOut io.Writer
	ServerIn  io.Writer
	ServerOut io.Reader

	// ClientGone reports that the client has closed its end of ClientIn, read to the end or
	// not. It is asked only while the server does not read. nil: not known.
	ClientGone func() bool

	// HowServerEnded says, after ServerOut ended, how: "exit status 1". nil: not known.
	HowServerEnded func() string

	Audit         *audit.Log // nil: no log
	AuditContinue bool       // audit.on_failure: continue
	Log           *slog.Logger

	MaxMessage  int           // bytes of one frame; default stdio.DefaultMaxMessage
	Drain       time.Duration // how long open calls may go on after the client's end of input; default 30 s
	ListTimeout time.Duration // for the gateway's own tools/list; default 30 s
	// Farewell is how long, at the end, the last answers wait for a client that does not
	// read them. Default 1 s.
	Farewell time.Duration
	// CancelGrace is how long a cancelled write keeps others from starting when the server
	// does not say that it ended. Default 5 s.
	CancelGrace time.Duration
}

// watchEvery is how often a client is looked after whose reader is held up.
const watchEvery = 2 * time.Second

// Limits of one relay.
const (
	maxOpen        = 10_000    // requests of one direction that wait for an answer
	maxCancelled   = 1_000     // cancelled ids remembered, so that a late answer is not taken for another's
	maxStates      = 1_024     // requestState values of the upstream remembered
	inlineOutput   = 256 << 10 // bytes; larger output is recorded beside the reader
	maxBeside      = 4         // such outputs at once; with more the server waits
	waitingFrames  = 4         // times MaxMessage: bytes of requests that were not forwarded yet
	maxServerQueue = 1_024     // messages to the server that its own reader caused
)

// Relay is one client and one server. Use New and Run once.
type Relay struct {
	opt    Options
	client *stdio.Writer
	server *stdio.Writer
	log    *slog.Logger

	toServer chan []byte   // from the server's reader, see the package comment
	lost     chan struct{} // closed when the server's input failed
	gone     chan struct{} // closed when the client's output failed
	beside   chan struct{} // holds one for each output being recorded beside the reader

	// answering counts calls that were taken from the table and whose answer is being
	// written. It grows under mu, and not after ended is set.
	answering sync.WaitGroup

	sending atomic.Int32 // writes to the server that are under way
	sent    atomic.Int64 // and those that are done

	mu        sync.Mutex // guards all below
	calls     map[string]*call
	cancelled map[string]*call // nil but for a write that may still run
	cancelAge []string
	asked     map[string]asked // requests of the server that the client has to answer
	own       map[string]*listing
	version   string // negotiated by initialize
	declared  pins.Capabilities
	catalogue catalogue
	writing   *call   // holds the write slot
	writers   []*call // wait for it
	states    map[[32]byte]sallyport.DecisionID
	stateAge  [][32]byte
	open      int           // requests that still get an answer
	waiting   int           // bytes of frames that were not forwarded yet
	idle      chan struct{} // closed when draining and open is 0
	draining  bool
	ended     bool
	lostOnce  sync.Once
	goneOnce  sync.Once
}

// New prepares a relay.
func New(opt Options) *Relay {
	if opt.MaxMessage == 0 {
		opt.MaxMessage = stdio.DefaultMaxMessage
	}
	if opt.Drain == 0 {
		opt.Drain = 30 * time.Second
	}
	if opt.ListTimeout == 0 {
		opt.ListTimeout = 30 * time.Second
	}
	if opt.Farewell == 0 {
		opt.Farewell = time.Second
	}
	if opt.CancelGrace == 0 {
		opt.CancelGrace = 5 * time.Second
	}
	return &Relay{
		opt: opt, log: opt.Log,
		client: stdio.NewWriter(opt.ClientOut), server: stdio.NewWriter(opt.ServerIn),
		toServer: make(chan []byte, maxServerQueue), lost: make(chan struct{}), gone: make(chan struct{}),
		beside: make(chan struct{}, maxBeside),
		calls:  make(map[string]*call), cancelled: make(map[string]*call), asked: make(map[string]asked),
		own: make(map[string]*listing), states: make(map[[32]byte]sallyport.DecisionID), idle: make(chan struct{}),
		declared: pins.CapabilitiesOf(sallyport.Value{}),
	}
}

// Run relays until one end ends or ctx is cancelled. When it returns, every request that
// was not cancelled has its answer, as far as the client still reads. The readers may
// still block in ClientIn or ServerOut: the caller closes those.
func (r *Relay) Run(ctx context.Context) Ending {
	r.recordSession("start")
	defer r.recordSession("end")

	clientDone, serverDone := make(chan error, 1), make(chan error, 1)
	stop := make(chan struct{})
	defer close(stop)
	go r.queueToServer(stop)
	if r.opt.ClientGone != nil {
		go r.watchClient(stop)
	}
	go func() { serverDone <- r.readServer(ctx) }()
	go func() { clientDone <- r.readClient(ctx) }()

	select {
	case err := <-clientDone:
		if err != nil {
			r.log.Warn("reading from the client failed", "error", err)
		}
		return r.drain(ctx, serverDone)
	case <-r.gone:
		r.end(ctx, "the client reads no more", r.opt.Farewell)
		return ClientEnded
	case err := <-serverDone:
		return r.serverEnded(ctx, err)
	case <-r.lost:
		return r.serverLost(ctx, serverDone)
	case <-ctx.Done():
		r.end(ctx, "the gateway is stopping", r.opt.Farewell)
		return Stopped
	}
}

// toClient writes one message. A client that reads no more ends the relay.
func (r *Relay) toClient(frame []byte) {
	if err := r.client.Write(frame); err != nil {
		r.goneOnce.Do(func() {
			r.log.Warn("the client cannot be written to", "error", err)
			close(r.gone)
		})
	}
}

// send writes one message to the server. Not for the server's reader.
func (r *Relay) send(frame []byte) {
	r.sending.Add(1)
	defer r.sending.Add(-1)
	err := r.server.Write(frame)
	r.sent.Add(1)
	if err != nil {
		r.lostOnce.Do(func() {
			r.log.Warn("the server cannot be written to", "error", err)
			close(r.lost)
		})
	}
}

// watchClient looks after a client that died while a server that does not read holds up
// the reader of its input: the end of that input would never be seen.
func (r *Relay) watchClient(stop <-chan struct{}) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	before := int64(-1)
	for {
		select {
		case <-tick.C:
		case <-stop:
			return
		}
		sent := r.sent.Load()
		if r.sending.Load() > 0 && sent == before && r.opt.ClientGone() {
			r.goneOnce.Do(func() {
				r.log.Warn("the client has gone, and the server does not read")
				close(r.gone)
			})
			return
		}
		before = sent
	}
}

// queue gives the server's reader a way to the server.
func (r *Relay) queue(frame []byte) {
	select {
	case r.toServer <- frame:
	default:
		r.log.Error("the server does not read: a message to it is dropped", "server", r.opt.Upstream)
	}
}

func (r *Relay) queueToServer(stop <-chan struct{}) {
	for {
		select {
		case f := <-r.toServer:
			r.send(f)
		case <-stop:
			return
		}
	}
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
	if r.draining && r.open == 0 {
		close(r.idle)
	}
}

// ownID is an id for a request of the gateway's own: of the kind that the client uses,
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
