package demo

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Options of [Run].
type Options struct {
	// Exe is the sallyport binary: it runs the gateway and, through the hidden
	// command __demo-server, the servers of the stories.
	Exe string
	// Story is the one to play, by its name; "" plays all.
	Story string
	// Wait makes the demo stop for a line on In between its acts, and lets the person there
	// answer what a story's agent is asked. Otherwise the script answers.
	Wait bool
	// Keep leaves the run's directory and says where it is.
	Keep bool
	// Colour uses ANSI colours on Out.
	Colour bool

	In  io.Reader
	Out io.Writer
}

// ErrWorld reports that a run left a world, or took a decision, that is not as it should be.
var ErrWorld = errors.New("the world is not as it should be")

// Run plays the stories and prints them. It returns nil only if every call was decided as
// its story says, all worlds came out as they should and the logs verify.
func Run(ctx context.Context, opt Options) (err error) {
	play := stories()
	if opt.Story != "" {
		s, err := find(opt.Story)
		if err != nil {
			return err
		}
		play = []story{s}
	}
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
			o.line("", "\nKept: "+base)
			return
		}
		err = errors.Join(err, os.RemoveAll(base))
	}()

	o.para(0, "The agents are scripts, no models: each does what an agent would do that believes "+
		"everything it reads. Their tools are real MCP servers that change real files in a "+
		"temporary directory, written as … below. Nothing is sent anywhere.")
	in := bufio.NewReader(opt.In)
	for i, s := range play {
		st := stage{story: s, opt: opt, out: o, dir: filepath.Join(base, s.name), in: in, last: i == len(play)-1}
		st.ask = &asking{out: o}
		if opt.Wait {
			st.ask.read = st.read
		}
		if err := st.play(ctx); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// stage is a story while it is played.
type stage struct {
	story
	opt  Options
	out  *out
	dir  string // of the story: without, with and gateway lie below it
	in   *bufio.Reader
	last bool // no story follows
	ask  *asking

	verdicts []logged // that the log has to have
}

func (s *stage) without() string { return filepath.Join(s.dir, "without") }
func (s *stage) with() string    { return filepath.Join(s.dir, "with") }
func (s *stage) gate() string    { return filepath.Join(s.dir, "gateway") }
func (s *stage) file() string    { return filepath.Join(s.gate(), "demo.yaml") }
func (s *stage) log() string     { return filepath.Join(s.gate(), "audit.jsonl") }

func (s *stage) reviewPack() string { return filepath.Join(s.gate(), "review.html") }

func (s *stage) prepare() error {
	if err := errors.Join(s.story.prepare(s.without()), s.story.prepare(s.with()), os.MkdirAll(s.gate(), 0o700)); err != nil {
		return err
	}
	return os.WriteFile(s.file(), []byte(s.config(s.with())), 0o600)
}

func (s *stage) play(ctx context.Context) error {
	if err := s.prepare(); err != nil {
		return err
	}
	o := s.out
	o.title(s.name, s.title)
	o.para(0, s.intro)
	o.para(0, s.where)
	o.styled("red", 4, s.poison)
	o.para(0, "Calls that it asks for are marked with !.")

	server := func(dir string) []string {
		return []string{s.opt.Exe, "__demo-server", "--story", s.name, "--dir", dir}
	}
	o.head("1. The tools in the agent's own hands")
	o.dir = s.without()
	without, err := s.act(ctx, s.without(), false, server(s.without()))
	if err != nil {
		return fmt.Errorf("without sallyport: %w", err)
	}
	if err := s.pause(ctx); err != nil {
		return err
	}

	o.head("2. The same calls behind sallyport wrap")
	o.para(0, s.guard)
	o.dir = s.with()
	o.quote(s.config(s.with()))
	guarded := append([]string{s.opt.Exe, "wrap", "-c", s.file(), "--audit", s.log(), "--name", s.name, "--"}, server(s.with())...)
	with, err := s.act(ctx, s.with(), true, guarded)
	if err != nil {
		return fmt.Errorf("with sallyport: %w", err)
	}
	if err := s.pause(ctx); err != nil {
		return err
	}

	if s.story.pack {
		if err := s.review(ctx); err != nil {
			return err
		}
	}
	o.head("3. The world afterwards, as it is on disk")
	if err := s.compare(without, with); err != nil {
		return err
	}
	if s.last {
		return nil
	}
	return s.pause(ctx)
}

// compare prints both worlds and fails unless they are as the story says.
func (s *stage) compare(without, with world) error {
	var wrong []string
	var lines []tableLine
	for _, r := range s.rows {
		a, err := r.look(without)
		if err != nil {
			return err
		}
		b, err := r.look(with)
		if err != nil {
			return err
		}
		if a != r.without {
			wrong = append(wrong, fmt.Sprintf("without sallyport, %s: %s, want %s", r.what, a, r.without))
		}
		want := r.with
		if r.declined != "" && s.ask.saidNo() {
			want = r.declined
		}
		if b != want {
			wrong = append(wrong, fmt.Sprintf("with sallyport, %s: %s, want %s", r.what, b, want))
		}
		lines = append(lines, tableLine{r.what, a, b, b != want})
	}
	log, err := readLog(s.log())
	if err != nil {
		return err
	}
	if why := log.wrong(s.verdicts); why != "" {
		wrong = append(wrong, "the audit log: "+why)
	}
	lines = append(lines, log.lines()...)
	if s.story.pack {
		lines = append(lines, tableLine{"review pack for a security reviewer", "none", "written", false})
	}
	s.out.table(lines)
	if s.story.pack {
		s.out.raw("\n")
		if s.opt.Keep {
			s.out.line("", "The pack: "+s.reviewPack())
		} else {
			s.out.para(0, "The pack is gone with the demo's directory; --keep keeps it.")
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%w: %s", ErrWorld, strings.Join(wrong, "; "))
	}
	return nil
}

// pause waits for Enter, if the demo may wait. It returns early when ctx ends.
func (s *stage) pause(ctx context.Context) error {
	if !s.opt.Wait {
		return nil
	}
	s.out.raw("\nPress Enter to go on. ")
	_, err := s.read(ctx)
	return err
}

// read reads a line of the person at the terminal; the end of input is an empty one.
func (s *stage) read(ctx context.Context) (string, error) {
	type line struct {
		text string
		err  error
	}
	read := make(chan line, 1)
	go func() {
		text, err := s.in.ReadString('\n')
		read <- line{text, err}
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case l := <-read:
		if l.err != nil && !errors.Is(l.err, io.EOF) {
			return "", l.err
		}
		return strings.TrimSpace(l.text), nil
	}
}

// decision is what a refused call's result says of it.
type decision struct {
	Verdict string `json:"verdict"`
	Check   string `json:"check"`
}

// decisionOf reads the decision that the gateway put beside a refusal.
func decisionOf(meta map[string]any) decision {
	var d decision
	if b, err := json.Marshal(meta["io.sallyport/decision"]); err == nil {
		_ = json.Unmarshal(b, &d) // left empty, and so no refusal of the gateway's
	}
	return d
}
