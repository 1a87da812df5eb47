package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport/e2e/peer"
)

// unprefixed serves both eras at one URL as the gateway does: tools have a prefix, and the
// call that ends an upstream gets an error. spoil may change what a server answers to.
func unprefixed(t *testing.T, spoil func(*peer.Request) bool) string {
	t.Helper()
	servers := map[peer.Era]*peer.Server{}
	for _, era := range []peer.Era{peer.Handshake, peer.Stateless} {
		s := newUpstream(era)
		inner := s.Handle
		s.Handle = func(ctx context.Context, q *peer.Request) {
			if spoil(q) {
				return
			}
			if bytes.Contains(q.Params, []byte("__crash")) {
				q.Fail([]byte(`{"code":-32000,"message":"the server ended"}`))
				return
			}
			for _, u := range upstreams {
				q.Params = bytes.ReplaceAll(q.Params, []byte(u+"__"), nil)
			}
			inner(ctx, q)
		}
		servers[era] = s
	}
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") == peer.StatelessVersion {
			// The real one has the prefix in both; here the header goes along with the body.
			servers[peer.Stateless].ServeHTTP(w, r)
			return
		}
		servers[peer.Handshake].ServeHTTP(w, r)
	}))
	t.Cleanup(h.Close)
	return h.URL
}

func drive(t *testing.T, spoil func(*peer.Request) bool) *soak {
	t.Helper()
	s := &soak{workers: 6, counts: map[string]int{}}
	s.traffic(t.Context(), unprefixed(t, spoil), 3*time.Second, func(ctx context.Context) { <-ctx.Done() })
	t.Log(s.counted())
	return s
}

func TestTrafficFindsNoFaultInServersThatHaveNone(t *testing.T) {
	s := drive(t, func(*peer.Request) bool { return false })
	if len(s.faults) > 0 {
		t.Error(s.faults)
	}
	for _, what := range []string{"calls answered", "calls left", "lists", "clients"} {
		if s.counts[what] == 0 {
			t.Errorf("no %s", what)
		}
	}
}

func TestTrafficFindsFaults(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*peer.Request) bool
		want  string
	}{
		"the answer of another call": {func(q *peer.Request) bool {
			q.Params = bytes.ReplaceAll(q.Params, []byte(`"nonce":"w3`), []byte(`"nonce":"w2`))
			return false
		}, "the answer is for"},
		"an error of the server that has none": {func(q *peer.Request) bool {
			if bytes.Contains(q.Params, []byte("plain__echo")) {
				q.Fail([]byte(`{"code":1,"message":"no"}`))
				return true
			}
			return false
		}, "echo of plain failed"},
	} {
		t.Run(name, func(t *testing.T) {
			s := drive(t, c.spoil)
			if !slices.ContainsFunc(s.faults, func(f string) bool { return strings.Contains(f, c.want) }) {
				t.Errorf("%q is not among %q", c.want, s.faults)
			}
		})
	}
}
