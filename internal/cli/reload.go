package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport-dev/sallyport/internal/instance"
	"github.com/sallyport-dev/sallyport/internal/quote"
)

type reloadFlags struct {
	config string
	pid    int
	wait   time.Duration
}

func newReload() *cobra.Command {
	f := reloadFlags{}
	cmd := &cobra.Command{
		Use:   "reload [-c FILE] [--pid N]",
		Short: "Make a running gateway read its configuration again",
		Long: `Ask each gateway that runs by the configuration FILE (sallyport run) to read it again, and
say what came of it. A file with any problem changes nothing: the one before goes on.

Policies, rules, contracts, rate limits, upstreams and tokens can change. What callers have
open goes on, unless their token is gone or has another value; what they have seen and
spent is kept. The audit section and a few settings of server need a restart, and a file
that changes one of them is refused.

Exit codes: 0 reloaded, 1 no gateway runs, it did not answer, or it refuses the file, 2 the
command line is wrong.`,
		Example: "  sallyport reload -c sallyport.yaml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return reload(cmd.Context(), f, cmd.OutOrStdout())
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.config, "config", "c", "", "configuration `FILE` of the gateway (default: the one in your configuration directory)")
	fl.IntVar(&f.pid, "pid", 0, "only the gateway with this process `ID`")
	fl.DurationVar(&f.wait, "wait", 30*time.Second, "how long to wait for each")
	return cmd
}

func reload(ctx context.Context, f reloadFlags, stdout io.Writer) error {
	if f.pid < 0 || f.wait <= 0 {
		return errors.New("--pid and --wait are positive")
	}
	own, err := ownFiles(f.config, "", "")
	if err != nil {
		return failed(err)
	}
	if own.noState != nil {
		return failed(own.noState)
	}
	which := ""
	if f.config != "" || f.pid == 0 {
		if own.config == "" {
			return errors.New("there is no configuration in your configuration directory; name one with -c FILE, or a gateway with --pid")
		}
		if which, err = filepath.Abs(own.config); err != nil {
			return failed(err)
		}
	}
	found, err := instance.Find(filepath.Join(filepath.Dir(own.stateLog), "gateways"), which, f.pid)
	if err != nil {
		return failed(err)
	}
	if len(found) == 0 {
		return failed(errors.New(noGateway(which, f.pid)))
	}
	if ctx == nil {
		ctx = context.Background()
	}
	var errs []error
	for _, g := range found {
		errs = append(errs, reloadOne(ctx, g, f.wait, stdout))
	}
	if err := errors.Join(errs...); err != nil {
		return failed(err)
	}
	return nil
}

func noGateway(config string, pid int) string {
	text := "no gateway of yours runs"
	if pid != 0 {
		text += fmt.Sprintf(" as process %d", pid)
	}
	if config != "" {
		text += " by " + quote.Text(config, 1000)
	}
	return text
}

func reloadOne(ctx context.Context, g instance.Found, wait time.Duration, stdout io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	o, err := g.Reload(ctx)
	if err != nil {
		return fmt.Errorf("the gateway with process %d: %w", g.PID, err)
	}
	if !o.Done {
		var lines []string
		for line := range strings.Lines(o.Text) {
			lines = append(lines, strings.TrimRight(line, "\n"))
		}
		return fmt.Errorf("the gateway with process %d goes on as before:\n%s", g.PID, strings.Join(lines, "\n"))
	}
	what := "reloaded"
	if o.Before == o.After {
		what = "reloaded, nothing has changed"
	}
	_, err = fmt.Fprintf(stdout, "process %d: %s: %.12s\n", g.PID, what, o.After)
	return err
}
