package relay

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/internal/stdio"
)

// Ending says which end of a relay over pipes ended it.
type Ending int

const (
	ClientEnded Ending = iota + 1 // end of input, or the client reads no more
	ServerEnded                   // the server closed its output or its input
	Stopped                       // the context was cancelled
)

// PipeOptions are those of a relay between two pairs of pipes. ToClient, ToServer and Queue
// are set by NewPipes; the four ends are required.
type PipeOptions struct {
	Options

	ClientIn  io.Reader
	ClientOut io.Writer
	ServerIn  io.Writer
	ServerOut io.Reader

	// ClientGone reports that the client has closed its end of ClientIn, read to the end or
	// not. It is asked only while the server does not read. nil: not known.
	ClientGone func() bool

	// HowServerEnded says, after ServerOut ended, how: "exit status 1". nil: not known.
	HowServerEnded func() string

	Drain time.Duration // how long open calls may go on after the client's end of input; default 30 s
	// Farewell is how long, at the end, the last answers wait for a client that does not
	// read them. Default 1 s.
	Farewell time.Duration
}

// Limits of the pipes.
const (
	watchEvery     = 2 * time.Second // how often a client is looked after whose reader is held up
	maxBeside      = 4               // outputs recorded beside the server's reader at once; with more the server waits
	maxServerQueue = 1_024           // messages to the server that its own reader caused
)

// Pipes is a relay between a client and a server that are reached through pipes, one frame
// a line. Use NewPipes and Run once.
//
// One goroutine reads the client, one reads the server. The server's reader never writes to
// the server: a child that waits for its output to be read would wait for ever. What must
// go there from it goes through a queue.
type Pipes struct {
	relay  *Relay
	log    *slog.Logger
	opt    PipeOptions
	client *stdio.Writer
	server *stdio.Writer

	queued chan []byte   // from the server's reader
	lost   chan struct{} // closed when the server's input failed
	gone   chan struct{} // closed when the client's output failed
	beside chan struct{} // holds one for each output being recorded beside the reader

	sending atomic.Int32 // writes to the server that are under way
	sent    atomic.Int64 // and those that are done

	lostOnce, goneOnce sync.Once
}

// NewPipes starts a relay between pipes.
func NewPipes(opt PipeOptions) *Pipes {
	if opt.Drain == 0 {
		opt.Drain = 30 * time.Second
	}
	if opt.Farewell == 0 {
		opt.Farewell = time.Second
	}
	p := &Pipes{
		client: stdio.NewWriter(opt.ClientOut), server: stdio.NewWriter(opt.ServerIn),
		queued: make(chan []byte, maxServerQueue), lost: make(chan struct{}), gone: make(chan struct{}),
		beside: make(chan struct{}, maxBeside),
	}
	opt.ToClient = func(m mcp.Message, _ mcp.ID) { p.writeClient(m.Raw) }
	opt.ToServer = func(m mcp.Message) { p.writeServer(m.Raw) }
	opt.Queue = p.queue
	p.relay = New(opt.Options)
	opt.Options = p.relay.opt // with its defaults
	p.opt, p.log = opt, opt.Log
	return p
}

// Run relays until one end ends or ctx is cancelled. When it returns, every request that
// was not cancelled has its answer, as far as the client still reads. The readers may
// still block in ClientIn or ServerOut: the caller closes those.
func (p *Pipes) Run(ctx context.Context) Ending {
	defer p.relay.recordEnd()

	clientDone, serverDone := make(chan error, 1), make(chan error, 1)
	stop := make(chan struct{})
	defer close(stop)
	go p.sendQueued(stop)
	if p.opt.ClientGone != nil {
		go p.watchClient(stop)
	}
	go func() { serverDone <- p.readServer(ctx) }()
	go func() { clientDone <- p.readClient(ctx) }()

	select {
	case err := <-clientDone:
		if err != nil {
			p.log.Warn("reading from the client failed", "error", err)
		}
		return p.drain(ctx, serverDone)
	case <-p.gone:
		p.farewell(ctx, "the client reads no more", p.opt.Farewell)
		return ClientEnded
	case err := <-serverDone:
		return p.serverEnded(ctx, err)
	case <-p.lost:
		return p.serverLost(ctx, serverDone)
	case <-ctx.Done():
		p.farewell(ctx, "the gateway is stopping", p.opt.Farewell)
		return Stopped
	}
}

