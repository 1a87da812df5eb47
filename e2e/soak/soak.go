package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/sallyport-dev/sallyport/e2e/peer"
	"github.com/sallyport-dev/sallyport/e2e/rig"
)

// soak is one run.
type soak struct {
	length       time.Duration
	workers      int
	gateway, dir string
	race         bool

	self     string // this program, as the command of the stdio upstreams
	web      *peer.Server
	webURL   string
	plainURL string

	mu     sync.Mutex
	faults []string
	counts map[string]int
}

// What may be held after the traffic beyond what was held after its first part. Files and
// processes come and go with connections that are kept for a while; memory is what the
// runtime has not given back.
const (
	moreFiles, moreThreads, moreChildren = 8, 12, 0
	moreMemory                           = 48 << 10 // KiB
	moreGoroutines                       = 12
)

var callers = []string{"anna", "ben", "carla", "dan"}

func (s *soak) run(ctx context.Context) ([]string, error) {
	if err := s.prepare(); err != nil {
		return nil, err
	}
	if s.dir == "" {
		dir, err := os.MkdirTemp("", "sallyport-soak-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
		s.dir = dir
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	if s.gateway == "" {
		var err error
		if s.gateway, err = rig.Build(s.dir, rig.Program, s.race); err != nil {
			return nil, err
		}
	}
	s.counts = map[string]int{}
	s.web = newUpstream(peer.Handshake)
	for _, one := range []struct {
		server *peer.Server
		url    *string
	}{{s.web, &s.webURL}, {newUpstream(peer.Stateless), &s.plainURL}} {
		http := httptest.NewServer(one.server)
		defer http.Close()
		*one.url = http.URL + "/mcp"
	}
	return s.judge(ctx)
}

// prepare finds this program, which is also the upstream.
func (s *soak) prepare() error {
	var err error
	s.self, err = os.Executable()
	return err
}

// judge runs the traffic in two parts and compares what the gateway holds after each.
func (s *soak) judge(ctx context.Context) ([]string, error) {
	stderr, err := os.Create(filepath.Join(s.dir, "stderr.txt"))
	if err != nil {
		return nil, err
	}
	defer stderr.Close()
	g, err := rig.StartGateway(ctx, rig.GatewayOptions{Binary: s.gateway, Dir: s.dir, Config: s.config(0), Stderr: stderr})
	if err != nil {
		return nil, err
	}
	closed := false
	defer func() {
		if !closed {
			g.Close() //nolint:errcheck // another error is on its way
		}
	}()
	var after [2]rig.Figures
	for i, part := range []time.Duration{s.length / 4, s.length - s.length/4} {
		s.traffic(ctx, g.URL, part, func(ctx context.Context) { s.reload(ctx, g) })
		if after[i], err = settle(ctx, g); err != nil {
			return s.faults, err
		}
		fmt.Printf("after part %d (%v): %v; %s\n", i+1, part, after[i], s.counted())
	}
	s.grown(after[0], after[1])
	// The runtime writes the stack of each goroutine when it is told to quit.
	if err := g.Signal(syscall.SIGQUIT); err != nil {
		return s.faults, err
	}
	closed = true
	if err := g.Close(); err != nil {
		s.fault("%v", err)
	}
	dump, err := os.ReadFile(stderr.Name())
	if err != nil {
		return s.faults, err
	}
	s.goroutines(dump)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.faults, nil
}

// goroutines counts the goroutines of an idle gateway. What serves nobody needs a few for
// its listener, its signals and each upstream process or connection that is kept.
func (s *soak) goroutines(dump []byte) {
	_, stacks, ok := bytes.Cut(dump, []byte("SIGQUIT: quit"))
	n := bytes.Count(stacks, []byte("\ngoroutine "))
	if !ok || n == 0 {
		s.fault("the gateway did not show its goroutines")
		return
	}
	fmt.Printf("%d goroutines in the idle gateway\n", n)
	if limit := idleGoroutines + moreGoroutines; n > limit {
		s.fault("%d goroutines are left in the idle gateway, more than %d; stderr.txt has their stacks", n, limit)
	}
}

const idleGoroutines = 40

func (s *soak) grown(before, after rig.Figures) {
	for _, c := range []struct {
		what              string
		before, now, more int
	}{
		{"open files", before.Files, after.Files, moreFiles},
		{"threads", before.Threads, after.Threads, moreThreads},
		{"processes below it", before.Children, after.Children, moreChildren},
		{"KiB of memory", before.RSS, after.RSS, moreMemory},
	} {
		if c.what == "KiB of memory" && s.race {
			continue
		}
		if c.now > c.before+c.more {
			s.fault("the gateway holds %d %s after all the traffic, %d after its first part", c.now, c.what, c.before)
		}
	}
}

// settle waits until the figures have not changed for a while.
func settle(ctx context.Context, g *rig.Gateway) (rig.Figures, error) {
	const calm, patience, step = 16, 60 * time.Second, 500 * time.Millisecond
	tick := time.NewTicker(step)
	defer tick.Stop()
	var last rig.Figures
	for same, waited := 0, time.Duration(0); same < calm && waited < patience; waited += step {
		select {
		case <-tick.C:
		case <-g.Ended():
			return last, fmt.Errorf("the gateway ended:\n%s", g.Log())
		case <-ctx.Done():
			return last, ctx.Err()
		}
		now, err := g.Figures()
		if err != nil {
			return last, err
		}
		if same++; now.Files != last.Files || now.Children != last.Children {
			same = 0
		}
		last = now
	}
	return last, nil
}

func (s *soak) fault(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.faults) < 50 {
		s.faults = append(s.faults, fmt.Sprintf(format, args...))
	}
}

func (s *soak) count(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[what]++
}

func (s *soak) counted() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for k, n := range s.counts {
		all = append(all, fmt.Sprintf("%d %s", n, k))
	}
	slices.Sort(all)
	return fmt.Sprint(all)
}

