package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/internal/approval"
	"github.com/sallyport-dev/sallyport/internal/quote"
)

// watchEvery is how often --watch looks. A variable for tests.
var watchEvery = 500 * time.Millisecond

func newPending() *cobra.Command {
	var watch, asJSON bool
	cmd := &cobra.Command{
		Use:   "pending",
		Short: "List the questions that wait for an answer",
		Long: `List the calls that wait for a person, with the code to answer each. --watch goes on and
prints each question when it is asked, until you interrupt it.

--json prints one object with version (1) and questions, a list; with --watch one object a
line, for each question. A question has version, id, code, command, caller, upstream, tool,
questions (argument, destination, origin, text), asked, expires, and settled where your trust list
lets the call through by now. Members may be added, never renamed. Texts are escaped and bounded.

Exit codes: 0 listed, 1 the state cannot be read, 2 the command line is wrong.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			own, err := ownFiles("", "", "")
			if err != nil {
				return failed(err)
			}
			store, err := approvalStore(own)
			if err != nil {
				return failed(err)
			}
			if watch {
				err = watchPending(cmd.Context(), store, asJSON, cmd.OutOrStdout())
			} else {
				err = listPending(cmd.Context(), store, asJSON, cmd.OutOrStdout())
			}
			if err != nil {
				return failed(err)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&watch, "watch", false, "go on, and print each question when it is asked")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// open are the questions without an answer.
func open(ctx context.Context, store *approval.Store) ([]approval.Approval, error) {
	all, err := store.List(ctx)
	if err != nil {
		return nil, err
	}
	waiting := all[:0]
	for _, a := range all {
		if a.State == approval.Asked {
			waiting = append(waiting, a)
		}
	}
	return waiting, nil
}

func listPending(ctx context.Context, store *approval.Store, asJSON bool, out io.Writer) error {
	all, err := open(ctx, store)
	if err != nil {
		return err
	}
	trusted := store.Trusted(nil)()
	if asJSON {
		list := struct {
			Version   int               `json:"version"`
			Questions []approval.Notice `json:"questions"`
		}{1, []approval.Notice{}}
		for _, a := range all {
			list.Questions = append(list.Questions, notice(&a, trusted))
		}
		return writeJSON(out, list)
	}
	var b strings.Builder
	for _, a := range all {
		pendingText(&b, &a, trusted, time.Now())
	}
	if len(all) == 0 {
		b.WriteString("no question waits\n")
	}
	_, err = io.WriteString(out, b.String())
	return err
}

func watchPending(ctx context.Context, store *approval.Store, asJSON bool, out io.Writer) error {
	ctx, stop := signal.NotifyContext(ctx, stopSignals()...)
	defer stop()
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	seen := map[string]bool{}
	onList := store.Trusted(nil)
	for {
		all, err := open(ctx, store)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		alive := map[string]bool{}
		for _, a := range all {
			alive[a.ID] = true
			if seen[a.ID] {
				continue
			}
			var b strings.Builder
			if asJSON {
				err = writeJSON(&b, notice(&a, onList()))
			} else {
				pendingText(&b, &a, onList(), time.Now())
			}
			if err == nil {
				_, err = io.WriteString(out, b.String())
			}
			if err != nil {
				return err
			}
		}
		seen = alive
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func writeJSON(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// settledByList is how a question is shown that the user's list has made needless.
const settledByList = "trust list"

func notice(a *approval.Approval, trusted []sallyport.TrustedDestination) approval.Notice {
	n := a.Notice(typedName())
	if a.OnList(trusted, time.Now()) {
		n.Settled = settledByList
	}
	return n
}

// pendingText is one question in a few lines.
func pendingText(w io.Writer, a *approval.Approval, trusted []sallyport.TrustedDestination, now time.Time) {
	if a.OnList(trusted, now) {
		fmt.Fprintf(w, "%s  settled by your %s: the agent can make the call again\n", a.Code, settledByList)
	} else {
		fmt.Fprintf(w, "%s  %s ago, for %s more: %s approve %s\n", a.Code, ago(now.Sub(a.Asked)), ago(a.Expires.Sub(now)), typedName(), a.Code)
	}
	folded(w, "    ", fmt.Sprintf("%s calls %s of %s", quote.Value(a.Caller, 120), quote.Value(a.Name(), 240), quote.Value(a.Upstream, 120)))
	for _, q := range a.Questions {
		folded(w, "    ", quote.Text(q.Text, 1000))
	}
}
