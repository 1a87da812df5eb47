package upstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sallyport-dev/sallyport/internal/lograte"
	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/internal/stdio"
	"github.com/sallyport-dev/sallyport/internal/streamhttp"
)

const (
	// exitWait is how long a process that closed its output may take to end, so that it can be
	// said how.
	exitWait = 300 * time.Millisecond
	// unreadWait is how long answers are still read from a process that takes no more input.
	unreadWait = time.Second
)

// process is the wire to a child process: one reader, one writer.
type process struct {
	c       *conversation
	child   *stdio.Child
	queue   *queue
	reading chan struct{} // closed when the reader has returned
	batches atomic.Bool   // a version that has batches is in force
	stopper sync.Once
}

// startProcess starts the server's command.
func (s *Server) startProcess(beside func(mcp.Message)) (*conversation, error) {
	o := s.opt
	child, err := stdio.Start(stdio.Command{
		Path: o.Command, Args: o.Args, Env: o.Env, Dir: o.Dir, Log: s.log,
		Stderr: func(line string) { s.log.Info("the server's standard error", "line", line) },
	})
	if err != nil {
		return nil, err
	}
	c := newConversation(s, beside)
	p := &process{c: c, child: child, reading: make(chan struct{})}
	c.wire = p
	p.queue = newQueue(stdio.NewWriter(child.In), func(err error) {
		time.AfterFunc(unreadWait, func() { c.end(err) })
	})
	go p.read()
	return c, nil
}

func (p *process) ready(era Era, version string) {
	p.batches.Store(era == Handshake && version == mcp.V20250326)
}

// read is the one reader of the child's output.
func (p *process) read() {
	defer close(p.reading)
	r := stdio.NewReader(p.child.Out, p.c.s.opt.MaxMessage)
	for {
		frame, err := r.Next()
		var large *stdio.TooLarge
		switch {
		case errors.As(err, &large):
			p.tooLarge(large)
		case err == io.EOF:
			p.c.end(p.howEnded())
			return
		case err != nil:
			p.c.end(fmt.Errorf("%w: its output cannot be read", ErrDied))
			return
		default:
			p.takeFrame(frame)
		}
	}
}

// howEnded says how the process ended.
func (p *process) howEnded() error {
	t := time.NewTimer(exitWait)
	defer t.Stop()
	select {
	case <-p.child.Done():
		return fmt.Errorf("%w: the process ended (%v)", ErrDied, p.child.State())
	case <-t.C:
		return fmt.Errorf("%w: the process closed its output", ErrDied)
	}
}

func (p *process) takeFrame(frame []byte) {
	if trimmed := bytes.TrimSpace(frame); p.batches.Load() && trimmed[0] == '[' {
		elements, err := streamhttp.SplitBatch(trimmed)
		if err == nil {
			for _, e := range elements {
				p.takeMessage(e)
			}
			return
		}
	}
	p.takeMessage(frame)
}

func (p *process) takeMessage(frame []byte) {
	m, bad := mcp.Parse(frame)
	switch {
	case bad != nil:
		p.broken(bad)
	case m.Kind == mcp.Response:
		p.answered(m.ID, outcome{m: m})
	default:
		p.c.hand(m, nil, true)
		if r := p.c.unsubscribed(m); r != nil {
			r.settle(outcome{err: ErrUnsubscribed})
		}
	}
}

// answered settles the request with that id. An error without an id answers the only
// request that is open: nobody else can have caused it.
func (p *process) answered(id mcp.ID, o outcome) {
	if id.IsZero() {
		if r := p.c.table.only(); r != nil {
			r.settle(outcome{err: fmt.Errorf("%w: an error without an id", ErrBadAnswer)})
			return
		}
	}
	r, late := p.c.table.answered(id)
	switch {
	case r != nil:
		r.settle(o)
	case late:
		p.c.s.log.Debug("dropped the answer to a request that was cancelled")
	default:
		p.c.s.log.Warn("dropped a response that answers nothing")
	}
}

// broken ends whatever waits for a frame that is no message.
func (p *process) broken(bad *mcp.ParseError) {
	p.c.s.log.Warn("dropped a message that is not valid", "reason", bad.Error())
	switch {
	case bad.ID.IsZero() || bad.Kind == mcp.Notification:
	case bad.Kind == mcp.Request:
		p.queue.force(mcp.ErrorResponse(bad.ID, bad.Code, mcp.Said+bad.Reason, nil))
	default:
		p.answered(bad.ID, outcome{err: fmt.Errorf("%w: %w", ErrBadAnswer, bad)})
	}
}

// tooLarge ends whatever waits for a frame that was skipped.
func (p *process) tooLarge(e *stdio.TooLarge) {
	p.c.s.log.Warn("skipped a message that is over the limit", "bytes", e.Size)
	id, err := mcp.ParseID(e.ID)
	switch {
	case err != nil:
	case e.Method:
		p.queue.force(mcp.ErrorResponse(id, mcp.CodeInvalidRequest, mcp.Said+"the message is over the limit", nil))
	default:
		p.answered(id, outcome{err: fmt.Errorf("%w: %d bytes", ErrTooLarge, e.Size)})
	}
}

// do is that of wire. When ctx ends, the server is told once (2025-11-25 and 2026-07-28,
// "Cancellation"), unless it never saw the request.
func (p *process) do(ctx context.Context, r *request) (mcp.Message, error) {
	if err := p.queue.put(ctx, p.c.ended, r.m.Raw, r); err != nil {
		p.c.table.remove(r, false)
		return mcp.Message{}, p.c.because(err)
	}
	select {
	case o := <-r.answer:
		p.c.table.remove(r, errors.Is(o.err, ErrUnsubscribed)) // which may still be answered
		return o.m, o.err
	case <-p.c.ended:
		p.c.table.remove(r, false)
		select {
		case o := <-r.answer: // it came last
			return o.m, o.err
		default:
			return mcp.Message{}, p.c.Err()
		}
	case <-ctx.Done():
		unsent := p.queue.take(r)
		p.c.table.remove(r, !unsent)
		if !unsent && mayCancel(r.m) {
			p.queue.force(cancelled(ctx, r.m.ID))
		}
		return mcp.Message{}, context.Cause(ctx)
	}
}

func (p *process) send(ctx context.Context, m mcp.Message) error {
	return p.c.because(p.queue.put(ctx, p.c.ended, m.Raw, nil))
}

// because returns why the conversation is over instead of ErrClosed.
func (c *conversation) because(err error) error {
	if errors.Is(err, ErrClosed) {
		if own := c.Err(); own != nil {
			return own
		}
	}
	return err
}

// stop ends the child and all that it started.
func (p *process) stop(ctx context.Context) {
	p.stopper.Do(func() { close(p.queue.stop) })
	state := p.child.Stop(ctx)
	if state == nil {
		p.c.s.log.Error("the process could not be ended", "pid", p.child.Pid())
		return
	}
	<-p.reading
	<-p.queue.done
}

// logFor adds the server's name to each line, and bounds how many there are of a kind.
func logFor(log *slog.Logger, name string) *slog.Logger {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return lograte.New(log.With("upstream", quote.Text(name, 64)))
}
