package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/internal/auditread"
	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/internal/lint"
	"github.com/sallyport-dev/sallyport/internal/pins"
	"github.com/sallyport-dev/sallyport/internal/report"
)

// reportLog reads the log that is named, or the one that a gateway with this configuration
// would write; nil if there is none yet.
func reportLog(ctx context.Context, f reportFlags, cfg *config.Config, own own, since, until time.Time) (*report.Log, error) {
	path, err := auditPath(wrapFlags{audit: f.audit}, cfg, own)
	if path == "" || err != nil && f.audit == "" {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) && f.audit == "" {
		return nil, nil
	}
	log, err := readLog(ctx, path, auditread.Filter{Since: since, Until: until})
	if err != nil {
		return nil, err
	}
	log.Path = cmp.Or(f.audit, path)
	log.Since, log.Until = since, until
	return log, nil
}

// readLog counts a log, finds its evidence and verifies it, in this order: what is counted
// is verified too, although gateways may go on writing.
func readLog(ctx context.Context, path string, f auditread.Filter) (*report.Log, error) {
	log := &report.Log{Pointers: &report.Pointers{}}
	err := eachReader(path, func(in *audit.Reader) error {
		var err error
		log.Summary, err = auditread.Summarize(ctx, in, f)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = eachReader(path, func(in *audit.Reader) error {
		lines := auditread.NewLines(in)
		for n := 0; ; n++ {
			l, err := lines.Next()
			switch {
			case errors.Is(err, io.EOF):
				return nil
			case err != nil:
				return err
			case n%512 == 0 && ctx.Err() != nil:
				return ctx.Err()
			case l.Record != nil && f.Match(l.Record) && l.Record.Seq <= log.Summary.LastSeq:
				log.Pointers.Add(l.Record)
			}
		}
	})
	if err != nil {
		return nil, err
	}
	log.Verified, err = audit.VerifyFile(path)
	return log, err
}

func eachReader(path string, read func(*audit.Reader) error) error {
	in, err := audit.OpenReader(path)
	if err != nil {
		return err
	}
	return errors.Join(read(in), in.Close())
}

// reportPins adds the pins of the servers that are meant, and takes their tools where no
// list was given. It creates nothing.
func reportPins(in *report.Input, own own) error {
	if own.noState != nil {
		return nil
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(own.stateLog), "pins")); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	store, err := pinStore(own)
	if err != nil {
		return err
	}
	all, err := store.All()
	if err != nil {
		return fmt.Errorf("the pins cannot be read: %w", err)
	}
	names := meantUpstreams(in)
	for _, f := range all {
		i := slices.IndexFunc(names, f.Is)
		if i < 0 {
			continue
		}
		in.Pins = append(in.Pins, f)
		if list := pinnedTools(f, names[i]); len(in.Tools) == 0 || in.FromPins {
			in.FromPins = true
			if !slices.ContainsFunc(in.Tools, func(l lint.ToolList) bool { return l.Upstream == names[i] }) {
				in.Tools = append(in.Tools, list)
			}
		}
	}
	return nil
}

// meantUpstreams are those of the configuration, else those of the log.
func meantUpstreams(in *report.Input) []string {
	var names []string
	for _, u := range in.Config.Upstreams {
		names = append(names, u.Name)
	}
	if len(names) == 0 && in.Log != nil {
		add := func(name string) {
			if !slices.Contains(names, name) && name != "" {
				names = append(names, name)
			}
		}
		for _, row := range in.Log.Summary.Tools.Rows {
			add(row.Upstream)
		}
		for _, row := range in.Log.Summary.Probes.Rows {
			add(row.Name)
		}
	}
	return names
}

// pinnedTools is the list of the set of client capabilities that was pinned last.
func pinnedTools(f *pins.File, upstream string) lint.ToolList {
	l := lint.ToolList{Upstream: upstream}
	if len(f.Sets) == 0 {
		return l
	}
	last := slices.MaxFunc(f.Sets, func(a, b *pins.Set) int { return a.First.Compare(b.First) })
	for _, name := range last.Tools() {
		l.Tools = append(l.Tools, contract.Tool{Upstream: upstream, Name: name, Definition: last.Pins[name].Definition})
	}
	return l
}
