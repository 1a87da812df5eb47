package gateway

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/upstream"
)

// What one stateless client asks never ends another's call: a session makes room for another
// while nothing is open in it, and not otherwise.
func TestASessionWithACallIsNotEvicted(t *testing.T) {
	a := toolServer("a", "look").stateless()
	r := newRig(t, Options{MaxStateless: 2}, a)
	s := r.overHTTP(newCaller(t, "ann", everything, nil))
	var clients sync.WaitGroup
	for i := range 4 {
		clients.Go(func() {
			meta := strings.Replace(modernMeta, `"name":"c"`, fmt.Sprintf(`"name":"c%d"`, i), 1)
			for range 50 {
				p := post(t, s.URL, "ann", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look","arguments":{},`+meta+`}}`,
					"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "look")
				busy := p.status == http.StatusServiceUnavailable
				if !busy && (p.status != http.StatusOK || !strings.Contains(p.body, "a ran")) {
					t.Errorf("%d %s", p.status, p.body)
					return
				}
			}
		})
	}
	clients.Wait()
}

// Whoever chose a session to make room looked before: a call that has begun since keeps it.
func TestACallThatHasJustBegunKeepsItsSession(t *testing.T) {
	r := newRig(t, Options{MaxStateless: 1}, toolServer("a", "look").stateless())
	s, err := r.newSession(newCaller(t, "ann", everything, nil), upstream.Stateless, []byte(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	c, why, _ := s.begin(t.Context(), line{}, message(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	if c == nil {
		t.Fatal(why)
	}
	s.endUnused()
	if s.endFree("it was not used") {
		t.Error("ended with a call")
	}
	if _, why, _ := s.begin(t.Context(), line{}, message(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)); why != "" {
		t.Error(why)
	}
	s.end("over")
	if !s.endFree("again") {
		t.Error("what has ended has not")
	}
}
