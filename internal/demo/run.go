package demo

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Options of [Run].
type Options struct {
	// Exe is the sallyport binary: it runs the gateway and, through the hidden
	// command __demo-server, the helpdesk's server.
	Exe string
	// Wait makes the demo stop for a line on In between its acts.
	Wait bool
	// Keep leaves the run's directory and says where it is.
	Keep bool
	// Colour uses ANSI colours on Out.
	Colour bool

	In  io.Reader
	Out io.Writer
}

// actTime bounds one run of the script, the start of its processes included.
const actTime = time.Minute

// ErrWorld reports that a run left a world that is not as it should be.
var ErrWorld = errors.New("the world is not as it should be")

// Run plays the story and prints it. It returns nil only if both worlds came out as
// they should and the log of the second run verifies.
func Run(ctx context.Context, opt Options) (err error) {
	base, err := os.MkdirTemp("", "sallyport-demo-")
	if err != nil {
		return err
	}
	// On some systems the temporary directory is reached through a symbolic link;
	// the story's paths are shown and compared, so they are the real ones.
	if base, err = filepath.EvalSymlinks(base); err != nil {
		return err
	}
	o := &out{w: opt.Out, colour: opt.Colour}
	defer func() {
		if opt.Keep {
			o.line("", "Kept: "+base)
			return
		}
		err = errors.Join(err, os.RemoveAll(base))
	}()

	s := stage{opt: opt, out: o, gate: filepath.Join(base, "gateway"), in: bufio.NewReader(opt.In)}
	without, with := placesIn(filepath.Join(base, "without")), placesIn(filepath.Join(base, "with"))
	if err := s.prepare(without, with); err != nil {
		return err
	}
	return s.play(ctx, without, with)
}

// stage holds what both acts share.
type stage struct {
	opt  Options
	out  *out
	gate string // directory of the gateway's own files
	in   *bufio.Reader

	shown bool // the poisoned ticket was shown once
}

func (s *stage) prepare(without, with places) error {
	if err := errors.Join(lay(without), lay(with), os.MkdirAll(s.gate, 0o700)); err != nil {
		return err
	}
	return os.WriteFile(s.config(), []byte(configFor(with)), 0o600)
}

func (s *stage) config() string { return filepath.Join(s.gate, "demo.yaml") }
func (s *stage) log() string    { return filepath.Join(s.gate, "audit.jsonl") }

// configFor is the file that guards the second run. A JSON string is a YAML string.
func configFor(p places) string {
	workspace, _ := json.Marshal(p.workspace)
	return `version: 1
tools:
  send_email:
    exfiltrating: true
    sink_params: [to]
    trusted_destinations: ["` + trustedDomain + `"]
  write_file:
    write_params: [path]
    allowed_path_prefixes: [` + string(workspace) + `]
  delete_customer:
    max_calls: 2
`
}

func (s *stage) play(ctx context.Context, without, with places) error {
	o := s.out
	o.line("bold", "A helpdesk agent reads a poisoned ticket.")
	o.para(0, "The agent is a script, no model: it does what an agent would do that believes "+
		"everything it reads. Its tools are a real MCP server that changes real files in a "+
		"temporary directory. It makes the same calls in both runs.")

	o.head("1. The tools in the agent's own hands")
	if err := s.act(ctx, without, s.opt.Exe, "__demo-server", "--dir", without.dir); err != nil {
		return fmt.Errorf("without sallyport: %w", err)
	}
	if err := s.pause(ctx); err != nil {
		return err
	}

	o.head("2. The same tools behind sallyport wrap")
	o.para(0, "These contracts say what the tools do. Nobody told the gateway about the ticket.")
	o.quote(configFor(with))
	if err := s.act(ctx, with, s.opt.Exe, "wrap", "-c", s.config(), "--audit", s.log(),
		"--", s.opt.Exe, "__demo-server", "--dir", with.dir); err != nil {
		return fmt.Errorf("with sallyport: %w", err)
	}
	if err := s.pause(ctx); err != nil {
		return err
	}

	o.head("3. The world afterwards, as it is on disk")
	return s.compare(without, with)
}

// act runs the script against one server command.
func (s *stage) act(ctx context.Context, p places, command string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, actTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, command, args...)
	// Whatever the gateway keeps between sessions belongs to this run alone.
	cmd.Env = append(os.Environ(),
		"XDG_STATE_HOME="+filepath.Join(s.gate, "state"), "XDG_CONFIG_HOME="+filepath.Join(s.gate, "config"))
	var stderr strings.Builder
	cmd.Stderr = &tail{b: &stderr}

	client := mcp.NewClient(&mcp.Implementation{Name: "sallyport-demo-agent", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		return fmt.Errorf("the server did not start: %w\n%s", err, show(stderr.String()))
	}
	for i, st := range script(p) {
		st.whole = st.whole && !s.shown
		if err = s.step(ctx, session, i+1, st); err != nil {
			break
		}
	}
	s.shown = true
	if closed := session.Close(); err == nil && closed != nil {
		err = fmt.Errorf("closing the session: %w", closed)
	}
	if err != nil {
		return fmt.Errorf("%w\n%s", err, show(stderr.String()))
	}
	return nil
}

// step makes one call. A refusal is an answer, not an error.
func (s *stage) step(ctx context.Context, session *mcp.ClientSession, n int, st step) error {
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: st.tool, Arguments: st.arguments()})
	if err != nil {
		return fmt.Errorf("%s: %w", st.tool, err)
	}
	s.out.step(n, st, text(res), res.IsError)
	return nil
}

func text(res *mcp.CallToolResult) string {
	var parts []string
	for _, c := range res.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			parts = append(parts, t.Text)
		}
	}
	return strings.Join(parts, "\n")
}

func (s *stage) compare(without, with places) error {
	a, err := look(without)
	if err != nil {
		return err
	}
	b, err := look(with)
	if err != nil {
		return err
	}
	log, err := readLog(s.log())
	if err != nil {
		return err
	}
	s.out.table(a, b, log)
	switch {
	case a != worldWithout:
		return fmt.Errorf("%w without sallyport: %+v, want %+v", ErrWorld, a, worldWithout)
	case b != worldWith:
		return fmt.Errorf("%w with sallyport: %+v, want %+v", ErrWorld, b, worldWith)
	case !log.good(len(script(with))):
		return fmt.Errorf("%w: the audit log is not as it should be: %+v", ErrWorld, log)
	}
	return nil
}

// pause waits for Enter, if the demo may wait. It returns early when ctx ends.
func (s *stage) pause(ctx context.Context) error {
	if !s.opt.Wait {
		return nil
	}
	s.out.raw("\nPress Enter to go on. ")
	read := make(chan error, 1)
	go func() {
		_, err := s.in.ReadString('\n')
		read <- err
	}()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-read:
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		return nil
	}
}

// tail keeps the last few kilobytes of what is written to it.
type tail struct{ b *strings.Builder }

const tailSize = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	all := t.b.String() + string(p)
	if len(all) > tailSize {
		all = all[len(all)-tailSize:]
	}
	t.b.Reset()
	t.b.WriteString(all)
	return len(p), nil
}
