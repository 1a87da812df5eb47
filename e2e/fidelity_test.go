package e2e

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	json "encoding/json/v2"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport/e2e/peer"
	"github.com/sallyport-dev/sallyport/e2e/rig"
)

var (
	fidelityCases = flag.Int("fidelity.cases", 120, "random requests for each pairing of eras")
	fidelitySeed  = flag.Uint64("fidelity.seed", 0, "seed of the random requests; 0: the day's")
)

// pairing is the era of the client and the era of the server.
type pairing struct {
	client, server peer.Era
	direct         bool // nothing stands between
}

func (p pairing) String() string {
	return p.client.String() + " client, " + p.server.String() + " server"
}

// What is sent through the gateway arrives byte for byte, in both directions and in every
// pairing of eras, but for what changed lists.
func TestFidelity(t *testing.T) {
	seed := *fidelitySeed
	if seed == 0 {
		seed = uint64(time.Now().Unix() / 86400)
	}
	t.Logf("-fidelity.seed=%d", seed)
	for _, server := range []peer.Era{peer.Handshake, peer.Stateless} {
		w := newWorld(t, server)
		for _, client := range []peer.Era{peer.Handshake, peer.Stateless} {
			p := pairing{client: client, server: server}
			if client == server {
				t.Run(p.String()+", directly", func(t *testing.T) { w.fidelity(t, p, "", seed, *fidelityCases/4) })
			}
			t.Run(p.String(), func(t *testing.T) { w.fidelity(t, p, w.gateway().URL, seed, *fidelityCases) })
		}
	}
}

// fidelityConfig stands no call in the way: the contract has no sinks, so that random
// text is no destination, and what is copied from one call into the next is let through.
func fidelityConfig(upstream string) string {
	return "version: 1\nserver: {upstream_timeout: 5m}\nupstreams:\n  peer: {transport: http, url: " + upstream + "}\n" +
		"tools:\n  carry: {max_calls: 1000000}\nflow: {carried: allow, copies: allow, unknown: allow}\n" +
		rig.AllowAll + "tokens:\n" + rig.Token("peer", "open")
}

// world is a server that records and replays, and the gateway before it.
type world struct {
	t       *testing.T
	era     peer.Era
	url     string
	gateway func() *rig.Gateway

	mu   sync.Mutex
	now  *shipment
	seen arrival
}

// arrival is what came to the other end.
type arrival struct {
	params  []byte            // at the server
	answers map[string][]byte // to its questions, at the server
}

func newWorld(t *testing.T, era peer.Era) *world {
	w := &world{t: t, era: era}
	s := &peer.Server{Era: era, Capabilities: `{"tools":{},"resources":{},"prompts":{},"completions":{}}`, Handle: w.serve}
	http := httptest.NewServer(s)
	t.Cleanup(http.Close)
	w.url = http.URL + "/mcp"
	w.gateway = sync.OnceValue(func() *rig.Gateway { return gateway(t, fidelityConfig(w.url)) })
	return w
}

// gateway starts the program over HTTP for the length of a test.
func gateway(t *testing.T, config string, args ...string) *rig.Gateway {
	t.Helper()
	g, err := rig.StartGateway(t.Context(), rig.GatewayOptions{Binary: binary(t, "sallyport"), Dir: realDir(t), Config: config, Args: args})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the gateway wrote:\n%s", g.Log())
		}
	})
	return g
}

func (w *world) fidelity(t *testing.T, p pairing, url string, seed uint64, cases int) {
	secret := rig.Secret("peer")
	if url == "" {
		url, secret, p.direct = w.url, "", true
	}
	c := newAsked(t, p.client, url, secret)
	stream := uint64(p.client)<<1 | uint64(p.server)
	r := &randomJSON{Rand: rand.New(rand.NewPCG(seed, stream))}
	for i := range cases {
		if t.Failed() {
			t.Fatalf("case %d of seed %d", i-1, seed)
		}
		w.carry(t, c, p, r.shipment(p))
	}
	for _, s := range r.largest(p) {
		w.carry(t, c, p, s)
	}
}

