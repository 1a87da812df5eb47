package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/internal/auditread"
)

const (
	defaultTail = 10
	maxTail     = 100_000
	tailWindow  = 1 << 20 // bytes of the end of a log that are read first
	tailGrows   = 16      // times, as long as they do not hold enough lines
	tailEvery   = 200 * time.Millisecond
)

type tailFlags struct {
	filterFlags
	config string
	lines  int
	follow bool
}

func newAuditTail() *cobra.Command {
	var f tailFlags
	cmd := &cobra.Command{
		Use:   "tail [LOG]",
		Short: "Show the newest calls, one line each, and follow the log",
		Long: `Show the last lines of a log in words: each call with its time, number, what was decided,
its caller, its tool, and what decided; sessions, pins, approvals and other events likewise. A
call that ran and then failed or was cancelled has a second line. sallyport audit show says
everything of one number.

` + readsLog + `

With -f new lines are shown as they are written, also when the log is rotated, until you stop
it. It says so when the log is cut or replaced. Times are UTC. Lines that are no records are
named.

Exit codes: 0 done or stopped, 1 the log could not be read, 2 the command line is wrong.`,
		Example: `  sallyport audit tail -f
  sallyport audit tail -n 50 --outcome denied
  sallyport audit tail -f /var/log/sallyport/audit.jsonl --tool mail/send_email`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			filter, err := f.filter()
			if err != nil {
				return err
			}
			if f.lines < 0 || f.lines > maxTail {
				return fmt.Errorf("-n is a number of lines from 0 to %d", maxTail)
			}
			path, err := logPath(args, f.config)
			if err != nil {
				return err
			}
			if path == "-" && f.follow {
				return errors.New("-f follows a file; standard input is read to its end")
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			t := tail{path: path, filter: filter, out: cmd.OutOrStdout(), colour: coloured(cmd.OutOrStdout())}
			if err := t.run(ctx, cmd.InOrStdin(), f.lines, f.follow); err != nil && ctx.Err() == nil {
				return failed(err)
			}
			return nil
		},
	}
	f.register(cmd)
	cmd.Flags().StringVarP(&f.config, "config", "c", "", "read the log of this configuration `FILE`")
	cmd.Flags().IntVarP(&f.lines, "lines", "n", defaultTail, "how many lines to show at first")
	cmd.Flags().BoolVarP(&f.follow, "follow", "f", false, "go on with what is written")
	return cmd
}

// tail shows the end of a log.
type tail struct {
	path   string
	filter auditread.Filter
	out    io.Writer
	colour bool
}

func (t *tail) run(ctx context.Context, stdin io.Reader, n int, follow bool) error {
	var in *audit.Reader
	defer func() {
		if in != nil {
			_ = in.Close()
		}
	}()
	var lines *auditread.Lines
	var last *ring
	for window := int64(tailWindow); ; window *= tailGrows {
		if in != nil {
			_ = in.Close()
		}
		var err error
		if in, err = openToRead(stdin, t.path, window); err != nil {
			return err
		}
		lines, last = auditread.NewLines(in), &ring{max: n}
		if err := t.read(ctx, lines, func(s string) error { last.add(s); return nil }); err != nil {
			return err
		}
		if last.full() || !in.Partial() {
			break
		}
	}
	if err := last.write(t.out); err != nil || !follow {
		return err
	}
	return t.follow(ctx, in, lines)
}

// follow shows what is added until ctx ends.
func (t *tail) follow(ctx context.Context, in *audit.Reader, lines *auditread.Lines) error {
	tick := time.NewTicker(tailEvery)
	defer tick.Stop()
	for {
		more, err := in.More()
		if err != nil {
			return err
		}
		if more {
			if err := t.read(ctx, lines, func(s string) error { _, err := io.WriteString(t.out, s+"\n"); return err }); err != nil {
				return err
			}
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// read shows the lines up to the end of what there is.
func (t *tail) read(ctx context.Context, lines *auditread.Lines, show func(string) error) error {
	for n := 0; ; n++ {
		if n%512 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		ln, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		text := ""
		if r := ln.Record; r == nil {
			text = brokenLine(t.path, ln.Broken, t.colour)
		} else if t.filter.Match(r) {
			text, _ = recordLine(r, t.colour)
		}
		if text != "" {
			if err := show(text); err != nil {
				return err
			}
		}
	}
}

// ring keeps the last lines.
type ring struct {
	max   int
	lines []string
	next  int // the oldest, once there are max
}

func (r *ring) add(s string) {
	switch {
	case r.max == 0:
	case len(r.lines) < r.max:
		r.lines = append(r.lines, s)
	default:
		r.lines[r.next] = s
		r.next = (r.next + 1) % r.max
	}
}

func (r *ring) full() bool { return len(r.lines) >= r.max }

func (r *ring) write(w io.Writer) error {
	b := bufio.NewWriter(w)
	for i := range r.lines {
		_, _ = b.WriteString(r.lines[(r.next+i)%len(r.lines)])
		_ = b.WriteByte('\n')
	}
	return b.Flush()
}
