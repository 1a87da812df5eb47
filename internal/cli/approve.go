package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport-dev/sallyport/internal/approval"
)

// exitRefused is the exit code of what a person said no to.
const exitRefused = 3

func newApprove() *cobra.Command {
	var f pinsFlags
	cmd := &cobra.Command{
		Use:   "approve CODE",
		Short: "Look at a call that waits for you, and answer",
		Long: `Show the call that a refusal gave you a code for, and ask whether it may run: y lets it
run once, s lets calls to the same destinations run until the session ends, anything else is
no. The agent then has to make the call again, within five minutes.

It needs a terminal, and there is no flag that answers for you: run it yourself, never
through the agent. A code counts once and is open for five minutes. The answer is a record in
the audit log of the gateway that asked; if that cannot be written, nothing is approved.

Exit codes: 0 approved, 1 no terminal, no such question, or the state or the log cannot be
used, 2 the command line is wrong, 3 not approved.`,
		Example: "  sallyport approve K7Q-F2MX",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			yes, err := approve(cmd.Context(), f, args[0], cmd.InOrStdin(), cmd.OutOrStdout())
			if err != nil {
				return failed(err)
			}
			if !yes {
				return &exitError{code: exitRefused}
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&f.config, "config", "c", "", "configuration `FILE` that says how the audit log is written")
	cmd.Flags().StringVar(&f.audit, "audit", "", "audit `LOG` (default: that of the gateway that asked)")
	return cmd
}

func approve(ctx context.Context, f pinsFlags, code string, stdin io.Reader, stdout io.Writer) (yes bool, err error) {
	who, err := atTerminal(stdin, stdout)
	if err != nil {
		return false, err
	}
	own, err := ownFiles(f.config, "", f.audit)
	if err != nil {
		return false, err
	}
	store, err := approvalStore(own)
	if err != nil {
		return false, err
	}
	a, err := store.Lookup(ctx, code)
	if err != nil {
		return false, err
	}
	if f.audit == "" {
		f.audit = a.Log
	}
	log, err := pinsLog(f)
	if err != nil {
		return false, err
	}
	if log != nil {
		defer log.Close()
	}
	record := recorder(log)
	if err := showApproval(who.out, &a, time.Now()); err != nil {
		return false, err
	}
	question := "Let it run? y for this once, anything else for no: "
	if a.CanLast() {
		question = "Let it run? y for this once, s until the session ends, anything else for no: "
	}
	said, err := who.ask(question)
	if err != nil {
		return false, err
	}
	ans := approval.Answer{
		Yes: said == "y" || said == "yes" || said == "s" && a.CanLast(), Lasting: said == "s",
		Channel: approval.ChannelCode, By: whoAnswers(),
	}
	done, err := store.Answer(ctx, a.ID, ans, a.Expires.Sub(a.Asked), func(a approval.Approval) error {
		if err := record(a.Record(approval.PhaseAnswered, 0, a.Answered)); err != nil {
			return fmt.Errorf("%s: %w: nothing is approved that is not recorded", log.Path(), err)
		}
		return nil
	}, func(a approval.Approval) error { return record(a.Record(approval.PhaseExpired, 0, a.Ended)) })
	if err != nil {
		return false, err
	}
	switch {
	case !ans.Yes:
		fmt.Fprint(who.out, notApproved(&a))
	case done.Lasting:
		fmt.Fprintln(who.out, "Approved until the session ends. Tell the agent to call again.")
	default:
		fmt.Fprintf(who.out, "Approved once. Tell the agent to call again before %s.\n", done.Expires.Local().Format(time.TimeOnly))
	}
	return ans.Yes, nil
}

// notApproved says what a no means, and how the user gets round it later.
func notApproved(a *approval.Approval) string {
	const said = "Not approved; it is not asked again in this session, unless flow.reask is set."
	commands := a.TrustCommands()
	if len(commands) == 0 {
		return said + "\n"
	}
	return said + " To allow it later:\n  " + strings.Join(commands, "\n  ") + "\n"
}
