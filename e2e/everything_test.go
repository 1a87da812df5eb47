package e2e

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// volatile lists the fields of the everything-server's frames that differ from run to
// run, whatever stands between. Everything else must be equal, byte for byte.
var volatile = []struct {
	why     string
	pattern *regexp.Regexp
}{
	{"the time at which a dynamic resource was made", regexp.MustCompile(`\d{1,2}:\d{2}:\d{2} [AP]M`)},
	{"the same time within a blob", regexp.MustCompile(`UmVzb3VyY2UgMjogVGhpcyBpcyBhIGJhc2U2NCBibG9iIGNyZWF0ZWQgYXQg[A-Za-z0-9+/=]+`)},
	{"the random id of a URL elicitation", regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)},
}

func masked(frame []byte) string {
	for _, v := range volatile {
		frame = v.pattern.ReplaceAll(frame, []byte("***"))
	}
	return string(frame)
}

// clientAnswers is what the scripted client says when the server asks.
var clientAnswers = map[string]string{
	"roots/list":             `{"roots":[{"uri":"file:///nowhere/project","name":"project"}]}`,
	"sampling/createMessage": `{"role":"assistant","model":"scripted","content":{"type":"text","text":"a sampled answer"},"stopReason":"endTurn"}`,
	"elicitation/create":     `{"action":"accept","content":{"name":"Ada","check":true,"integer":42}}`,
	"ping":                   `{}`,
}

// exchange is one request of the script and, where the server says more than its
// answer, how to wait for that.
type exchange struct {
	name, method, params string
	then                 func(*wire)
}

func call(name, tool, args string) exchange {
	return exchange{name: name, method: "tools/call", params: fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args)}
}

// exchanges covers what the everything-server does over stdio: tools, resources,
// prompts, completions, sampling, elicitation, roots, progress, logging.
func exchanges() []exchange {
	progress := call("progress", "trigger-long-running-operation", `{"duration":0.2,"steps":4}`)
	progress.params = strings.TrimSuffix(progress.params, "}") + `,"_meta":{"progressToken":"p-1","vendor.example/trace":{"n":12345678901234567890}}}`
	progress.then = func(w *wire) { w.count("progress", 4, method("notifications/progress")) }
	subscribe := exchange{name: "subscribe", method: "resources/subscribe", params: `{"uri":"demo://resource/dynamic/text/1"}`}
	updates := call("resource updates", "toggle-subscriber-updates", `{}`)
	updates.then = func(w *wire) { w.count("an update", 1, method("notifications/resources/updated")) }
	return []exchange{
		{name: "ping", method: "ping", params: `{}`},
		{name: "tools", method: "tools/list", params: `{}`},
		call("echo", "echo", `{"message":"h\u00e9llo \u2028 \ud83d\ude00 <&> \/"}`),
		call("sum", "get-sum", `{"a":2,"b":40.5}`),
		call("wrong arguments", "get-sum", `{"a":"two"}`),
		call("structured content", "get-structured-content", `{"location":"New York"}`),
		call("image", "get-tiny-image", `{}`),
		call("annotations", "get-annotated-message", `{"messageType":"error","includeImage":true}`),
		call("resource links", "get-resource-links", `{"count":3}`),
		call("embedded resource", "get-resource-reference", `{"resourceType":"Text","resourceId":1}`),
		call("embedded blob", "get-resource-reference", `{"resourceType":"Blob","resourceId":2}`),
		call("environment", "get-env", `{}`),
		call("gzip", "gzip-file-as-resource", `{"name":"x.gz","data":"data:text/plain;base64,aGVsbG8=","outputType":"resource"}`),
		{name: "resources", method: "resources/list", params: `{}`},
		{name: "resource templates", method: "resources/templates/list", params: `{}`},
		{name: "text resource", method: "resources/read", params: `{"uri":"demo://resource/dynamic/text/1"}`},
		{name: "blob resource", method: "resources/read", params: `{"uri":"demo://resource/dynamic/blob/2"}`},
		{name: "static resource", method: "resources/read", params: `{"uri":"demo://resource/static/document/architecture.md"}`},
		{name: "no such resource", method: "resources/read", params: `{"uri":"demo://nothing"}`},
		subscribe,
		updates,
		call("no more updates", "toggle-subscriber-updates", `{}`),
		{name: "unsubscribe", method: "resources/unsubscribe", params: `{"uri":"demo://resource/dynamic/text/1"}`},
		{name: "prompts", method: "prompts/list", params: `{}`},
		{name: "simple prompt", method: "prompts/get", params: `{"name":"simple-prompt"}`},
		{name: "prompt with arguments", method: "prompts/get", params: `{"name":"args-prompt","arguments":{"city":"Oslo","state":"none"}}`},
		{name: "prompt with a resource", method: "prompts/get", params: `{"name":"resource-prompt","arguments":{"resourceType":"Text","resourceId":"3"}}`},
		{name: "no such prompt", method: "prompts/get", params: `{"name":"nothing"}`},
		{name: "completion", method: "completion/complete", params: `{"ref":{"type":"ref/prompt","name":"completable-prompt"},"argument":{"name":"department","value":"S"}}`},
		{name: "completion of a resource", method: "completion/complete", params: `{"ref":{"type":"ref/resource","uri":"demo://resource/dynamic/text/{resourceId}"},"argument":{"name":"resourceId","value":"1"}}`},
		call("sampling", "trigger-sampling-request", `{"prompt":"say something","maxTokens":20}`),
		call("elicitation", "trigger-elicitation-request", `{}`),
		call("URL elicitation", "trigger-url-elicitation", `{"url":"https://login.example/start","elicitationId":"e-1"}`),
		call("URL elicitation by error", "trigger-url-elicitation", `{"url":"https://login.example/other","errorPath":true}`),
		call("roots", "get-roots-list", `{}`),
		progress,
		{name: "logging level", method: "logging/setLevel", params: `{"level":"emergency"}`},
	}
}