// readClient reads until end of input.
func (p *Pipes) readClient(ctx context.Context) error {
	in := stdio.NewReader(p.opt.ClientIn, p.opt.MaxMessage)
	for {
		frame, err := in.Next()
		var large *stdio.TooLarge
		switch {
		case errors.As(err, &large):
			p.clientTooLarge(large)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		default:
			if m, bad := mcp.Parse(frame); bad != nil {
				p.relay.BadFromClient(bad)
			} else {
				p.relay.FromClient(ctx, m)
			}
		}
	}
}

func (p *Pipes) clientTooLarge(e *stdio.TooLarge) {
	p.log.Warn("a message of the client is too large", "bytes", e.Size, "max", p.opt.MaxMessage)
	if bad := e.Refused(); bad != nil {
		p.relay.BadFromClient(bad)
	}
}

// readServer reads until the server's output ends.
func (p *Pipes) readServer(ctx context.Context) error {
	in := stdio.NewReader(p.opt.ServerOut, p.opt.MaxMessage)
	for {
		frame, err := in.Next()
		var large *stdio.TooLarge
		switch {
		case errors.As(err, &large):
			p.serverTooLarge(large)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		default:
			p.serverFrame(ctx, frame)
		}
	}
}

func (p *Pipes) serverFrame(ctx context.Context, frame []byte) {
	m, bad := mcp.Parse(frame)
	if bad != nil {
		p.relay.BadFromServer(bad, frame)
		return
	}
	c, m := p.relay.fromServer(ctx, m, mcp.ID{})
	if c == nil {
		return
	}
	if len(m.Raw) <= inlineOutput {
		p.relay.answer(c, m)
		return
	}
	// Its recording takes milliseconds: other calls' answers go on meanwhile.
	select {
	case p.beside <- struct{}{}:
		go func() {
			defer func() { <-p.beside }()
			p.relay.answer(c, m)
		}()
	default: // enough are held in memory
		p.relay.answer(c, m)
	}
}

func (p *Pipes) serverTooLarge(e *stdio.TooLarge) {
	p.log.Warn("a message of the server is too large", "bytes", e.Size, "max", p.opt.MaxMessage)
	id, _ := mcp.ParseID(e.ID)
	bad := &mcp.ParseError{Code: mcp.CodeInvalidRequest, ID: id, Reason: "the message is too large", Kind: mcp.Response}
	if e.Method {
		bad.Kind = mcp.Request
	}
	p.relay.unreadable(bad)
}

// writeClient writes one message. A client that reads no more ends the relay.
func (p *Pipes) writeClient(frame []byte) {
	if err := p.client.Write(frame); err != nil {
		p.goneOnce.Do(func() {
			p.log.Warn("the client cannot be written to", "error", err)
			close(p.gone)
		})
	}
}

// writeServer writes one message to the server. Not for the server's reader.
func (p *Pipes) writeServer(frame []byte) {
	p.sending.Add(1)
	defer p.sending.Add(-1)
	err := p.server.Write(frame)
	p.sent.Add(1)
	if err != nil {
		p.lostOnce.Do(func() {
			p.log.Warn("the server cannot be written to", "error", err)
			close(p.lost)
		})
	}
}

// queue gives the server's reader a way to the server.
func (p *Pipes) queue(m mcp.Message) {
	select {
	case p.queued <- m.Raw:
	default:
		p.log.Error("the server does not read: a message to it is dropped", "server", quote.Text(p.opt.Upstream, 64))
	}
}

func (p *Pipes) sendQueued(stop <-chan struct{}) {
	for {
		select {
		case f := <-p.queued:
			p.writeServer(f)
		case <-stop:
			return
		}
	}
}

// watchClient looks after a client that died while a server that does not read holds up
// the reader of its input: the end of that input would never be seen.
func (p *Pipes) watchClient(stop <-chan struct{}) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	before := int64(-1)
	for {
		select {
		case <-tick.C:
		case <-stop:
			return
		}
		sent := p.sent.Load()
		if p.sending.Load() > 0 && sent == before && p.opt.ClientGone() {
			p.goneOnce.Do(func() {
				p.log.Warn("the client has gone, and the server does not read")
				close(p.gone)
			})
			return
		}
		before = sent
	}
}
