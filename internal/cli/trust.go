package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/internal/approval"
	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/internal/quote"
)

const (
	trustFor  = "90d" // unless --for says otherwise
	trustMost = 3650 * 24 * time.Hour
)

type trustFlags struct {
	pinsFlags
	period, because string
}

func newTrust() *cobra.Command {
	var f trustFlags
	cmd := &cobra.Command{
		Use:   "trust DESTINATION --because TEXT",
		Short: "Keep your own list of destinations that are not asked about",
		Long: `Put a destination on your own list: calls that send there are let through as if it stood
in the tool's trusted_destinations, wherever it was seen before. Rules, budgets and paths go on
being checked, and so does what a call carries.

DESTINATION is what trusted_destinations takes: an address, "*@example.com", a host,
"*.example.com", a URL or a plain name. The entry ends after 90 days unless --for says
otherwise; --for ever never ends it. It needs a terminal, where you are asked once more.
--tool takes the server's name and the tool's, because other servers can have a tool of that
name; where the configuration has one upstream alone, the tool's name is enough.
Each entry, and each removal, is a record in the audit log. Gateways that run see it with the
next call.

Exit codes: 0 it is on the list, 1 no terminal, or the list or the log cannot be used,
2 the command line is wrong, 3 you said no.`,
		Example: `  sallyport trust bob@partner.example --because "our contact at the partner"
  sallyport trust "*@partner.example" --tool mail/send_email --for 30d --because "joint project"
  sallyport trust list
  sallyport trust remove bob@partner.example`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return trusted(trust(cmd.Context(), f, args[0], cmd.InOrStdin(), cmd.OutOrStdout()))
		},
	}
	cmd.Flags().StringVar(&f.tool, "tool", "", "only for this tool, as `SERVER/TOOL`")
	cmd.Flags().StringVar(&f.period, "for", trustFor, "how `LONG`: 12h, 30d, or ever")
	cmd.Flags().StringVar(&f.because, "because", "", "`TEXT` that says why, for you in half a year and for whoever reviews it")
	f.logFlags(cmd)
	cmd.AddCommand(newTrustList(), newTrustRemove())
	return cmd
}

func (f *trustFlags) logFlags(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.config, "config", "c", "", "configuration `FILE` that says where the audit log is")
	cmd.Flags().StringVar(&f.audit, "audit", "", "audit `LOG` (default: as for wrap)")
}

// trusted turns an answer into an exit code.
func trusted(yes bool, err error) error {
	if _, ok := errors.AsType[*exitError](err); ok {
		return err
	}
	switch {
	case err != nil:
		return failed(err)
	case !yes:
		return &exitError{code: exitRefused}
	}
	return nil
}

func newTrustList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List what you trust, why and until when",
		Long: `List your own trusted destinations, those that are over included.

Exit codes: 0 listed, 1 the list cannot be read, 2 the command line is wrong.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			store, err := ownApprovals()
			if err != nil {
				return failed(err)
			}
			all, err := store.TrustList(cmd.Context())
			if err != nil {
				return failed(err)
			}
			var b strings.Builder
			for _, t := range all {
				trustText(&b, t, time.Now())
			}
			if len(all) == 0 {
				b.WriteString("nothing is on your list\n")
			}
			if _, err := io.WriteString(cmd.OutOrStdout(), b.String()); err != nil {
				return failed(err)
			}
			return nil
		},
	}
}

func newTrustRemove() *cobra.Command {
	var f trustFlags
	cmd := &cobra.Command{
		Use:   "remove DESTINATION|ID",
		Short: "Take a destination off your list",
		Long: `Take the entries of a destination, or the one of an id as trust list shows it, off your
own list. It needs a terminal, where you are asked once more.

Exit codes: 0 removed, 1 no terminal, no such entry, or the list or the log cannot be used,
2 the command line is wrong, 3 you said no.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return trusted(distrust(cmd.Context(), f, args[0], cmd.InOrStdin(), cmd.OutOrStdout()))
		},
	}
	f.logFlags(cmd)
	return cmd
}

func ownApprovals() (*approval.Store, error) {
	own, err := ownFiles("", "", "")
	if err != nil {
		return nil, err
	}
	return approvalStore(own)
}

