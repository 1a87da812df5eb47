package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/internal/lint"
	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/internal/report"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
	"github.com/sallyport-dev/sallyport/policy"
)

type reportFlags struct {
	config, contracts, policy, audit string
	since, until, out, format        string
	tools                            []string
}

func newReport() *cobra.Command {
	var f reportFlags
	cmd := &cobra.Command{
		Use:   "report [-c FILE] [--tools [NAME=]FILE]… [--audit LOG] [-o FILE]",
		Short: "Make a review pack of the set-up and the log",
		Long: `Make the document that a security reviewer asks for: versions and digests, each tool
with its contract, pins and controls, the policy in words, what the log says and whether
it is as it was written, findings in order of their rank, what is and is not covered, and
which controls have evidence for the OWASP lists for LLM and agentic applications, AIUC-1,
MITRE ATLAS and the NIST AI RMF.

The form is Markdown, or one HTML page that runs nothing and fetches nothing: by the
ending of -o (.md, .html), or --format. Without -o it goes to standard output. A file that
is there is replaced, and only its owner can read it.

Without -c the configuration in your own configuration directory is read, without --audit
the log that it names, or the default one. Without --tools the tools are those that were
pinned. The log is verified whole; --since and --until choose the days (UTC) that are
counted, both included. Nothing is changed, and the log may be written meanwhile.

Exit codes: 0 the pack is made, whatever it says, 1 a file cannot be read or written,
2 the command line is wrong.`,
		Example: `  sallyport report -o review.html
  sallyport report -c sallyport.yaml --tools mail=mail-tools.json --audit audit.jsonl -o review.md
  sallyport report --since 2026-03-01 --until 2026-03-31 --format html >march.html`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return makeReport(ctx, cmd.OutOrStdout(), cmd.ErrOrStderr(), f)
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.config, "config", "c", "", "configuration `FILE`")
	fl.StringVar(&f.contracts, "contracts", "", "contracts `FILE`, added to the configuration's")
	fl.StringVar(&f.policy, "policy", "", "only this `POLICY` (default: all of the configuration)")
	fl.StringArrayVar(&f.tools, "tools", nil, "a server's tools/list, as `[NAME=]FILE`; may be repeated")
	fl.StringVar(&f.audit, "audit", "", "audit `LOG`; its rotated files are read with it")
	fl.StringVar(&f.since, "since", "", "first `DAY` that is counted, as YYYY-MM-DD")
	fl.StringVar(&f.until, "until", "", "last `DAY` that is counted, as YYYY-MM-DD")
	fl.StringVarP(&f.out, "out", "o", "", "`FILE` to write")
	fl.StringVar(&f.format, "format", "", "`FORM` of the pack: md or html")
	return cmd
}

func makeReport(ctx context.Context, stdout, stderr io.Writer, f reportFlags) error {
	html, err := f.html()
	if err != nil {
		return err
	}
	since, until, err := f.days()
	if err != nil {
		return err
	}
	in, err := reportInput(ctx, f, since, until)
	if err != nil {
		return explainFailed(stderr, err)
	}
	pack, err := report.Build(in)
	if err != nil {
		return failed(err)
	}
	write := pack.WriteMarkdown
	if html {
		write = pack.WriteHTML
	}
	if f.out == "" {
		err = write(stdout)
	} else {
		err = replaceFile(f.out, in, write)
	}
	if err != nil {
		return failed(err)
	}
	return nil
}

// html reports whether the pack is a page. The error is one of the command line.
func (f *reportFlags) html() (bool, error) {
	switch f.format {
	case "md":
		return false, nil
	case "html":
		return true, nil
	case "":
	default:
		return false, fmt.Errorf("--format is md or html, not %s", strictyaml.Quote(f.format))
	}
	switch ext := strings.ToLower(filepath.Ext(f.out)); {
	case f.out == "", ext == ".md", ext == ".markdown":
		return false, nil
	case ext == ".html", ext == ".htm":
		return true, nil
	}
	return false, fmt.Errorf("the ending of -o %s does not say which form is meant: end it in .md or .html, or give --format", quote.Text(f.out, 200))
}

// days are the first moment that is counted and the first that is not.
func (f *reportFlags) days() (since, until time.Time, err error) {
	read := func(flag, s string) (t time.Time) {
		if s == "" || err != nil {
			return t
		}
		if t, err = time.Parse("2006-01-02", s); err != nil {
			err = fmt.Errorf("--%s is a day as YYYY-MM-DD, not %s", flag, strictyaml.Quote(s))
		}
		return t
	}
	since, until = read("since", f.since), read("until", f.until)
	if err == nil && !since.IsZero() && !until.IsZero() && until.Before(since) {
		err = errors.New("--until is before --since")
	}
	if !until.IsZero() {
		until = until.AddDate(0, 0, 1)
	}
	return since, until, err
}

// reportInput reads everything that the pack is made from.
func reportInput(ctx context.Context, f reportFlags, since, until time.Time) (report.Input, error) {
	in := report.Input{Made: time.Now(), Program: programVersion(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	own, err := ownFiles(f.config, f.contracts, f.audit)
	if err != nil {
		return in, err
	}
	opt := loadOptions()
	opt.Contracts = own.contracts()
	cfg, _, err := loadFiles(opt, own.config, f.contracts)
	if err != nil {
		return in, &filesError{err}
	}
	in.Config, in.Contracts = cfg, opt.Contracts
	in.Contracts.Packs = cfg.Packs
	if in.Policies, err = reportPolicies(cfg, f.policy); err != nil {
		return in, err
	}
	if in.Tools, err = readToolLists(f.tools, cfg); err != nil {
		return in, err
	}
	if in.Log, err = reportLog(ctx, f, cfg, own, since, until); err != nil {
		return in, err
	}
	if err := reportPins(&in, own); err != nil {
		return in, err
	}
	checks := lint.Options{Tools: in.Tools, Now: in.Made}
	checks.Home, _ = os.UserHomeDir()
	in.Lint = lint.Check(cfg, checks)
	return in, nil
}

// reportPolicies are the policy that is named, or all, by name.
func reportPolicies(cfg *config.Config, name string) ([]*policy.Policy, error) {
	if name != "" || len(cfg.Policies) < 2 {
		p, err := cfg.Policy(name)
		return []*policy.Policy{p}, err
	}
	var all []*policy.Policy
	for _, n := range slices.Sorted(maps.Keys(cfg.Policies)) {
		all = append(all, cfg.Policies[n])
	}
	return all, nil
}

// replaceFile writes a file beside its place and moves it there, so that nobody sees half of
// it. It replaces no file that the pack was made from.
func replaceFile(name string, in report.Input, write func(io.Writer) error) error {
	at, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case !at.Mode().IsRegular():
		return fmt.Errorf("%s: it is there and no regular file", quote.Text(name, 1000))
	default:
		if err := noSource(name, at, in); err != nil {
			return err
		}
	}
	tmp, err := os.CreateTemp(filepath.Dir(name), ".report-*") // 0600
	if err != nil {
		return err
	}
	err = errors.Join(write(tmp), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return nil
}

// noSource refuses to replace what was read.
func noSource(name string, at fs.FileInfo, in report.Input) error {
	var read []string
	for _, s := range in.Config.Sources {
		read = append(read, s.File)
	}
	if in.Log != nil {
		read = append(read, in.Log.Path)
	}
	for _, r := range read {
		if info, err := os.Stat(r); err == nil && os.SameFile(info, at) {
			return fmt.Errorf("%s: the pack is made from this file and does not replace it", quote.Text(name, 1000))
		}
	}
	return nil
}
