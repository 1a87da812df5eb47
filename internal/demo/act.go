package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// actTime bounds one run of a script, the start of its processes included. A person who
// is asked has the rest of it.
const actTime = 5 * time.Minute

// handshakeEra is the version of the protocol that the script speaks.
const handshakeEra = "2025-11-25"

// act runs the story's script against one server command and returns what it left.
func (s *stage) act(ctx context.Context, dir string, guarded bool, command []string) (world, error) {
	w := world{dir: dir}
	ctx, cancel := context.WithTimeout(ctx, actTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = s.environment()
	var stderr strings.Builder
	cmd.Stderr = &tail{b: &stderr}

	// The client can ask its user, and so the gateway asks through it.
	client := mcp.NewClient(&mcp.Implementation{Name: "sallyport-demo-agent", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: s.ask.elicit,
	})
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: handshakeEra})
	if err != nil {
		return w, fmt.Errorf("the server did not start: %w\n%s", err, show(stderr.String()))
	}
	w.tools, err = offeredTools(ctx, session)
	for _, st := range s.script(dir) {
		if err != nil {
			break
		}
		err = s.step(ctx, session, st, guarded)
	}
	if closed := session.Close(); err == nil && closed != nil {
		err = fmt.Errorf("closing the session: %w", closed)
	}
	if err != nil && !errors.Is(err, ErrWorld) {
		err = fmt.Errorf("%w\n%s", err, show(stderr.String()))
	}
	return w, err
}

// environment is that of the program's own processes: whatever they keep between sessions
// belongs to this story alone.
func (s *stage) environment() []string {
	return append(os.Environ(), "SALLYPORT_SESSION=demo-"+s.name,
		"XDG_STATE_HOME="+filepath.Join(s.gate(), "state"), "XDG_CONFIG_HOME="+filepath.Join(s.gate(), "config"))
}

// review makes the review pack of the second run, as a person would.
func (s *stage) review(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, actTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.opt.Exe, "report", "-c", s.file(), "--audit", s.log(), "-o", s.reviewPack())
	cmd.Env = s.environment()
	said, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("making the review pack: %w\n%s", err, show(string(said)))
	}
	made, err := exists(s.reviewPack())
	if err == nil && !made {
		err = fmt.Errorf("%w: there is no review pack", ErrWorld)
	}
	return err
}

func offeredTools(ctx context.Context, session *mcp.ClientSession) ([]string, error) {
	res, err := session.ListTools(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("listing the tools: %w", err)
	}
	names := make([]string, len(res.Tools))
	for i, t := range res.Tools {
		names[i] = t.Name
	}
	return names, nil
}

// step makes one call and checks that it was decided as the story says: a refusal by
// another check than the one that is shown would be luck.
func (s *stage) step(ctx context.Context, session *mcp.ClientSession, st step, guarded bool) error {
	params := &mcp.CallToolParams{Name: st.tool, Arguments: st.arguments()}
	params.SetProgressToken(st.tool) // who hears that the call waits for a person does not give up
	s.ask.about(st)
	res, err := session.CallTool(ctx, params)
	if err != nil {
		return fmt.Errorf("%s: %w", st.tool, err)
	}
	answer := text(res)
	s.out.step(st, answer, res.IsError)
	said, err := s.ask.said(guarded)
	if err != nil {
		return err
	}
	want, says := "", ""
	if guarded {
		want, says = st.becomes(said)
		s.verdicts = append(s.verdicts, st.verdicts(said)...)
	}
	switch d := decisionOf(res.Meta); {
	case want == "" && res.IsError:
		return fmt.Errorf("%w: %s did not run: %s", ErrWorld, st.tool, show(answer))
	case want != "" && !res.IsError:
		return fmt.Errorf("%w: %s ran, and the check %s should have refused it", ErrWorld, call(st), want)
	case want != "" && (d.Check != want || !strings.Contains(answer, says)):
		return fmt.Errorf("%w: %s was refused by the check %q (%s), not by %s (%s)", ErrWorld, st.tool, d.Check, show(answer), want, says)
	}
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
