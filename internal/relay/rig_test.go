package relay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/confine/osresolve"
	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/internal/approval"
	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// rig is a relay between a client and a server that the test plays.
type rig struct {
	t       *testing.T
	relay   *Relay
	pipes   *Pipes
	log     *lockedBuffer
	auditAt string
	audit   *audit.Log
	store   *approval.Store // where rigOptions.asks is set
	desk    *approval.Desk

	clientIn  *io.PipeWriter
	fromRelay chan string // what the client hears
	serverOut *io.PipeWriter
	serverIn  *io.PipeReader
	toServer  chan string // what the server hears, but for what answers automatically

	cancel  context.CancelFunc
	ended   chan Ending
	hangUp  func()        // closes what the relay writes to, and waits until all of it was heard
	allRead chan struct{} // closed when the relay has seen the client's end of input
}

// endReader tells when its reader has seen the end: everything before it was then dealt with.
type endReader struct {
	io.Reader
	once sync.Once
	end  chan struct{}
}

func (e *endReader) Read(p []byte) (int, error) {
	n, err := e.Reader.Read(p)
	if err != nil {
		e.once.Do(func() { close(e.end) })
	}
	return n, err
}

type rigOptions struct {
	config   string // YAML
	tools    string // the server's tool list, JSON; "" for a default
	manual   bool   // the test answers the gateway's own tools/list itself
	noAudit  bool
	options  func(*PipeOptions)
	engine   func(*sallyport.Options)
	settings contract.Options
	asks     func(*approval.DeskOptions) // the user can be asked; see asking
}

// asking lets the user be asked, by the defaults.
func asking(*approval.DeskOptions) {}

const defaultTools = `[
 {"name":"read_ticket","inputSchema":{"type":"object","properties":{"id":{"type":"string"}}}},
 {"name":"send_email","inputSchema":{"type":"object","properties":{"to":{"type":"string"},"body":{"type":"string"}}}},
 {"name":"write_file","inputSchema":{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}}}},
 {"name":"delete_customer","inputSchema":{"type":"object","properties":{"id":{"type":"integer"}}}},
 {"name":"echo","inputSchema":{"type":"object"}}]`

// plainTools turns everything off for tools that a test only uses to relay.
const plainTools = "\n  read_ticket: {max_calls: 1000000}\n  echo: {max_calls: 1000000}\n"

