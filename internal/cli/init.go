package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport-dev/sallyport/internal/clientconfig"
	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

// exitNotWritten is the exit code where something would change and nothing was written.
const exitNotWritten = 3

type initFlags struct {
	config, program   string
	clients, servers  []string
	yes, dryRun, undo bool
	domains, projects []string
}

func newInit() *cobra.Command {
	var f initFlags
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Put Sallyport in front of the servers that your clients start",
		Long: `Find the configuration of the MCP clients on this machine and of the project in the
working directory, and have each of their servers started by "sallyport wrap". What was found
is listed, the change is shown, and you are asked before anything is written.

Only the command and the arguments of an entry change; the server's own stand behind a "--"
and go on to be started with the same environment and directory. Everything else in the file
keeps its bytes. Beside it a backup is written, once. Left as they are, with the reason: servers
that are wrapped already, that are reached at a URL, that are switched off, and what is not
understood. A file that cannot be read in full is not touched.

--undo takes Sallyport away again: each entry that init wrote becomes what it was, to the
byte, whatever else was changed in the file meanwhile.

Clients: ` + strings.Join(clientconfig.IDs(), ", ") + `.

A starter configuration is offered too, if you have none: your answers become the
destinations that tools may send to and the directories that they may write in.

Exit codes: 0 written, or nothing to change, 1 something could not be read, changed or asked,
2 the command line is wrong, 3 something would change and nothing was written (--dry-run, or
you said no).`,
		Example: `  sallyport init
  sallyport init --dry-run --client cursor
  sallyport init --config .mcp.json --server files --yes
  sallyport init --undo`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			r := &initRun{f: f, out: cmd.OutOrStdout(), in: bufio.NewReaderSize(cmd.InOrStdin(), 4<<10)}
			r.asks = onTerminal(cmd.InOrStdin()) && onTerminal(cmd.OutOrStdout())
			return r.run()
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.config, "config", "", "only this `FILE`, wherever it is")
	fl.StringArrayVar(&f.clients, "client", nil, "only the client of this `NAME`; may be repeated")
	fl.StringArrayVar(&f.servers, "server", nil, "only the server of this `NAME`; may be repeated")
	fl.BoolVar(&f.yes, "yes", false, "write without asking")
	fl.BoolVar(&f.dryRun, "dry-run", false, "show the change, write nothing")
	fl.BoolVar(&f.undo, "undo", false, "take Sallyport away again")
	fl.StringVar(&f.program, "program", "", "`PATH` of the sallyport that clients are to start (default: this one)")
	fl.StringArrayVar(&f.domains, "own-domain", nil, "for the starter configuration: a mail `DOMAIN` of your own; may be repeated")
	fl.StringArrayVar(&f.projects, "project-dir", nil, "for the starter configuration: a `DIRECTORY` that tools may write in; may be repeated")
	return cmd
}

func (f *initFlags) check() error {
	for _, id := range f.clients {
		if clientconfig.ByID(id) == nil {
			return fmt.Errorf("there is no client %s%s; one of: %s", strictyaml.Quote(id), strictyaml.Hint(id, clientconfig.IDs()), strings.Join(clientconfig.IDs(), ", "))
		}
	}
	switch {
	case f.yes && f.dryRun:
		return errors.New("--dry-run writes nothing: leave --yes out")
	case f.config != "" && len(f.clients) > 1:
		return errors.New("a --config is the file of one --client")
	case f.undo && len(f.domains)+len(f.projects) > 0:
		return errors.New("--own-domain and --project-dir are for a starter configuration, which --undo does not write")
	}
	for _, d := range f.domains {
		if err := checkDomain(d); err != nil {
			return err
		}
	}
	for _, d := range f.projects {
		if err := checkProject(d); err != nil {
			return err
		}
	}
	return nil
}

// initRun is one run of init.
type initRun struct {
	f    initFlags
	in   *bufio.Reader
	out  io.Writer
	asks bool // there is a person to ask

	program string
	bad     bool // something could not be read or written
}

func (r *initRun) say(format string, args ...any) { fmt.Fprintf(r.out, format, args...) }

