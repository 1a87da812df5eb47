package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/sallyport-dev/sallyport/internal/gateway"
	"github.com/sallyport-dev/sallyport/internal/lint"
	"github.com/sallyport-dev/sallyport/internal/serve"
	"github.com/sallyport-dev/sallyport/internal/streamhttp"
	"github.com/sallyport-dev/sallyport/internal/token"
	"github.com/sallyport-dev/sallyport/policy"
)

// serveHTTP serves many callers until a signal.
func (r *running) serveHTTP(ctx context.Context, signals <-chan os.Signal) error {
	f, s := r.flags, r.fleet.cfg.Server
	var err error
	if f.tlsCert != "" {
		if r.cert, err = serve.LoadCertificate(f.tlsCert, f.tlsKey); err != nil {
			return failed(err)
		}
	}
	tokens := token.NewTable(r.fleet.tokens, nil)
	r.tokens = tokens
	r.server, err = serve.New(serve.Options{
		Tokens: tokens, Path: f.path, PublicURL: s.PublicURL, Certificate: r.cert, Log: r.log,
		MCP: streamhttp.HandlerOptions{
			Serve: r.gateway.HTTP, AllowedHosts: s.AllowedHosts, AllowedOrigins: s.AllowedOrigins,
			MaxBody: s.MaxBody, SessionIdle: s.SessionIdle, PreferStream: true,
		},
	})
	if err != nil {
		return failed(err)
	}
	l, exposed, err := serve.Listen(serve.Address{Host: f.host, Port: f.port, TLS: r.cert != nil, Insecure: f.insecureBind})
	if err != nil {
		return failed(err)
	}
	if f.metricsPort != 0 {
		m, err := serve.ListenMetrics(f.metricsPort, r.metrics)
		if err != nil {
			return failed(err)
		}
		defer m.Close()
		r.log.Info("metrics", "url", "http://"+m.Addr().String()+serve.MetricsPath)
	}
	r.sayStart()
	if exposed {
		r.log.Warn("LISTENING WITHOUT TLS WHERE OTHER MACHINES REACH IT: whoever is on the way reads and uses the tokens, unless something in front encrypts", "address", l.Addr().String())
	}
	scheme := "http"
	if r.cert != nil {
		scheme = "https"
	}
	r.log.Info("listening", "url", scheme+"://"+l.Addr().String()+f.path, "callers", len(r.fleet.tokens), "pid", os.Getpid())
	served := make(chan error, 1)
	go func() { served <- r.server.Serve(l) }()
	for {
		select {
		case sig := <-signals:
			return r.drain(ctx, sig, signals)
		case <-r.requests():
			r.reload(ctx)
		case err := <-served:
			if err == nil {
				err = errors.New("it ended by itself")
			}
			return failed(fmt.Errorf("the HTTP server: %w", err))
		}
	}
}

// lastAnswers is what the errors get, to reach the clients whose calls are cut off.
const lastAnswers = 2 * time.Second

// drain lets open calls end, until the time is over or a second signal comes. What is open
// then is answered with an error.
func (r *running) drain(ctx context.Context, first os.Signal, signals <-chan os.Signal) error {
	hard, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- r.server.Drain(hard) }()
	<-r.server.Handler().Draining()
	r.log.Info("stopping: new calls are refused, open ones may end", "signal", first.String(), "drain_timeout", r.fleet.cfg.Server.DrainTimeout)
	r.gateway.Quiet() // subscriptions have no end of their own
	limit := time.NewTimer(r.fleet.cfg.Server.DrainTimeout)
	defer limit.Stop()
	select {
	case err := <-done:
		return err
	case <-limit.C:
	case <-signals:
		r.log.Warn("stopping at once")
		r.hurry.Store(true)
	}
	over, cancel := context.WithCancel(ctx)
	cancel()
	_ = r.gateway.Close(over)
	defer time.AfterFunc(lastAnswers, stop).Stop()
	<-done
	return failed(errors.New("calls that were open did not end in time, and were cut off"))
}