func newRig(t *testing.T, o rigOptions) *rig {
	t.Helper()
	g := &rig{t: t, log: &lockedBuffer{}, fromRelay: make(chan string, 10_000), toServer: make(chan string, 10_000), ended: make(chan Ending, 1), allRead: make(chan struct{})}
	if o.config == "" {
		o.config = "version: 1\ntools:" + plainTools
	}
	cfg, err := config.Load("test.yaml", []byte(o.config), config.Options{Contracts: o.settings})
	if err != nil {
		t.Fatal(err)
	}
	pol, err := cfg.Policy("")
	if err != nil {
		t.Fatal(err)
	}
	set, err := contract.NewSet(cfg.Contracts, o.settings)
	if err != nil {
		t.Fatal(err)
	}
	eo := sallyport.Options{Policy: pol, Contracts: set, DryRun: cfg.Mode == config.DryRun, Resolve: osresolve.Resolve}
	if o.engine != nil {
		o.engine(&eo)
	}
	engine, err := sallyport.New(eo)
	if err != nil {
		t.Fatal(err)
	}
	session, err := engine.Session(sallyport.SessionOptions{Caller: "local", Doubt: "s"})
	if err != nil {
		t.Fatal(err)
	}
	clientIn, clientInW := io.Pipe()
	clientOutR, clientOut := io.Pipe()
	serverIn, serverInW := io.Pipe()
	serverOutR, serverOut := io.Pipe()
	g.clientIn, g.serverOut, g.serverIn = clientInW, serverOut, serverIn
	opt := PipeOptions{
		Options: Options{
			Session: session, Policy: pol, DryRun: eo.DryRun, Caller: "local", SessionID: "s", Upstream: "srv",
			Log: slog.New(slog.NewTextHandler(g.log, &slog.HandlerOptions{Level: slog.LevelDebug})), AuditContinue: cfg.Audit.ContinueOnFailed,
		},
		ClientIn: &endReader{Reader: clientIn, end: g.allRead}, ClientOut: clientOut, ServerIn: serverInW, ServerOut: serverOutR,
	}
	if !o.noAudit {
		g.auditAt = filepath.Join(t.TempDir(), "audit", "audit.jsonl")
		if g.audit, err = audit.Open(g.auditAt, audit.Options{}); err != nil {
			t.Fatal(err)
		}
		opt.Audit = g.audit
	}
	if o.asks != nil {
		dir := t.TempDir()
		if err := os.Chmod(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		g.store = approval.NewStore(approval.StoreOptions{Dir: dir, LockWait: patience})
		do := approval.DeskOptions{Caller: "local", Session: t.Name(), Record: func(r audit.Record) error {
			if g.audit == nil {
				return nil
			}
			_, err := g.audit.Append(r)
			return err
		}}
		o.asks(&do)
		g.desk = approval.NewDesk(g.store, do)
		opt.Desk, opt.Decides = g.desk, "p1"
	}
	if o.options != nil {
		o.options(&opt)
	}
	if o.tools == "" {
		o.tools = defaultTools
	}
	g.pipes = NewPipes(opt)
	g.relay = g.pipes.relay
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		lines(clientOutR, func(f string) { g.fromRelay <- f })
	}()
	g.hangUp = func() {
		clientOut.Close()
		<-heard
	}
	go lines(serverIn, func(f string) {
		if m, bad := mcp.Parse([]byte(f)); bad == nil && m.Method == "tools/list" && !o.manual {
			g.server(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":%s}}`, m.ID.Raw(), strings.ReplaceAll(o.tools, "\n", "")))
			return
		}
		g.toServer <- f
	})
	ctx, cancel := context.WithCancel(context.Background())
	g.cancel = cancel
	go func() { g.ended <- g.pipes.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		for _, c := range []io.Closer{clientInW, clientOutR, serverIn, serverOut} {
			c.Close()
		}
		for end := time.Now().Add(patience); g.relay.asking.Load() > 0; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Error("a call is still being asked about")
				break
			}
		}
		if g.audit != nil {
			g.audit.Close()
			wantSchema(t, g.auditAt)
		}
	})
	return g
}

func lines(r io.Reader, each func(string)) {
	var rest []byte
	buf := make([]byte, 1<<20)
	for {
		n, err := r.Read(buf)
		rest = append(rest, buf[:n]...)
		for {
			i := bytes.IndexByte(rest, '\n')
			if i < 0 {
				break
			}
			each(string(rest[:i]))
			rest = rest[i+1:]
		}
		if err != nil {
			return
		}
	}
}

// client sends a frame as the client, server as the server.
func (g *rig) client(frame string) {
	g.t.Helper()
	if _, err := io.WriteString(g.clientIn, frame+"\n"); err != nil {
		g.t.Errorf("the relay reads no more from the client: %v", err)
	}
}

func (g *rig) server(frame string) {
	g.t.Helper()
	if _, err := io.WriteString(g.serverOut, frame+"\n"); err != nil && !errors.Is(err, io.ErrClosedPipe) {
		g.t.Errorf("the relay reads no more from the server: %v", err)
	}
}

const patience = 20 * time.Second

func (g *rig) next(from chan string, who string) string {
	g.t.Helper()
	select {
	case f := <-from:
		return f
	case <-time.After(patience):
		g.t.Fatalf("the %s hears nothing; log:\n%s", who, g.log)
		return ""
	}
}

func (g *rig) clientHears() string { g.t.Helper(); return g.next(g.fromRelay, "client") }
func (g *rig) serverHears() string { g.t.Helper(); return g.next(g.toServer, "server") }

