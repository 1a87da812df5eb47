package decide

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/quote"
)

// Bounds of a stream.
const (
	MaxLine      = 16 << 20 // bytes of a line without its end, by default
	MaxSessions  = 10_000   // open at once
	MaxOpen      = 4096     // calls of one session that are open: asked, or without a result
	MaxHeld      = 64 << 20 // bytes of the lines of all calls that are open
	MaxUpstreams = 256      // of which tools are listed
)

const (
	flushAt   = 64 << 10 // bytes of output that are kept while more input is at hand
	maxNotice = 1000     // different notices that are logged
)

// Options say what a stream reads, writes and decides by. In, Out, Log and Engine are
// required.
type Options struct {
	In  io.Reader
	Out io.Writer
	Log *slog.Logger
	// Engine makes the engine of one session, with this store, from what the caller is
	// bound to. Its error is told to the program, so it has to be safe to print.
	Engine func(caller string, store sallyport.Store) (*sallyport.Engine, error)
	// Unknown says why the configuration knows no upstream of that name, "" if it does.
	Unknown func(upstream string) string
	// Audit is where verdicts are recorded; nil: nowhere. What cannot be recorded is
	// refused unless AuditContinue is set. ID names this run there.
	Audit         *audit.Log
	AuditContinue bool
	ID            string
	MaxLine       int // bytes; 0: MaxLine
}

// Run decides until the input ends; then it returns nil. An error is of the input or the
// output, not of a line.
func Run(ctx context.Context, opt Options) error {
	if opt.MaxLine <= 0 {
		opt.MaxLine = MaxLine
	}
	s := newStream(opt)
	defer s.endAll()
	in := newLines(opt.In, opt.MaxLine, s.flush)
	for {
		line, long, err := in.next()
		if errors.Is(err, errOutput) {
			return err
		}
		if err != nil {
			if ferr := s.flush(); ferr != nil {
				return ferr
			}
			if err == io.EOF {
				return nil
			}
			return fmt.Errorf("standard input: %w", err)
		}
		s.line(ctx, line, long, in.number)
		if len(s.out) >= flushAt {
			if err := s.flush(); err != nil {
				return err
			}
		}
	}
}

// stream is one run. It is used by one goroutine.
type stream struct {
	opt      Options
	shared   sallyport.Store // rate limits
	sessions map[string]*session
	lists    map[string]toolList
	held     int // bytes of the lines of the calls that are open
	noticed  map[string]bool
	out      []byte
}

// toolList is what an upstream listed last.
type toolList struct {
	tools []contract.Tool
	shown doc.Value // the result of tools/list
}

func newStream(opt Options) *stream {
	return &stream{
		opt: opt, shared: sallyport.NewMemoryStore(nil),
		sessions: make(map[string]*session), lists: make(map[string]toolList), noticed: make(map[string]bool),
	}
}

var errOutput = errors.New("standard output")

// flush writes what was decided so far.
func (s *stream) flush() error {
	if len(s.out) == 0 {
		return nil
	}
	_, err := s.opt.Out.Write(s.out)
	s.out = s.out[:0]
	if cap(s.out) > keepSpace {
		s.out = nil
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errOutput, err)
	}
	return nil
}

// endAll ends the sessions that are still open.
func (s *stream) endAll() {
	for _, t := range s.sessions {
		s.recordSession(t, "end")
	}
}

// line takes one line on, and refuses what it cannot do.
func (s *stream) line(ctx context.Context, line []byte, long bool, number int64) {
	var m message
	var err error
	switch {
	case long:
		m, err = skim(line), fmt.Errorf("the line is longer than %d bytes", s.opt.MaxLine)
	case blank(line):
		return
	default:
		if m, err = parse(line); err != nil && m.op == "" {
			m = skim(line)
		}
	}
	if err == nil {
		err = s.do(ctx, &m, len(line))
	}
	if err == nil {
		return
	}
	s.lose(m)
	s.out = appendError(s.out, err.Error(), number, m)
}

// do does what a message says. An error has changed nothing.
func (s *stream) do(ctx context.Context, m *message, size int) error {
	switch m.op {
	case "tools":
		return s.tools(m)
	case "session":
		return s.open(m)
	}
	t := s.sessions[m.session]
	if t == nil {
		return fmt.Errorf("session %s is not open", quote.Value(m.session, maxShown))
	}
	switch m.op {
	case "prompt":
		t.session.Prompt(m.text)
	case "call":
		return s.call(ctx, t, m, size)
	case "result":
		return s.result(t, m)
	case "answer":
		return s.answer(ctx, t, m)
	case "end":
		for _, c := range t.calls {
			s.held -= c.size
		}
		delete(s.sessions, m.session)
		s.recordSession(t, "end")
	}
	return nil
}

// tools tells every session, also those that are opened later, what an upstream lists.
// The list is output, too: the agent reads it.
func (s *stream) tools(m *message) error {
	if _, known := s.lists[m.upstream]; !known && len(s.lists) >= MaxUpstreams {
		return fmt.Errorf("%d upstreams have listed tools; more are not read", MaxUpstreams)
	}
	for i := range m.tools {
		m.tools[i].Upstream = m.upstream
	}
	shown, err := doc.FromGo(map[string]any{"tools": m.list})
	if err != nil {
		return err
	}
	if s.opt.Unknown != nil {
		s.notice(contract.Notice{Text: s.opt.Unknown(m.upstream), Warning: true})
	}
	l := toolList{m.tools, shown}
	s.lists[m.upstream] = l
	for _, t := range s.sessions {
		s.pin(t, m.upstream, l)
	}
	return nil
}

func (s *stream) pin(t *session, upstream string, l toolList) {
	for _, n := range t.session.Pin(upstream, l.tools) {
		s.notice(n)
	}
	t.session.Observe(sallyport.Output{Upstream: upstream, Tool: "tools/list", Value: l.shown})
}

// notice logs what a list of tools gives rise to, once and not for each session.
func (s *stream) notice(n contract.Notice) {
	if n.Text == "" || s.noticed[n.Text] || len(s.noticed) >= maxNotice {
		return
	}
	s.noticed[n.Text] = true
	level := slog.LevelInfo
	if n.Warning {
		level = slog.LevelWarn
	}
	s.opt.Log.Log(context.Background(), level, n.Text)
}

// lose notes that the result of a call that ran could not be read. What it showed is not
// in the ledger, so nothing more runs in that session until it is.
func (s *stream) lose(m message) {
	t := s.sessions[m.session]
	if m.op != "result" || t == nil || m.id.IsZero() {
		return
	}
	if c := t.calls[m.id.Key()]; c != nil && !c.asking && !c.lost {
		c.lost = true
		t.lost = append(t.lost, m.id)
	}
}

// lostResult says that a session waits for a result.
func lostResult(id mcp.ID) error {
	return fmt.Errorf("the result of call %s could not be read, so what it showed is not known: send it again, or end the session",
		quote.Text(id.Raw(), maxShown))
}
