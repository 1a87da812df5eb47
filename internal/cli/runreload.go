package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/internal/gateway"
	"github.com/sallyport-dev/sallyport/internal/instance"
	"github.com/sallyport-dev/sallyport/internal/quote"
)

// reload reads the configuration again. If anything is wrong with it, the one before goes
// on, whole. What came of it is logged, recorded, and told to whoever asked.
func (r *running) reload(ctx context.Context) {
	before := r.fleet.cfg.Digest
	err := r.replace(ctx)
	o := instance.Outcome{Done: err == nil, Before: before}
	if err == nil {
		o.After = r.fleet.cfg.Digest
		r.log.Info("RELOADED", "before", before, "digest", o.After, "configuration", r.fleet.cfg.File)
	} else {
		var lines []string
		for line := range strings.Lines(err.Error()) {
			lines = append(lines, quote.Text(strings.TrimRight(line, "\r\n"), maxErrorLine))
		}
		o.Text = strings.Join(lines, "\n")
		r.log.Error("NOT RELOADED: the configuration before goes on", "problems", len(lines), "digest", before)
		for _, line := range lines {
			r.log.Error(line)
		}
		// A failure to record this one changes nothing: nothing has changed.
		if recErr := r.recordConfig("reload refused: "+lines[0]+"; configuration "+before+" goes on", "error"); recErr != nil {
			r.log.Error("the refused reload could not be recorded", "error", recErr)
		}
	}
	if r.instance != nil {
		if err := r.instance.Report(o); err != nil {
			r.log.Error("whoever asked for the reload cannot be told", "error", err)
		}
	}
}

// replace puts a new fleet in the place of the one that runs.
func (r *running) replace(ctx context.Context) (err error) {
	old := r.fleet
	next, err := loadFleet(r.fleetOptions(old))
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			next.closeNew(old)
		}
	}()
	if err := staysTheSame(old, next, r.flags.transport); err != nil {
		return err
	}
	if r.flags.transport == "http" && len(next.tokens) == 0 {
		return fmt.Errorf("%s: there are no tokens, and nobody may call without one", next.cfg.File)
	}
	if r.cert != nil {
		if err := r.cert.Reload(); err != nil {
			return err
		}
	}
	next.options.Audit = r.record
	if err := r.recordConfig("reload: configuration "+next.cfg.Digest+" in the place of "+old.cfg.Digest, ""); err != nil {
		return err
	}
	// Tokens first: what comes from now on is judged by the new configuration, and whose
	// token is gone begins nothing more.
	var revoked []string
	if r.tokens != nil {
		revoked = r.tokens.Replace(next.tokens)
	}
	if err := r.gateway.Reload(ctx, next.options, r.callers(next)); err != nil {
		if r.tokens != nil {
			r.tokens.Replace(old.tokens)
		}
		return err
	}
	r.fleet = next
	if r.server != nil {
		r.server.Revoke(revoked)
	}
	for name, k := range old.kept { // the gateway ends them when their calls have ended
		if next.kept[name].Server != k.Server {
			r.retired = append(r.retired, k.Server)
		}
	}
	return nil
}

// callers finds who goes on calling, by name.
func (r *running) callers(f *fleet) func(string) (gateway.Caller, bool) {
	if r.flags.transport == "stdio" {
		return func(string) (gateway.Caller, bool) {
			c, err := r.stdioCaller(f)
			return c, err == nil
		}
	}
	known := make(map[string]gateway.Caller, len(f.tokens))
	for _, t := range f.tokens {
		known[t.Name], _ = t.Value.(gateway.Caller)
	}
	return func(name string) (gateway.Caller, bool) {
		c, ok := known[name]
		return c, ok
	}
}

// staysTheSame refuses a change of what only a restart can change. Taking the rest of the
// file would leave its author in the belief that all of it holds.
func staysTheSame(old, next *fleet, transport string) error {
	var fixed []string
	note := func(differs bool, key string) {
		if differs {
			fixed = append(fixed, key)
		}
	}
	a, b := old.cfg.Server, next.cfg.Server
	note(old.auditPath != next.auditPath || auditText(old.cfg.Audit) != auditText(next.cfg.Audit), "audit")
	note(a.SessionIdle != b.SessionIdle, "server.session_idle")
	if transport == "http" {
		note(!slices.Equal(a.AllowedHosts, b.AllowedHosts), "server.allowed_hosts")
		note(!slices.Equal(a.AllowedOrigins, b.AllowedOrigins), "server.allowed_origins")
		note(a.PublicURL != b.PublicURL, "server.public_url")
		note(a.MaxBody != b.MaxBody, "server.max_body_mb")
	}
	if len(fixed) == 0 {
		return nil
	}
	return errors.New(strings.Join(fixed, ", ") + " differs from what runs, and only a restart changes that: nothing of the new file is used")
}

// auditText is all that the audit section says, for a comparison.
func auditText(a config.Audit) string {
	var b strings.Builder
	fmt.Fprintln(&b, a.Off, a.Path, a.NoChain, a.DropArguments, a.MaxValue, a.ContinueOnFailed, a.KeyPatterns == nil)
	for _, s := range a.Redact {
		fmt.Fprintf(&b, "%q\n", s.String())
	}
	for _, p := range a.KeyPatterns {
		fmt.Fprintf(&b, "%q\n", p.String())
	}
	return b.String()
}
