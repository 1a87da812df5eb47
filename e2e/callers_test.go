package e2e

import (
	"context"
	json "encoding/json/v2"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport/e2e/peer"
	"github.com/sallyport-dev/sallyport/e2e/rig"
)

// office is a server with a little of everything, which notes who used which session.
type office struct {
	*peer.Server
	url string

	mu         sync.Mutex
	callers    map[string]map[string]bool // by session: the callers that the nonces name
	subscribed map[string]string          // URI by session
	pause      chan struct{}              // calls of wait go on once it is closed
	arrived    func()                     // at each call of wait
}

func newOffice(t *testing.T, era peer.Era) *office {
	o := &office{callers: map[string]map[string]bool{}, subscribed: map[string]string{}, pause: make(chan struct{})}
	o.Server = &peer.Server{Era: era, Capabilities: `{"tools":{"listChanged":true},"resources":{"subscribe":true},"prompts":{}}`, Handle: o.handle}
	h := httptest.NewServer(o.Server)
	t.Cleanup(h.Close)
	o.url = h.URL + "/mcp"
	return o
}

func (o *office) handle(ctx context.Context, q *peer.Request) {
	more, lists := "", ""
	if o.Era == peer.Stateless {
		more = `,"resultType":"complete"`
		lists = more + `,"ttlMs":0,"cacheScope":"public"`
	}
	var p struct {
		URI       string `json:"uri"`
		Name      string `json:"name"`
		Arguments struct {
			Nonce string `json:"nonce"`
		} `json:"arguments"`
	}
	if err := json.Unmarshal(q.Params, &p); q.Params != nil && err != nil {
		q.Fail([]byte(`{"code":-32602,"message":"not readable"}`))
		return
	}
	switch q.Method {
	case "tools/list":
		var all []string
		for _, name := range []string{"get_note", "wait", "few", "limited", "shred"} {
			all = append(all, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object","properties":{"nonce":{"type":"string"}}}}`, name))
		}
		q.Reply([]byte(`{"tools":[` + strings.Join(all, ",") + `]` + lists + `}`))
	case "resources/list":
		q.Reply(fmt.Appendf(nil, `{"resources":[{"uri":"%[1]s://anna/1","name":"1"},{"uri":"%[1]s://ben/1","name":"2"}]%[2]s}`, o.scheme(), lists))
	case "resources/templates/list":
		q.Reply([]byte(`{"resourceTemplates":[]` + lists + `}`))
	case "prompts/list":
		q.Reply([]byte(`{"prompts":[]` + lists + `}`))
	case "resources/read":
		q.Reply(fmt.Appendf(nil, `{"contents":[{"uri":%q,"text":"what stands in %s"}]%s}`, p.URI, p.URI, lists))
	case "resources/subscribe":
		o.mu.Lock()
		o.subscribed[q.Session] = p.URI
		o.mu.Unlock()
		q.Reply([]byte(`{}`))
	case "tools/call":
		o.call(ctx, q, p.Name, p.Arguments.Nonce, more)
	default:
		q.Reply([]byte(`{` + strings.TrimPrefix(more, ",") + `}`))
	}
}

// scheme is that of its resources: what two servers list is neither's for certain.
func (o *office) scheme() string {
	if o.Era == peer.Stateless {
		return "plain"
	}
	return "office"
}

func (o *office) call(ctx context.Context, q *peer.Request, name, nonce, more string) {
	caller, _, _ := strings.Cut(nonce, " ")
	o.mu.Lock()
	if o.callers[q.Session] == nil {
		o.callers[q.Session] = map[string]bool{}
	}
	o.callers[q.Session][caller] = true
	o.mu.Unlock()
	if token := q.ProgressToken(); token != nil {
		for i := range 3 {
			q.Notify("notifications/progress", fmt.Appendf(nil, `{"progressToken":%s,"progress":%d,"message":%q}`, token, i+1, nonce))
		}
	}
	if name == "wait" {
		o.arrived()
		select {
		case <-o.pause:
		case <-ctx.Done():
			return
		}
	}
	q.Reply(fmt.Appendf(nil, `{"content":[{"type":"text","text":%q}]%s}`, "for "+nonce, more))
}

// twoCallers is a gateway with a caller who may do everything, anna, and one who may read,
// ben.
func twoCallers(t *testing.T, handshake, stateless *office) *rig.Gateway {
	return gateway(t, fmt.Sprintf(`version: 1
server: {namespace: always}
upstreams:
  old: {transport: http, url: %q}
  new: {transport: http, url: %q}
tools:
  old/few: {max_calls: 3}
  new/few: {max_calls: 3}
  old/get_note: {max_calls: 1000000}
  new/get_note: {max_calls: 1000000}
  old/wait: {max_calls: 1000000}
  new/wait: {max_calls: 1000000}
  old/limited: {max_calls: 1000000}
rate_limits:
  two: {rate: 2, per: 24h, burst: 2, scope: token}
policies:
  all:
    default: allow
    rules:
      - {name: limited, effect: allow, tools: [old__limited], rate_limits: [two]}
      - {name: resources, effect: allow, resources: ["*"]}
  reading:
    hide_denied_tools: true
    hide_denied_resources: true
    rules:
      - {name: limited, effect: allow, tools: [old__limited], rate_limits: [two]}
      - {name: reads, effect: allow, tools: ["*__get_note", "*__few", "*__wait"]}
      - {name: own, effect: allow, resources: ["office://ben/*", "plain://ben/*"]}
tokens:
`, handshake.url, stateless.url)+rig.Token("anna", "all")+rig.Token("ben", "reading"))
}

// said is what reached a client beside its answers.
type said struct {
	mu   sync.Mutex
	all  []string
	more chan struct{} // closed and replaced whenever all grows
}

func (s *said) note(method string, params []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, method+" "+string(params))
	close(s.more)
	s.more = make(chan struct{})
}

