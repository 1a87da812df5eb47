package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport-dev/sallyport/confine"
	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

func newValidate() *cobra.Command {
	var configFile, contractsFile string
	cmd := &cobra.Command{
		Use:   "validate [-c FILE] [--contracts FILE]",
		Short: "Check a configuration and list every problem",
		Long: `Read a configuration, a contracts file or both as wrap would, and list every problem
as file:line:column on standard error. Without problems, print what each file holds,
and what in it weakens the guard, on standard output. Variables are read from the
environment of this command.

Without -c and --contracts, the configuration in your own configuration directory is
read.

Exit codes: 0 nothing is wrong, 1 there are problems, 2 the command line is wrong.`,
		Example: `  sallyport validate -c sallyport.yaml
  sallyport validate -c sallyport.yaml --contracts contracts.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return validate(cmd.OutOrStdout(), cmd.ErrOrStderr(), configFile, contractsFile)
		},
	}
	cmd.Flags().StringVarP(&configFile, "config", "c", "", "configuration `FILE`")
	cmd.Flags().StringVar(&contractsFile, "contracts", "", "contracts `FILE`")
	return cmd
}

func validate(stdout, stderr io.Writer, configFile, contractsFile string) error {
	if configFile == "" && contractsFile == "" {
		var err error
		if configFile, err = defaultConfigFile(); err != nil {
			return err
		}
		if configFile == "" {
			return errors.New("there is no configuration in your configuration directory; name one with -c FILE")
		}
	}
	c, f, err := loadFiles(loadOptions(), configFile, contractsFile)
	if err != nil {
		n := printProblems(stderr, err)
		return failed(fmt.Errorf("%s; nothing would be loaded", count(n, "problem")))
	}
	var out strings.Builder
	if configFile != "" {
		fmt.Fprintf(&out, "%s: %s\n", quote.Text(configFile, maxErrorLine), summary(c, f))
	}
	if f != nil {
		fmt.Fprintf(&out, "%s: %s\n", quote.Text(contractsFile, maxErrorLine), count(len(f.Contracts), "contract"))
	}
	for _, notice := range c.Notices() {
		fmt.Fprintf(&out, "notice: %s\n", quote.Text(notice, maxErrorLine))
	}
	if _, err := io.WriteString(stdout, out.String()); err != nil {
		return failed(err)
	}
	return nil
}

// summary says what the configuration's own file holds.
func summary(c *config.Config, f *config.ContractsFile) string {
	rules := 0
	for _, p := range c.Policies {
		rules += len(p.Rules())
	}
	own := len(c.Contracts)
	if f != nil {
		own -= len(f.Contracts)
	}
	parts := []string{policies(len(c.Policies)), count(rules, "rule"), count(own, "contract")}
	for _, more := range []struct {
		n    int
		what string
	}{{len(c.Upstreams), "upstream"}, {len(c.Tokens), "token"}, {len(c.RateLimits), "rate limit"}} {
		if more.n > 0 {
			parts = append(parts, count(more.n, more.what))
		}
	}
	s := strings.Join(parts, ", ")
	if len(c.Policies) == 0 {
		s += " (without a policy every tool, resource and prompt is allowed; contracts and the flow guard)"
	}
	return s
}

func policies(n int) string {
	if n == 1 {
		return "1 policy"
	}
	return fmt.Sprintf("%d policies", n)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// loadFiles reads a configuration and a contracts file; either name may be "". The
// error joins what is wrong with both. The result is checked as a whole, and f is nil
// without a contracts file.
func loadFiles(opt config.Options, configFile, contractsFile string) (c *config.Config, f *config.ContractsFile, err error) {
	c = config.Default()
	var errs []error
	if configFile != "" {
		data, err := config.ReadFile(configFile)
		if err == nil {
			c, err = config.Load(configFile, data, opt)
		}
		errs = append(errs, err)
	}
	if contractsFile != "" {
		data, err := config.ReadFile(contractsFile)
		if err == nil {
			f, err = config.LoadContracts(contractsFile, data, opt)
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, nil, err
	}
	if f != nil {
		if err := c.AddContracts(f); err != nil {
			return nil, nil, err
		}
	}
	layered := opt.Contracts
	layered.Packs = c.Packs
	if _, err := contract.NewSet(c.Contracts, layered); err != nil {
		return nil, nil, err
	}
	return c, f, nil
}

// loadOptions are those of this process and system.
func loadOptions() config.Options {
	opt := config.Options{Lookup: os.LookupEnv}
	switch runtime.GOOS {
	case "darwin":
		opt.Contracts.Style = confine.Darwin
	case "windows":
		opt.Contracts.Style = confine.Windows
	default:
		opt.Contracts.Style = confine.POSIX
	}
	return opt
}

// defaultConfigFile is the configuration in the user's own configuration directory, ""
// if there is none. The working directory is never looked at: an agent may write it.
func defaultConfigFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", nil // no home, so no file
	}
	file := filepath.Join(dir, "sallyport", "sallyport.yaml")
	switch _, err := os.Lstat(file); {
	case err == nil:
		return file, nil
	case errors.Is(err, os.ErrNotExist):
		return "", nil
	default:
		// A file that cannot be looked at may hold rules: going on without them would
		// allow what they deny.
		return "", failed(fmt.Errorf("the configuration %s cannot be read: %w", file, err))
	}
}

// printProblems writes one problem a line, unprefixed so that editors find the place,
// and returns how many there are.
func printProblems(w io.Writer, err error) int {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		joined = oneError{err}
	}
	n := 0
	for _, e := range joined.Unwrap() {
		n++
		if le, ok := errors.AsType[*strictyaml.LoadError](e); ok {
			n += len(le.Problems) + le.More - 1
		}
		for line := range strings.Lines(e.Error()) {
			fmt.Fprintln(w, quote.Text(strings.TrimRight(line, "\r\n"), maxErrorLine))
		}
	}
	return n
}

type oneError struct{ error }

func (e oneError) Unwrap() []error { return []error{e.error} }