func trust(ctx context.Context, f trustFlags, destination string, stdin io.Reader, stdout io.Writer) (bool, error) {
	if strings.TrimSpace(f.because) == "" {
		return false, &exitError{code: 2, err: errors.New(`say why with --because "…": in half a year nobody else knows`)}
	}
	t := approval.Trusted{Destination: destination, Because: f.because}
	if f.period != "ever" {
		d, err := config.ParseDuration(f.period)
		if err != nil || d <= 0 || d > trustMost {
			return false, &exitError{code: 2, err: errors.New("--for takes a number and its unit, such as 12h or 30d, at most 3650d, or ever")}
		}
		t.Expires = time.Now().Add(d).Round(0)
	}
	var err error
	if t.Tool, err = toolOfServer(f.tool, f.config); err != nil {
		return false, err
	}
	if err := t.Check(); err != nil {
		return false, err
	}
	who, err := atTerminal(stdin, stdout)
	if err != nil {
		return false, err
	}
	store, err := ownApprovals()
	if err != nil {
		return false, err
	}
	log, err := pinsLog(f.pinsFlags)
	if err != nil {
		return false, err
	}
	if log != nil {
		defer log.Close()
	}
	trustText(who.out, t, time.Now())
	if strings.Contains(destination, "*") {
		fmt.Fprintln(who.out, "  The * stands for everybody, or every host, there.")
	}
	if said, err := who.ask("Let everything be sent there that tools of this kind send? [y/N] "); err != nil || said != "y" && said != "yes" {
		fmt.Fprintln(who.out, "Not trusted.")
		return false, err
	}
	t, err = store.Trust(ctx, t, func(t approval.Trusted) error { return recordTrust(log, t, "trusted") })
	if err != nil {
		return false, err
	}
	fmt.Fprintf(who.out, "Trusted, entry %s.\n", t.ID)
	return true, nil
}

// toolOfServer is a tool with its server in front: the one that was written, or the only one
// that is configured.
func toolOfServer(tool, configFile string) (string, error) {
	if tool == "" || strings.Contains(tool, "/") {
		return tool, nil
	}
	own, err := ownFiles(configFile, "", "")
	if err != nil {
		return "", err
	}
	cfg, _, err := loadFiles(loadOptions(), own.config, "")
	if err != nil {
		return "", fmt.Errorf("the configuration says which servers there are, and it does not load: %w", err)
	}
	if len(cfg.Upstreams) == 1 {
		return cfg.Upstreams[0].Name + "/" + tool, nil
	}
	return "", &exitError{code: 2, err: fmt.Errorf("write --tool SERVER/%s: another server's tool of that name is another tool (the names of servers are in the configuration, or what wrap --name says)", quote.Text(tool, 64))}
}

func distrust(ctx context.Context, f trustFlags, which string, stdin io.Reader, stdout io.Writer) (bool, error) {
	who, err := atTerminal(stdin, stdout)
	if err != nil {
		return false, err
	}
	store, err := ownApprovals()
	if err != nil {
		return false, err
	}
	all, err := store.TrustList(ctx)
	if err != nil {
		return false, err
	}
	found := 0
	for _, t := range all {
		if t.ID == which || t.Destination == strings.TrimSpace(which) {
			trustText(who.out, t, time.Now())
			found++
		}
	}
	if found == 0 {
		return false, fmt.Errorf("%s is not on your list", quote.Value(which, 120))
	}
	log, err := pinsLog(f.pinsFlags)
	if err != nil {
		return false, err
	}
	if log != nil {
		defer log.Close()
	}
	if said, err := who.ask("Take it off your list? [y/N] "); err != nil || said != "y" && said != "yes" {
		fmt.Fprintln(who.out, "It stays.")
		return false, err
	}
	removed, err := store.Untrust(ctx, which, func(t approval.Trusted) error { return recordTrust(log, t, "removed") })
	if err != nil {
		return false, err
	}
	fmt.Fprintf(who.out, "Removed %s.\n", entries(len(removed)))
	return true, nil
}

func entries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

func recordTrust(log *audit.Log, t approval.Trusted, what string) error {
	until := "for ever"
	if !t.Expires.IsZero() {
		until = "until " + t.Expires.UTC().Format(time.RFC3339)
	}
	err := recorder(log)(audit.Record{
		Event: "trust", Caller: localCaller, Target: cmp.Or(t.Tool, "*"), Outcome: "allowed",
		Detail:   fmt.Sprintf("%s by %s: entry %s, %s, because %s", what, whoAnswers(), t.ID, until, t.Because),
		Evidence: []audit.Evidence{{Destination: t.Destination, Origin: "trusted"}},
	})
	if err != nil {
		return fmt.Errorf("%s: %w: the list changes in nothing that is not recorded", log.Path(), err)
	}
	return nil
}

// trustText is one entry in a few lines.
func trustText(w io.Writer, t approval.Trusted, now time.Time) {
	until := "for ever"
	if !t.Expires.IsZero() {
		until = "until " + t.Expires.Local().Format(time.DateTime)
		if !t.Added.IsZero() && t.Over(now) {
			until = "over since " + t.Expires.Local().Format(time.DateTime)
		}
	}
	tool := "every tool"
	if t.Tool != "" {
		tool = "tool " + quote.Value(t.Tool, 240)
	}
	if t.Nowhere() {
		tool += " of no server, so nowhere: name one and remove this"
	}
	folded(w, "", strings.TrimSpace(t.ID+" "+quote.Value(t.Destination, 0)))
	folded(w, "    ", tool+", "+until)
	folded(w, "    ", "because "+quote.Text(t.Because, 0))
}