// serveStdio serves the client that started this process.
func (r *running) serveStdio(ctx context.Context, signals <-chan os.Signal, stdin io.Reader, stdout io.Writer) error {
	c, err := r.stdioCaller(r.fleet)
	if err != nil {
		tellClient(err, stdin, stdout)
		return failed(err)
	}
	if r.wrapped != nil {
		err = r.sayWrapped(r.log)
	} else {
		r.sayStart()
	}
	if err != nil {
		return failed(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- r.gateway.Stdio(ctx, c, stdin, stdout) }()
	expiry := time.NewTimer(time.Hour) // none but untilExpiry's
	defer expiry.Stop()
	var why error
	stopping := false
	for {
		if expiry.Stop(); !stopping {
			r.untilExpiry(expiry)
		}
		select {
		case <-signals:
			if stopping {
				r.hurry.Store(true)
				return failed(errors.New("stopped at once"))
			}
			stopping = true
			// The open calls get their answers first.
			drain, last := context.WithTimeout(ctx, r.fleet.cfg.Server.DrainTimeout)
			defer last()
			go func() {
				_ = r.gateway.Close(drain)
				cancel()
			}()
		case <-r.requests():
			r.reload(ctx)
			_, why = r.stdioCaller(r.fleet)
		case <-expiry.C:
			_, why = r.stdioCaller(r.fleet)
		case err := <-done:
			if err != nil && !stopping && why == nil {
				return failed(err)
			}
			if why != nil {
				return failed(why)
			}
			return nil
		}
		if why != nil {
			r.log.Error("the caller may not go on", "reason", why)
			stopping = true
			cancel()
		}
	}
}

// untilExpiry sets a timer to when the token that --token names expires.
func (r *running) untilExpiry(t *time.Timer) {
	for _, known := range r.fleet.cfg.Tokens {
		if known.Name == r.flags.token && !known.Expires.IsZero() {
			t.Reset(max(time.Until(known.Expires), 0))
		}
	}
}

// stdioCaller is who calls over stdio. Nobody shows a token there: who may start the
// process may read the configuration.
func (r *running) stdioCaller(f *fleet) (gateway.Caller, error) {
	c := gateway.Caller{}
	var err error
	if r.flags.token == "" {
		c, err = f.caller(localCaller, r.flags.policy)
	} else {
		c, err = f.tokenCaller(r.flags.token, time.Now())
	}
	if err == nil {
		c.AskClient = r.asksClient(f)
		c.Session = r.shared.options(c.Name)
		c.Session.Caller = c.Name
	}
	return c, err
}

// asksClient reports that the client on stdio may ask: the token that --token names says so,
// or else the configuration.
func (r *running) asksClient(f *fleet) bool {
	for _, t := range f.cfg.Tokens {
		if t.Name == r.flags.token && (t.AskClient || t.AskCode) {
			return t.AskClient
		}
	}
	return !f.cfg.Approvals.AskCode
}

// requests tells when somebody asks for a reload; never without an entry.
func (r *running) requests() <-chan struct{} {
	if r.instance == nil {
		return nil
	}
	return r.instance.Requests()
}

// sayStart logs what runs, and what weakens it.
func (r *running) sayStart() {
	f := r.fleet
	var policies []*policy.Policy
	for _, name := range slices.Sorted(maps.Keys(f.engines)) {
		policies = append(policies, f.engines[name].Policy())
	}
	f.sayDry(r.log, policies)
	if len(f.cfg.Policies) == 0 {
		r.log.Info("no policy is configured: every tool, resource and prompt is allowed; packs, the fallback contracts and the flow check are what guards")
	}
	for _, w := range lint.Check(f.cfg, lint.Options{Now: time.Now()}).Findings {
		if w.Severity >= lint.Warning {
			r.log.Warn(w.Text, "code", w.Code, "at", w.Place())
		}
	}
	path := f.auditPath
	if path == "" {
		path = "none"
	}
	r.log.Info("fronting", "upstreams", f.upstreamNames(), "configuration", f.cfg.File, "digest", f.cfg.Digest, "audit", path)
}
