//go:build unix

package upstream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// What a server speaks is found out, whatever it does with a greeting that it does not know.
func TestErasOverStdio(t *testing.T) {
	for _, c := range []struct {
		server string
		client Client
		want   Era // 0: it is refused
	}{
		{"legacy", handshakeClient, Handshake},
		{"legacy", statelessClient, Handshake},
		{"legacy crash", statelessClient, Handshake},
		{"legacy oldest", statelessClient, Handshake},
		{"modern", statelessClient, Stateless},
		{"modern", handshakeClient, Stateless},
		{"legacy modern", handshakeClient, Handshake},
		{"legacy modern", statelessClient, Stateless},
		{"future", statelessClient, 0},
		{"future", handshakeClient, 0},
		{"neither", statelessClient, 0},
		{"neither", handshakeClient, 0},
		{"legacy", Client{Era: Stateless, Params: discoverParams}, 0},
		{"modern", Client{Era: Handshake, Params: initParams(mcp.V20251125)}, 0},
	} {
		t.Run(fmt.Sprint(c.server, " for ", c.client.Era, " want ", c.want), func(t *testing.T) {
			t.Parallel()
			s := newFake(t, c.server, nil)
			for range 2 { // the second time from memory
				conn, hello, err := s.Open(t.Context(), c.client, func(mcp.Message) {})
				if c.want == 0 {
					if !errors.Is(err, ErrRefused) || strings.Contains(err.Error(), "ignore") {
						t.Error(err)
					}
					if st := s.Status(); st.State != Down || st.Conns != 0 {
						t.Errorf("%+v", st)
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				version := map[Era]string{Handshake: mcp.V20251125, Stateless: mcp.V20260728}[c.want]
				if conn.Era() != c.want || conn.Version() != version {
					t.Error(conn.Era(), conn.Version())
				}
				if got := memberOf(hello.Result, map[Era]string{Handshake: "protocolVersion", Stateless: "supportedVersions"}[c.want]); got == nil {
					t.Errorf("%s", hello.Raw)
				}
				do(t, conn, req(1, "test/echo", "{}"), nil)
			}
		})
	}
}

// A server that says nothing to server/discover gets initialize after a while, and at once
// from then on; one that is only slow to start is not taken for a legacy one.
func TestSilentProbe(t *testing.T) {
	for traits, want := range map[string]Era{"legacy mute": Handshake, "slow modern": Stateless} {
		t.Run(traits, func(t *testing.T) {
			t.Parallel()
			s := newFake(t, traits, nil)
			s.probe = 300 * time.Millisecond
			began := time.Now()
			c := open(t, s, statelessClient, nil)
			if c.Era() != want {
				t.Error(c.Era())
			}
			if took := time.Since(began); took < s.probe {
				t.Error("after", took)
			}
			do(t, c, req(1, "test/echo", "{}"), nil)
			if want == Stateless {
				return
			}
			s.probe = time.Hour
			open(t, s, statelessClient, nil)
		})
	}
}

// What was concluded from silence is forgotten when the server fails; what it said is only
// tried last.
func TestOrderOfGreetings(t *testing.T) {
	var e eras
	order := func(c Client) string { return fmt.Sprint(e.order(c)) }
	if got := order(statelessClient); got != "[stateless handshake]" {
		t.Error(got)
	}
	e[Stateless], e[Handshake] = silent, speaks
	if got := order(statelessClient); got != "[handshake stateless]" {
		t.Error(got)
	}
	e.doubt()
	if got := order(statelessClient); got != "[stateless handshake]" {
		t.Error(got)
	}
	e[Stateless] = refuses
	e.doubt()
	if got := order(statelessClient); got != "[handshake stateless]" {
		t.Error(got)
	}
	if got := order(Client{Era: Stateless, Params: discoverParams}); got != "[stateless]" {
		t.Error(got)
	}
}

// B043: a start has a limit, and who opens may give up sooner; nothing is left of it.
func TestStartLimit(t *testing.T) {
	s := newFake(t, "slow legacy", func(o *Options) { o.StartTimeout = 300 * time.Millisecond })
	_, _, err := s.Open(t.Context(), handshakeClient, nil)
	if !errors.Is(err, ErrTimeout) {
		t.Fatal(err)
	}
	st := s.Status()
	if st.State != Down || st.Conns != 0 || st.Retry.IsZero() {
		t.Errorf("%+v", st)
	}
	s.mu.Lock()
	if s.slots != 0 {
		t.Error(s.slots, "slots")
	}
	s.mu.Unlock()
	var paused *Paused
	if _, _, err := s.Open(t.Context(), handshakeClient, nil); !errors.As(err, &paused) || !paused.Until.Equal(st.Retry) || !errors.Is(err, ErrTimeout) {
		t.Error(err)
	}

	s = newFake(t, "slow legacy", nil)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, _, err := s.Open(ctx, handshakeClient, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	if st := s.Status(); st.State != Unknown || !st.Retry.IsZero() {
		t.Errorf("the caller's haste is no failure: %+v", st)
	}
}

// B016: a command that is not there is an error that names it and the PATH.
func TestNoCommand(t *testing.T) {
	var log logText
	s := newServer(t, Options{Name: "gone", Command: "no-such-command", Env: []string{"PATH=/nowhere"}, Log: log.logger()})
	for range 3 {
		if _, _, err := s.Open(t.Context(), handshakeClient, nil); err == nil || !strings.Contains(err.Error(), "no-such-command") || !strings.Contains(err.Error(), "/nowhere") {
			t.Error(err)
		}
	}
	if got := log.String(); strings.Count(got, "the server is down") != 1 {
		t.Error(got)
	}
}

func TestOpenNeedsAGreeting(t *testing.T) {
	s := newFake(t, "legacy", nil)
	for _, c := range []Client{{}, {Era: Handshake}, {Era: 7, Params: discoverParams}, {Era: Handshake, Params: []byte("{")}} {
		if _, _, err := s.Open(t.Context(), c, nil); !errors.Is(err, ErrNotSent) {
			t.Error(err)
		}
	}
	if st := s.Status(); st.State != Unknown {
		t.Errorf("%+v", st)
	}
}