// config is the gateway's configuration; odd editions have one upstream more. Conversations
// end soon after the traffic: what stateless clients share would keep them otherwise.
func (s *soak) config(edition int) string {
	text := "version: 1\nserver: {namespace: always}\nupstreams:\n" +
		fmt.Sprintf("  child: {transport: stdio, command: %q, args: [-upstream, handshake], idle: 3s}\n", s.self) +
		fmt.Sprintf("  plainchild: {transport: stdio, command: %q, args: [-upstream, stateless], idle: 3s}\n", s.self) +
		fmt.Sprintf("  web: {transport: http, url: %q, idle: 3s}\n  plain: {transport: http, url: %q, idle: 3s}\n", s.webURL, s.plainURL)
	if edition%2 == 1 {
		text += fmt.Sprintf("  more: {transport: http, url: %q, idle: 3s}\n", s.plainURL)
	}
	text += "tools:\n"
	for _, u := range upstreams {
		for _, t := range tools {
			text += fmt.Sprintf("  %s/%s: {max_calls: 100000000}\n", u, t)
		}
	}
	text += "flow: {carried: allow, copies: allow, unknown: allow, ledger_mb: 4}\n" + rig.AllowAll + "tokens:\n"
	for _, c := range callers {
		text += rig.Token(c, "open")
	}
	return text
}

// reload writes good and bad configurations and has them read.
func (s *soak) reload(ctx context.Context, g *rig.Gateway) {
	tick := time.NewTicker(3 * time.Second)
	defer tick.Stop()
	for i := 1; ; i++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			// Both parts end with the same configuration.
			if err := errors.Join(g.WriteConfig(s.config(0)), g.Reload()); err != nil {
				s.fault("reload: %v", err)
			}
			return
		}
		text := s.config(i)
		if i%4 == 3 {
			text += "no_such_key: 1\n"
		}
		if err := errors.Join(g.WriteConfig(text), g.Reload()); err != nil {
			s.fault("reload: %v", err)
			return
		}
		s.count("reloads")
		if i%3 == 0 {
			s.web.Forget()
			s.count("lost upstream sessions")
		}
	}
}
