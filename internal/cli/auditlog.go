package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/internal/auditread"
	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

// readsLog is what the commands that read a log say of where it is.
const readsLog = `LOG is read with the older files into which it was rotated, compressed or not; one of them can
be given alone. - is standard input. Without LOG, the log of the configuration is read (-c, else
the one in your own configuration directory), and without a configuration the default log in
your state directory.`

// logPath is where the log is that a command reads; "-" is standard input.
func logPath(args []string, configFile string) (string, error) {
	if len(args) > 0 {
		if configFile != "" {
			return "", errors.New("LOG and -c both say which log is read; leave one out")
		}
		return args[0], nil
	}
	if configFile == "" {
		var err error
		if configFile, err = defaultConfigFile(); err != nil {
			return "", err
		}
	}
	if configFile != "" {
		cfg, _, err := loadFiles(loadOptions(), configFile, "")
		if err != nil {
			return "", failed(fmt.Errorf("%w\nso it is not known where the log is: name it", err))
		}
		if cfg.Audit.Off {
			return "", failed(fmt.Errorf("%s keeps no log (audit.path: null)", configFile))
		}
		if cfg.Audit.Path != "" {
			return cfg.Audit.Path, nil
		}
	}
	path, err := audit.DefaultPath()
	if err != nil {
		return "", failed(err)
	}
	return path, nil
}

// openToRead opens a log. With fromEnd, about that many bytes of its end are read.
func openToRead(stdin io.Reader, path string, fromEnd int64) (*audit.Reader, error) {
	if path == "-" {
		return audit.NewReader(stdin), nil
	}
	r, err := audit.OpenReaderAt(path, fromEnd)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("there is no log at %s", path)
	}
	if err != nil {
		return nil, failed(err)
	}
	return r, nil
}

// verifyCommand is what to type to verify the log at a path.
func verifyCommand(path string) string {
	word := shellWord(path)
	if runtime.GOOS == "windows" && word != path {
		word = `"` + quote.Text(path, maxErrorLine) + `"`
	}
	return "sallyport audit verify " + word
}

// filterFlags choose records.
type filterFlags struct{ since, until, outcome, caller, tool string }

func (f *filterFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.since, "since", "", "from this `DAY` (2026-01-31, UTC) or moment (RFC 3339) on")
	fl.StringVar(&f.until, "until", "", "up to this `DAY`, with all of it, or before this moment")
	fl.StringVar(&f.outcome, "outcome", "", "only with this `OUTCOME`: allowed, denied, asked, rate_limited, error, cancelled, dry-run-allowed")
	fl.StringVar(&f.caller, "caller", "", "only of this caller")
	fl.StringVar(&f.tool, "tool", "", "only of this tool, as `NAME` or server/name; prompts and URIs too")
}

func (f *filterFlags) filter() (auditread.Filter, error) {
	out := auditread.Filter{Outcome: f.outcome, Caller: f.caller, Tool: f.tool}
	var errs []error
	bound := func(flag, value string, end bool) (t time.Time) {
		if value == "" {
			return t
		}
		t, err := auditread.ParseTime(value, end)
		if err != nil {
			errs = append(errs, fmt.Errorf("--%s %s: %w", flag, strictyaml.Quote(value), err))
		}
		return t
	}
	out.Since, out.Until = bound("since", f.since, false), bound("until", f.until, true)
	if f.outcome != "" && !slices.Contains(auditread.OutcomeNames, f.outcome) {
		errs = append(errs, fmt.Errorf("--outcome: there is no outcome %s%s", strictyaml.Quote(f.outcome), strictyaml.Hint(f.outcome, auditread.OutcomeNames)))
	}
	if len(errs) == 0 && f.since != "" && f.until != "" && !out.Since.Before(out.Until) {
		errs = append(errs, errors.New("--since is not before --until, so nothing lies between them"))
	}
	return out, errors.Join(errs...)
}

// coloured reports whether what is written to out can have colours.
func coloured(out any) bool {
	return onTerminal(out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
