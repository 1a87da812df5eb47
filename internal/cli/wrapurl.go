package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"

	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

// wrapURL fronts one server that is reached and not started: a gateway with one upstream
// and one caller, over stdio.
func wrapURL(f wrapFlags, stdin io.Reader, stdout, stderr io.Writer) error {
	if f.name == "" {
		f.name = "server"
		if u, err := url.Parse(f.url); err == nil {
			f.name = cmp.Or(u.Hostname(), f.name)
		}
	}
	remote, err := remoteUpstream(f)
	if err != nil {
		return err
	}
	r := &running{
		flags: runFlags{
			config: f.config, policy: f.policy, transport: "stdio", audit: f.audit, dryRun: f.dryRun, maxMessage: f.maxMessage, verbose: f.verbose,
		},
		shared: &sharedSession{}, wrapped: &f,
	}
	r.load = func(opt config.Options, file string) (*config.Config, error) {
		cfg, _, err := loadFiles(opt, file, f.contracts)
		if err != nil {
			return nil, err
		}
		one := *cfg
		one.Upstreams, one.Tokens, one.Server.Namespace = []*config.Upstream{remote}, nil, config.NamespaceNever
		one.Server.Instructions = ""
		return &one, nil
	}
	return r.start(stdin, stdout, stderr)
}

// remoteUpstream reads the URL and the headers as a configuration would: with the same
// checks, and with variables for what should stand on no command line.
func remoteUpstream(f wrapFlags) (*config.Upstream, error) {
	var text bytes.Buffer
	fmt.Fprintf(&text, "version: 1\nupstreams:\n  %s:\n    transport: http\n    url: %s\n", yamlQuoted(f.name), yamlQuoted(f.url))
	if len(f.headers) > 0 {
		text.WriteString("    headers:\n")
	}
	for _, h := range f.headers {
		name, value, ok := strings.Cut(h, ":")
		if !ok {
			return nil, errors.New("--header takes a name and a value: 'Name: value', or 'Name: ${VARIABLE}'")
		}
		fmt.Fprintf(&text, "      %s: %s\n", yamlQuoted(strings.TrimSpace(name)), yamlQuoted(strings.TrimSpace(value)))
	}
	cfg, err := config.Load("", text.Bytes(), loadOptions())
	if le, ok := errors.AsType[*strictyaml.LoadError](err); ok {
		var errs []error
		for _, p := range le.Problems {
			errs = append(errs, fmt.Errorf("--name, --url or --header: %s", p.Text)) // the places are in no file
		}
		return nil, errors.Join(errs...)
	}
	if err != nil {
		return nil, err
	}
	cfg.Upstreams[0].Source = "--url"
	return cfg.Upstreams[0], nil
}

// yamlQuoted is s as YAML in double quotes, of which JSON is a part.
func yamlQuoted(s string) string {
	b, err := json.Marshal(strings.ToValidUTF8(s, "\ufffd"))
	if err != nil {
		panic(err) // text
	}
	return string(b)
}

// sayWrapped logs what runs under wrap.
func (r *running) sayWrapped(log *slog.Logger) error {
	pol, err := r.fleet.cfg.Policy(r.flags.policy)
	if err != nil {
		return err
	}
	sayStart(log, *r.wrapped, r.fleet.cfg, pol, r.fleet.dryRun[pol.Name()], r.fleet.auditPath)
	return nil
}