func (r *initRun) run() error {
	var warnings []string
	var err error
	if r.program, warnings, err = ownProgram(r.f.program, r.f.undo); err != nil {
		return failed(err)
	}
	places := clientconfig.Here(r.program)
	files, err := r.find(places)
	if r.f.undo {
		defer func() { r.remains(places, files) }()
	}
	if err != nil {
		return failed(err)
	}
	r.list(files, places)
	changes := r.plan(files)
	for _, c := range changes {
		r.say("\n%s", c.Diff())
	}
	if len(changes) == 0 {
		r.say("\nnothing changes\n")
		if err := r.starter(files); err != nil {
			return err
		}
		return r.ending()
	}
	r.notes(changes, warnings)
	if r.f.dryRun {
		if err := r.starter(files); err != nil {
			return err
		}
		if r.bad {
			return r.ending()
		}
		return &exitError{code: exitNotWritten}
	}
	if !r.f.yes {
		if !r.asks {
			return failed(errors.New("there is nobody to ask: standard input and output have to be a terminal. To write without asking: --yes; to see the change only: --dry-run"))
		}
		if !r.yes(fmt.Sprintf("\nWrite %s?", countFiles(changes)), false) {
			r.say("nothing is written\n")
			return &exitError{code: exitNotWritten}
		}
	}
	written := r.write(changes)
	err = r.starter(files)
	if written && !r.f.undo {
		r.say("Restart the clients: they read this when they start. To take it back: %s init --undo\n", typedName())
	}
	if err != nil {
		return err
	}
	return r.ending()
}

func (r *initRun) ending() error {
	if r.bad {
		return &exitError{code: 1}
	}
	return nil
}

// find reads the files that are meant.
func (r *initRun) find(places clientconfig.Places) ([]*clientconfig.File, error) {
	var files []*clientconfig.File
	if r.f.config != "" {
		l := clientconfig.Location{Path: r.f.config}
		if len(r.f.clients) == 1 {
			l.Client = clientconfig.ByID(r.f.clients[0])
		} else if known, ok := places.Known(r.f.config); ok {
			l = known
		}
		files = append(files, places.Read(l))
	} else {
		files = slices.DeleteFunc(places.Find(), func(f *clientconfig.File) bool {
			return len(r.f.clients) > 0 && !slices.Contains(r.f.clients, f.Client.ID)
		})
	}
	if len(files) == 0 {
		return nil, errors.New("no configuration of a client was found. Run this in your project's directory, or name the file with --config; docs/clients.md lists where clients keep theirs")
	}
	var names []string
	for _, f := range files {
		for _, e := range f.Entries {
			names = append(names, e.Server)
		}
	}
	for _, s := range r.f.servers {
		if !slices.Contains(names, s) {
			return nil, fmt.Errorf("no configuration has a server %s%s", quote.Value(s, 120), strictyaml.Hint(s, names))
		}
	}
	return files, nil
}

// meant says whether an entry is one of those of --server.
func (r *initRun) meant(e *clientconfig.Entry) bool {
	return len(r.f.servers) == 0 || slices.Contains(r.f.servers, e.Server)
}

// plan says what becomes of each file, without those in which nothing changes.
func (r *initRun) plan(files []*clientconfig.File) []*clientconfig.Change {
	var changes []*clientconfig.Change
	for _, f := range files {
		if f.Err != nil {
			continue // list has said it
		}
		var c *clientconfig.Change
		var err error
		if r.f.undo {
			c, err = f.Unwrap(r.meant)
		} else {
			c, err = f.Wrap(r.program, r.meant)
		}
		if err != nil {
			r.bad = true
			r.say("\n%s: %s\n", quote.Text(f.Path, 1000), quote.Text(err.Error(), 400))
			continue
		}
		if !c.Empty() {
			changes = append(changes, c)
		}
	}
	return changes
}

// write writes each change, and says whether one was. One that fails does not keep the others.
func (r *initRun) write(changes []*clientconfig.Change) (written bool) {
	r.say("\n")
	var done []*clientconfig.File
	for _, c := range changes {
		path, asItWas := quote.Text(c.File.Target, 1000), c.Restored()
		switch err := c.Write(); {
		case err != nil:
			r.bad = true
			r.say("%s: %s\n", path, quote.Text(err.Error(), 400))
		case !r.f.undo && !c.File.BackedUp():
			r.say("written: %s (a backup was there before and holds something else than the file did; it stays: %s)\n", path, quote.Text(c.File.BackupPath(), 1000))
		case !r.f.undo:
			done = append(done, c.File)
			r.say("written: %s (as it was: %s)\n", path, quote.Text(c.File.BackupPath(), 1000))
		case asItWas:
			r.say("restored: %s, to the byte; its backup is removed\n", path)
		default:
			r.say("restored: %s (its backup holds something else, so it stays: %s)\n", path, quote.Text(c.File.BackupPath(), 1000))
		}
	}
	r.remember(done)
	return len(done) > 0
}