func (g *rig) clientWants(want string) {
	g.t.Helper()
	if got := g.clientHears(); got != want {
		g.t.Fatalf("client hears\n%s\nwant\n%s", brief(got), brief(want))
	}
}

func (g *rig) serverWants(want string) {
	g.t.Helper()
	if got := g.serverHears(); got != want {
		g.t.Fatalf("server hears\n%s\nwant\n%s", brief(got), brief(want))
	}
}

func brief(s string) string {
	if len(s) > 600 {
		return fmt.Sprintf("%s…%s (%d bytes)", s[:300], s[len(s)-100:], len(s))
	}
	return s
}

// quiet proves that nothing is on its way: a ping goes through after it, both ways.
func (g *rig) quiet() {
	g.t.Helper()
	const ping = `{"jsonrpc":"2.0","id":"quiet","method":"ping"}`
	g.client(ping)
	g.serverWants(ping)
	const pong = `{"jsonrpc":"2.0","id":"quiet","result":{}}`
	g.server(pong)
	g.clientWants(pong)
}

// call sends a tools/call.
func (g *rig) call(id any, tool, args string) {
	g.t.Helper()
	g.client(callFrame(id, tool, args))
}

func callFrame(id any, tool, args string) string {
	raw, err := json.Marshal(id)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, raw, tool, args)
}

func textResult(id any, text string) string {
	raw, _ := json.Marshal(id)
	t, _ := json.Marshal(text)
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%s}]}}`, raw, t)
}

// answered calls a tool, lets the server answer with text, and checks that it arrives.
func (g *rig) answered(id any, tool, args, text string) {
	g.t.Helper()
	g.call(id, tool, args)
	g.serverWants(callFrame(id, tool, args))
	g.server(textResult(id, text))
	g.clientWants(textResult(id, text))
}

// refused checks that the client hears a refusal by a check, and returns its text.
func (g *rig) refused(id any, check string) string {
	g.t.Helper()
	f := g.clientHears()
	var m struct {
		ID     any
		Result struct {
			IsError bool
			Content []struct{ Text string }
			Meta    map[string]struct{ Verdict, Check string } `json:"_meta"`
		}
	}
	if err := json.Unmarshal([]byte(f), &m); err != nil {
		g.t.Fatal(err)
	}
	d := m.Result.Meta["io.sallyport/decision"]
	if fmt.Sprint(m.ID) != fmt.Sprint(id) || !m.Result.IsError || len(m.Result.Content) != 1 || d.Check != check {
		g.t.Fatalf("client hears\n%s\nwant a refusal of %v by %s", brief(f), id, check)
	}
	if check == "approval" && d.Verdict != "deny" {
		g.t.Fatalf("client hears\n%s\nwhich is no refusal for good", brief(f))
	}
	text := m.Result.Content[0].Text
	if !strings.HasPrefix(text, "[sallyport blocked] ") {
		g.t.Fatalf("refusal reads %q", text)
	}
	return text
}

// wantError checks that the client hears an error for an id, with a code.
func (g *rig) wantError(id string, code int) string {
	g.t.Helper()
	f := g.clientHears()
	var m struct {
		ID    json.RawMessage
		Error struct {
			Code    int
			Message string
		}
	}
	if err := json.Unmarshal([]byte(f), &m); err != nil {
		g.t.Fatal(err)
	}
	if string(m.ID) != id || m.Error.Code != code {
		g.t.Fatalf("client hears\n%s\nwant error %d for %s", brief(f), code, id)
	}
	return m.Error.Message
}

func (g *rig) waitEnd(want Ending) {
	g.t.Helper()
	select {
	case got := <-g.ended:
		if got != want {
			g.t.Fatalf("the relay ended with %v, want %v", got, want)
		}
	case <-time.After(patience):
		g.t.Fatalf("the relay does not end; log:\n%s", g.log)
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