// everythingContracts turns the flow check off for the two tools that the fallback may
// take for sinks: they have a URL among their arguments. What is measured here is the
// relay, not the flow.
const everythingContracts = `trigger-url-elicitation:
  max_calls: 100
gzip-file-as-resource:
  max_calls: 100
`

// unnamed takes the server's name out of the questions that it asks, the one thing that the
// gateway puts into what it relays.
func unnamed(t *testing.T, frames []string) []string {
	t.Helper()
	const name = "The server 'server-everything' asks: "
	named := 0
	for i, f := range frames {
		named += strings.Count(f, name)
		frames[i] = strings.ReplaceAll(f, name, "")
	}
	if named != 3 {
		t.Errorf("%d questions have the server's name, want 3", named)
	}
	return frames
}

// The same requests to the same server give the same bytes, whatever stands between.
func TestEverythingServerIsTheSame(t *testing.T) {
	index := npm(t, "@modelcontextprotocol/server-everything/dist/index.js")
	dir := realDir(t)
	contracts := filepath.Join(dir, "contracts.yaml")
	write(t, contracts, everythingContracts)

	server := []string{node(t), index, "stdio"}
	plain := converse(t, direct(t, server...), dir)
	if len(plain) < len(exchanges()) {
		t.Fatalf("only %d frames came", len(plain))
	}
	t.Run("direct again", func(t *testing.T) {
		same(t, plain, converse(t, direct(t, server...), dir))
	})
	t.Run("through wrap", func(t *testing.T) {
		needWrap(t)
		same(t, plain, unnamed(t, converse(t, through(t, []string{"--contracts", contracts}, server...), dir)))
	})
}

// converse runs the script and returns every frame the client got, masked.
func converse(t *testing.T, s *target, home string) []string {
	t.Helper()
	// One of the tools prints the server's environment.
	s.env = environment(home)
	w := dial(t, s, clientAnswers)
	w.send(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25",` +
		`"capabilities":{"roots":{"listChanged":true},"sampling":{},"elicitation":{"form":{},"url":{}}},` +
		`"clientInfo":{"name":"scripted","version":"1","vendor.example/x":[1.0,1e2]}}}`)
	w.response(`"init"`)
	w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	// The server asks for the roots on its own, a moment later, and logs that it has.
	w.count("the request for roots", 1, method("roots/list"))
	w.count("the log message on roots", 1, method("notifications/message"))
	for i, e := range exchanges() {
		w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, i+1, e.method, e.params))
		w.response(fmt.Sprint(i + 1))
		if e.then != nil {
			e.then(w)
		}
	}
	w.send(`{"jsonrpc":"2.0","id":"unlisted","method":"tools/call","params":{"name":"no-such-tool","arguments":{}}}`)
	if answer := w.response(`"unlisted"`); s.wrapped() != bytes.Contains(answer, []byte("[sallyport blocked]")) {
		t.Errorf("a tool that the server does not list: %s", answer)
	}
	// A cancelled call gets no answer; the ping after it shows that the server is well.
	w.send(`{"jsonrpc":"2.0","id":"slow","method":"tools/call","params":{"name":"trigger-long-running-operation","arguments":{"duration":2,"steps":1}}}`)
	w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"slow","reason":"tired"}}`)
	w.send(`{"jsonrpc":"2.0","id":"last","method":"ping"}`)
	w.response(`"last"`)
	w.close()

	var frames []string
	for _, f := range w.all() {
		if bytes.Contains(f, []byte(`"id":"slow"`)) {
			t.Errorf("the cancelled call was answered: %s", f)
		}
		if !bytes.Contains(f, []byte(`"id":"unlisted"`)) { // the gateway refuses it in the server's place
			frames = append(frames, masked(f))
		}
	}
	slices.Sort(frames) // answers and notifications may overtake each other
	return frames
}

// same compares two sorted lists of frames as multisets.
func same(t *testing.T, want, got []string) {
	t.Helper()
	w, g := want, got
	for len(w) > 0 || len(g) > 0 {
		switch {
		case len(g) == 0 || len(w) > 0 && w[0] < g[0]:
			t.Errorf("missing: %.600s", w[0])
			w = w[1:]
		case len(w) == 0 || g[0] < w[0]:
			t.Errorf("not sent by the server: %.600s", g[0])
			g = g[1:]
		default:
			w, g = w[1:], g[1:]
		}
	}
}