// carry sends one shipment and compares both ends.
func (w *world) carry(t *testing.T, c *asked, p pairing, s *shipment) {
	t.Helper()
	w.mu.Lock()
	w.now, w.seen = s, arrival{answers: map[string][]byte{}}
	w.mu.Unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	got, err := c.call(ctx, s)
	if err != nil {
		t.Errorf("%s: %v", s, err)
		return
	}
	w.mu.Lock()
	seen := w.seen
	w.mu.Unlock()

	equal(t, s, "params at the server", p.normal(paramsChanged, s.params), p.normal(paramsChanged, string(seen.params)))
	equal(t, s, "result at the client", p.normal(resultChanged, s.result), p.normal(resultChanged, string(got.frame.Result)))
	equal(t, s, "error at the client", p.failure(s), string(got.frame.Error))
	if len(got.progress) != len(s.progress) {
		t.Errorf("%s: %d notifications of progress came, want %d", s, len(got.progress), len(s.progress))
	}
	for i := range min(len(got.progress), len(s.progress)) {
		equal(t, s, "progress at the client", strings.ReplaceAll(s.progress[i], tokenMark, s.token), got.progress[i])
	}
	for i, a := range s.asks {
		key := fmt.Sprintf("ask-%d", i)
		// A question has its server's name in front: the one thing that the gateway puts in.
		named := a.params
		if !p.direct {
			named = strings.Replace(named, `"message":"`+key+`"`, `"message":"The server 'peer' asks: `+key+`"`, 1)
		}
		equal(t, s, key+" at the client", p.normal(askChanged, named), p.normal(askChanged, got.asked[key]))
		equal(t, s, key+" answered, at the server", p.normal(answerChanged, a.answer), p.normal(answerChanged, string(seen.answers[key])))
	}
	if len(got.asked) != len(s.asks) {
		t.Errorf("%s: asked %d questions, want %d", s, len(got.asked), len(s.asks))
	}
}

func equal(t *testing.T, s *shipment, what, want, got string) {
	t.Helper()
	if want == got {
		return
	}
	i := 0
	for i < len(want) && i < len(got) && want[i] == got[i] {
		i++
	}
	around := func(text string) string { return text[max(0, min(i-100, len(text))):min(len(text), i+200)] }
	t.Errorf("%s: %s differ at byte %d of %d (got %d):\n want …%s…\n got  …%s…", s, what, i, len(want), len(got), around(want), around(got))
}

// changed lists, by path, the members that the gateway adds, takes out or rewrites
// between two eras; docs/protocol.md says why. All other bytes must arrive as they were.
type changed struct {
	always, between [][]string // between: only if the eras differ
}

var (
	metaOfClient = [][]string{
		{"_meta", "io.modelcontextprotocol/protocolVersion"},
		{"_meta", "io.modelcontextprotocol/clientInfo"},
		{"_meta", "io.modelcontextprotocol/clientCapabilities"},
		{"_meta", "io.modelcontextprotocol/logLevel"},
	}
	// The gateway has progress tokens of its own towards the server.
	paramsChanged = changed{always: [][]string{{"_meta", "progressToken"}}, between: metaOfClient}
	// What a cache may keep of a read is for the caller alone. The other two are members of
	// one era's results.
	resultChanged = changed{
		always:  [][]string{{"cacheScope"}},
		between: [][]string{{"resultType"}, {"ttlMs"}, {"_meta", "io.modelcontextprotocol/serverInfo"}},
	}
	askChanged    = changed{}
	answerChanged = changed{}
)

// failure is the error that has to arrive. A resource that is not there is -32002 in the
// handshake era and -32602 from 2026-07-28 on.
func (p pairing) failure(s *shipment) string {
	if s.method == "resources/read" && p.client == peer.Stateless && p.server == peer.Handshake {
		return strings.Replace(s.failure, `"code":-32002`, `"code":-32602`, 1)
	}
	return s.failure
}

// normal is raw without the members that may differ. An object on the way to one is
// written as its members in order; a _meta of which nothing is left is left out.
func (p pairing) normal(c changed, raw string) string {
	paths := c.always
	if p.client != p.server {
		paths = append(append([][]string{}, paths...), c.between...)
	}
	if raw == "" || len(paths) == 0 {
		return raw
	}
	out, err := without([]byte(raw), paths)
	if err != nil {
		return "not JSON: " + raw
	}
	return string(out)
}

func without(raw []byte, paths [][]string) ([]byte, error) {
	if len(paths) == 0 || jsontext.Value(raw).Kind() != '{' {
		return raw, nil
	}
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for d.PeekKind() != '}' {
		name, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		name = name.Clone()
		value, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		var plain string
		if err := json.Unmarshal(name, &plain); err != nil {
			return nil, err
		}
		var below [][]string
		cut := false
		for _, path := range paths {
			if path[0] == plain {
				if cut = cut || len(path) == 1; len(path) > 1 {
					below = append(below, path[1:])
				}
			}
		}
		if cut {
			continue
		}
		inner, err := without(value, below)
		if err != nil {
			return nil, err
		}
		if len(below) > 0 && len(bytes.TrimSpace(bytes.Trim(inner, "{}"))) == 0 {
			continue
		}
		fmt.Fprintf(&out, "%s=%s\n", name, inner)
	}
	return out.Bytes(), nil
}