// until waits for something with part in it.
func (s *said) until(t *testing.T, part string) {
	t.Helper()
	deadline := time.After(patience)
	for {
		s.mu.Lock()
		more := s.more
		s.mu.Unlock()
		if len(s.with(part)) > 0 {
			return
		}
		select {
		case <-more:
		case <-deadline:
			t.Fatalf("%q did not come within %v", part, patience)
		}
	}
}

func (s *said) with(part string) (found []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.all {
		if strings.Contains(line, part) {
			found = append(found, line)
		}
	}
	return found
}

func as(t *testing.T, g *rig.Gateway, caller string, era peer.Era) (*peer.Client, *said) {
	t.Helper()
	heard := &said{more: make(chan struct{})}
	c, err := peer.Dial(t.Context(), peer.ClientOptions{
		URL: g.URL, Secret: rig.Secret(caller), Era: era, Notice: heard.note, Listen: era == peer.Handshake,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, heard
}

// asks makes a call and returns the text of its result or the message of its error.
func asks(t *testing.T, c *peer.Client, method, members string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	f, err := c.Call(ctx, method, c.Params(members))
	if err != nil {
		t.Fatalf("%s %s: %v", method, members, err)
	}
	return string(f.Result) + string(f.Error)
}

func callOf(tool, nonce string) string {
	return fmt.Sprintf(`"name":%q,"arguments":{"nonce":%q}`, tool, nonce)
}

func TestTwoCallersAreApart(t *testing.T) {
	old, plain := newOffice(t, peer.Handshake), newOffice(t, peer.Stateless)
	g := twoCallers(t, old, plain)
	for _, era := range []peer.Era{peer.Handshake, peer.Stateless} {
		t.Run(era.String(), func(t *testing.T) {
			anna, _ := as(t, g, "anna", era)
			ben, _ := as(t, g, "ben", era)
			wantTools(t, anna, "old__few", "old__get_note", "old__limited", "old__shred", "old__wait", "new__few", "new__get_note", "new__limited", "new__shred", "new__wait")
			wantTools(t, ben, "old__few", "old__get_note", "old__limited", "old__wait", "new__few", "new__get_note", "new__wait")
			if got := asks(t, ben, "tools/call", callOf("old__shred", "ben shreds")); !strings.Contains(got, "[sallyport blocked]") {
				t.Errorf("a hidden tool: %s", got)
			}
			if got := asks(t, ben, "resources/list", ""); strings.Contains(got, "anna") || !strings.Contains(got, "office://ben/1") {
				t.Errorf("ben sees %s", got)
			}
			if got := asks(t, ben, "resources/read", `"uri":"office://anna/1"`); !strings.Contains(got, "-31403") {
				t.Errorf("ben reads what is anna's: %s", got)
			}
			if got := asks(t, anna, "resources/read", `"uri":"office://anna/1"`); !strings.Contains(got, "what stands in") {
				t.Errorf("anna reads: %s", got)
			}
		})
	}
	t.Run("budgets and rates", func(t *testing.T) { apartBudgets(t, g) })
	t.Run("sessions", func(t *testing.T) { apartSessions(t, g) })
	t.Run("subscriptions", func(t *testing.T) { apartSubscriptions(t, g, old) })
	old.apart(t)
}

func wantTools(t *testing.T, c *peer.Client, want ...string) {
	t.Helper()
	var list struct {
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
	}
	got := asks(t, c, "tools/list", "")
	if err := json.Unmarshal([]byte(got), &list); err != nil {
		t.Fatalf("%v: %s", err, got)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	slices.Sort(want)
	if !slices.Equal(names, want) {
		t.Errorf("the tools are %v, want %v", names, want)
	}
}

// A budget is the caller's, whatever session it is used in; so is a rate.
func apartBudgets(t *testing.T, g *rig.Gateway) {
	for _, c := range []struct {
		tool string
		free int
	}{{"old__few", 3}, {"old__limited", 2}} {
		for _, caller := range []string{"anna", "ben"} {
			for i := range c.free + 1 {
				one, _ := as(t, g, caller, []peer.Era{peer.Handshake, peer.Stateless}[i%2])
				got := asks(t, one, "tools/call", callOf(c.tool, caller+" uses it"))
				if refused := strings.Contains(got, "[sallyport blocked]"); refused != (i == c.free) {
					t.Errorf("%s of %s, time %d: %s", c.tool, caller, i+1, got)
				}
			}
		}
	}
}

// A session is its caller's: for everybody else it is not there.
func apartSessions(t *testing.T, g *rig.Gateway) {
	anna, _ := as(t, g, "anna", peer.Handshake)
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		req, err := http.NewRequestWithContext(t.Context(), method, g.URL, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range map[string]string{
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer " + rig.Secret("ben"),
			"Mcp-Session-Id": anna.Session(), "Mcp-Protocol-Version": peer.HandshakeVersion,
		} {
			req.Header.Set(k, v)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s with the session of another caller: %d", method, resp.StatusCode)
		}
	}
	if got := asks(t, anna, "ping", ""); got != "{}" {
		t.Errorf("anna's own session: %s", got)
	}
}

func apartSubscriptions(t *testing.T, g *rig.Gateway, old *office) {
	anna, annaHeard := as(t, g, "anna", peer.Handshake)
	_, benHeard := as(t, g, "ben", peer.Handshake)
	if got := asks(t, anna, "resources/subscribe", `"uri":"office://anna/1"`); got != "{}" {
		t.Fatalf("subscribe: %s", got)
	}
	old.mu.Lock()
	for session, uri := range old.subscribed {
		old.PublishTo(session, "notifications/resources/updated", `{"uri":"`+uri+`"}`)
	}
	old.mu.Unlock()
	annaHeard.until(t, "office://anna/1")
	// What goes to ben by mistake is sent before this.
	old.Publish("notifications/tools/list_changed", "")
	benHeard.until(t, "tools/list_changed")
	if got := benHeard.with("office://anna"); len(got) > 0 {
		t.Errorf("ben heard %v", got)
	}
}

// apart checks that no session at the server was used for two callers.
func (o *office) apart(t *testing.T) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.Era == peer.Stateless {
		return
	}
	if len(o.callers) < 2 {
		t.Errorf("%d sessions were used at the server", len(o.callers))
	}
	for session, callers := range o.callers {
		if len(callers) > 1 {
			t.Errorf("the session %s was used for %v", session, callers)
		}
	}
}

// Sixty-four sessions of two callers and both eras call at the same time, with the same
// request ids and the same progress tokens. Each gets what is its own, once.
func TestManySessionsAtOnce(t *testing.T) {
	const sessions, rounds = 64, 6
	old, plain := newOffice(t, peer.Handshake), newOffice(t, peer.Stateless)
	g := twoCallers(t, old, plain)
	var all sync.WaitGroup
	waiting := make(chan struct{}, sessions)
	for _, o := range []*office{old, plain} {
		o.arrived = func() { waiting <- struct{}{} }
	}
	go func() { // every session is within its first call before one of them ends
		for range sessions {
			<-waiting
		}
		close(old.pause)
		close(plain.pause)
	}()
	for n := range sessions {
		all.Go(func() {
			caller := []string{"anna", "ben"}[n%2]
			c, heard := as(t, g, caller, []peer.Era{peer.Handshake, peer.Stateless}[n/2%2])
			for i := range rounds {
				up := []string{"old", "new"}[(n/4+i)%2]
				tool := "get_note"
				if i == 0 {
					tool = "wait"
				}
				nonce := fmt.Sprintf("%s in session %d, call %d.", caller, n, i)
				if err := ownAnswer(t.Context(), c, heard, up+"__"+tool, nonce); err != nil {
					t.Errorf("%s of %s: %v", nonce, up, err)
				}
			}
			for _, line := range heard.with("progress") {
				if !strings.Contains(line, fmt.Sprintf("%s in session %d,", caller, n)) {
					t.Errorf("session %d of %s heard %s", n, caller, line)
				}
			}
		})
	}
	all.Wait()
	old.apart(t)
	wantRecords(t, g, map[string]int{"anna": sessions / 2 * rounds, "ben": sessions / 2 * rounds})
}

func ownAnswer(ctx context.Context, c *peer.Client, heard *said, tool, nonce string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	params := c.Params(callOf(tool, nonce))
	at := strings.LastIndex(string(params), `"_meta":{`)
	if at < 0 {
		params = []byte(strings.TrimSuffix(string(params), "}") + `,"_meta":{"progressToken":"the same"}}`)
	} else {
		at += len(`"_meta":{`)
		params = []byte(string(params[:at]) + `"progressToken":"the same",` + string(params[at:]))
	}
	f, err := c.Call(ctx, "tools/call", params)
	if err != nil {
		return err
	}
	if f.Error != nil || !strings.Contains(string(f.Result), "for "+nonce) {
		return fmt.Errorf("answered %.300s%.300s", f.Result, f.Error)
	}
	if got := heard.with(nonce); len(got) != 3 {
		return fmt.Errorf("%d notifications of progress, want 3", len(got))
	}
	if got := heard.with(nonce); !strings.Contains(got[0], `"the same"`) {
		return errors.New("progress with another token: " + got[0])
	}
	return nil
}

// wantRecords counts the verdicts in the log by caller.
func wantRecords(t *testing.T, g *rig.Gateway, want map[string]int) {
	t.Helper()
	data, err := os.ReadFile(g.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for line := range strings.Lines(string(data)) {
		var r struct {
			Event, Phase, Caller string
		}
		if err := json.Unmarshal([]byte(line), &r, json.MatchCaseInsensitiveNames(true)); err != nil {
			t.Fatalf("%v: %.200s", err, line)
		}
		if r.Event == "tools/call" && r.Phase == "verdict" {
			got[r.Caller]++
		}
	}
	for caller, n := range want {
		if got[caller] != n {
			t.Errorf("%d verdicts on calls of %s, want %d (all: %v)", got[caller], caller, n, got)
		}
	}
}
