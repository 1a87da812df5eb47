package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport-dev/sallyport/internal/clientconfig"
	"github.com/sallyport-dev/sallyport/internal/doctor"
	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

type doctorFlags struct {
	config           string
	clients, servers []string
	noStart, asJSON  bool
	timeout          time.Duration
}

func newDoctor() *cobra.Command {
	var f doctorFlags
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Prove that the protection is on",
		Long: `Look at every MCP client's configuration on this machine and in the working directory, and say of
each server, one result a line, whether it is protected:

  - is it started by this very program, with a configuration that loads and enforces;
  - does it start, and is a call that must be refused refused by Sallyport itself: a tool of a
    random name is called, which no server has, and the refusal has to stand in the log;
  - has the client said that it can show a question, or will codes be given (sallyport approve);

and beside that, whether the files of state are private, whether the log verifies, and whether
the client's own settings let its agent run the commands with which a person answers.

Each server is really started, as its client would, for a moment; --no-start leaves that out. What
it lists is pinned if it is the first time. Nothing else is changed.

Exit codes: 0 nothing failed, 1 it could not be looked at, 2 the command line is wrong, 3
something failed.`,
		Example: `  sallyport doctor
  sallyport doctor --client cursor --server files
  sallyport doctor --no-start --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, id := range f.clients {
				if clientconfig.ByID(id) == nil {
					return fmt.Errorf("there is no client %s%s; one of: %s", strictyaml.Quote(id), strictyaml.Hint(id, clientconfig.IDs()), strings.Join(clientconfig.IDs(), ", "))
				}
			}
			if f.timeout < time.Second || f.timeout > time.Hour {
				return errors.New("--timeout has to lie between 1s and 1h")
			}
			return examine(f, cmd.OutOrStdout())
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.config, "config", "", "only this `FILE` of a client, wherever it is")
	fl.StringArrayVar(&f.clients, "client", nil, "only the client of this `NAME`; may be repeated")
	fl.StringArrayVar(&f.servers, "server", nil, "only the server of this `NAME`; may be repeated")
	fl.BoolVar(&f.noStart, "no-start", false, "start no server")
	fl.DurationVar(&f.timeout, "timeout", time.Minute, "how long one server may take")
	fl.BoolVar(&f.asJSON, "json", false, "print the results as JSON")
	return cmd
}

// level is how a result counts.
type level string

const (
	levelOK   level = "ok"
	levelNote level = "note"
	levelWarn level = "warn"
	levelFail level = "fail"
)

// result is one line. Its texts are escaped already.
type result struct {
	Level   level  `json:"level"`
	Check   string `json:"check"`
	Subject string `json:"subject"` // which file, server or program; "" for all
	Text    string `json:"text"`
	Do      string `json:"do,omitempty"` // what to do about it
}

// examination is one run of doctor.
type examination struct {
	f       doctorFlags
	out     io.Writer
	program string
	places  clientconfig.Places
	results []result
	logs    []examinedLog // that entries write to, once each
	err     error         // of out
}

func (x *examination) add(l level, check, subject, text, do string) {
	r := result{l, check, subject, text, do}
	x.results = append(x.results, r)
	if x.f.asJSON || x.err != nil {
		return
	}
	line := fmt.Sprintf("%-4s  ", strings.ToUpper(string(l)))
	if l == levelOK || l == levelNote {
		line = fmt.Sprintf("%-4s  ", l)
	}
	if subject != "" {
		line += subject + ": "
	}
	line += text
	if do != "" {
		line += "\n      → " + do
	}
	_, x.err = fmt.Fprintln(x.out, line)
}

func examine(f doctorFlags, out io.Writer) error {
	x := &examination{f: f, out: out}
	var err error
	if x.program, err = runningProgram(); err != nil {
		return failed(err)
	}
	x.places = clientconfig.Here(x.program)
	files, err := x.find()
	if err != nil {
		return failed(err)
	}
	x.ofProgram()
	for _, file := range files {
		x.ofFile(file)
	}
	if f.config == "" && len(f.clients)+len(f.servers) == 0 {
		for _, o := range x.places.Foreign() {
			x.add(levelWarn, "wrapped", o.Name+" "+quote.Text(o.Path, 1000), o.Why, "")
		}
	}
	x.ofState()
	x.ofLogs()
	x.ofAgents()
	return x.ending()
}

// find is what init would look at, and nothing found is a result here.
func (x *examination) find() ([]*clientconfig.File, error) {
	r := &initRun{f: initFlags{config: x.f.config, clients: x.f.clients, servers: x.f.servers}}
	files, err := r.find(x.places)
	if err != nil {
		return nil, err
	}
	return files, nil
}

func (x *examination) meant(e *clientconfig.Entry) bool {
	return len(x.f.servers) == 0 || slices.Contains(x.f.servers, e.Server)
}

func (x *examination) ofProgram() {
	b := thisBuild()
	text := fmt.Sprintf("%s, version %s (%s, %s/%s)", quote.Text(x.program, 1000), b.Version, b.Go, runtime.GOOS, runtime.GOARCH)
	if where := passing(x.program); where != "" {
		x.add(levelWarn, "program", "this program", text+", "+where+": clients will not find it later", "move it to a directory that stays, ~/.local/bin for example, and run sallyport init from there")
		return
	}
	for _, p := range wayTo(x.program) {
		if othersMayReplace(p) {
			x.add(levelFail, "program", "this program", text+" can be replaced by other users of this machine", "chmod go-w "+quote.Text(p, 1000))
			return
		}
	}
	x.add(levelOK, "program", "this program", text, "")
}

// wayTo is a file and the directories above it, of both its names if it is a symbolic link. Whoever
// can write one of them can put another file into its place.
func wayTo(path string) []string {
	all := []string{path}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		all = append(all, real)
	}
	for _, p := range slices.Clone(all) {
		for dir := filepath.Dir(p); ; dir = filepath.Dir(dir) {
			all = append(all, dir)
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return all
}

// ofAgents looks whether an agent may try to answer for its user.
func (x *examination) ofAgents() {
	for _, a := range doctor.Agents(x.places) {
		file := quote.Text(a.File, 1000)
		switch {
		case a.Err != nil:
			x.add(levelWarn, "agent", a.Client, file+" cannot be read: "+quote.Text(a.Err.Error(), 300), "")
		case a.Leave == doctor.Allowed:
			x.add(levelFail, "agent", a.Client, "its agent may run sallyport approve, trust or pins accept without a question ("+quote.Value(a.Rule, 200)+")", "add to "+file+": "+a.Line)
		case a.Leave == doctor.Denied:
			x.add(levelOK, "agent", a.Client, "its agent is refused sallyport approve, trust and pins accept", "")
		default:
			x.add(levelNote, "agent", a.Client, "its agent is not refused sallyport approve, trust and pins accept in so many words; without your terminal they do nothing", "to be sure, add to "+file+": "+a.Line)
		}
	}
}

// proven reports whether a refusal was seen, and no server was left without an answer.
func (x *examination) proven() bool {
	seen := false
	for _, r := range x.results {
		switch r.Check {
		case "refuses":
			if r.Level != levelOK {
				return false
			}
			seen = true
		case "wrapped", "settings":
			if r.Level != levelOK && r.Level != levelNote {
				return false
			}
		}
	}
	return seen
}

func (x *examination) ending() error {
	n := map[level]int{}
	for _, r := range x.results {
		n[r.Level]++
	}
	if x.f.asJSON {
		e := json.NewEncoder(x.out)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		x.err = e.Encode(map[string]any{"version": 1, "protected": n[levelFail] == 0 && x.proven(), "results": x.results})
	} else if x.err == nil {
		verdict := "the protection is on"
		switch {
		case n[levelFail] > 0:
			verdict = fmt.Sprintf("%d of %d results failed", n[levelFail], len(x.results))
		case n[levelWarn] == 0 && !x.proven():
			verdict = "nothing failed, and nothing was proven: no server was started"
		case n[levelWarn] > 0:
			verdict = fmt.Sprintf("nothing failed; %s", count(n[levelWarn], "warning"))
		}
		_, x.err = fmt.Fprintln(x.out, "\n"+verdict)
	}
	if x.err != nil {
		return failed(x.err)
	}
	if n[levelFail] > 0 {
		return &exitError{code: exitProblems}
	}
	return nil
}
