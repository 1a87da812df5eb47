package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// raw serves one fixed answer.
func raw(t *testing.T, contentType, body string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		io.WriteString(w, body) //nolint:errcheck // the client says what it got
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestClientTakesOneAnswerOnly(t *testing.T) {
	const stream = "text/event-stream"
	answer := "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n"
	for name, c := range map[string]struct{ kind, body, want string }{
		"one":                 {stream, ": begin\n\n" + answer, ""},
		"one over two lines":  {stream, "data: {\"jsonrpc\":\"2.0\",\ndata: \"id\":1,\"result\":{}}\n\n", ""},
		"two":                 {stream, answer + answer, "a second answer"},
		"another's":           {stream, strings.ReplaceAll(answer, ":1,", ":2,"), "came on the stream of 1"},
		"the id in new bytes": {stream, strings.ReplaceAll(answer, ":1,", ":1.0,"), "came on the stream of 1"},
		"none":                {stream, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{}}\n\n", ErrNoAnswer.Error()},
		"cut":                 {stream, answer[:len(answer)-1], "within an event"},
		"neither":             {stream, "data: {\"jsonrpc\":\"2.0\",\"id\":1}\n\n", "neither result nor error"},
		"no message":          {"text/plain", "oops", "HTTP 200: oops"},
	} {
		t.Run(name, func(t *testing.T) {
			client, err := Dial(t.Context(), ClientOptions{URL: raw(t, c.kind, c.body), Era: Stateless})
			if err != nil {
				t.Fatal(err)
			}
			f, err := client.Call(t.Context(), "tools/list", client.Params(""))
			switch {
			case c.want == "" && (err != nil || f == nil):
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestStatelessServerHoldsHeadersAgainstTheBody(t *testing.T) {
	s := httptest.NewServer(&Server{Era: Stateless, Capabilities: "{}", Handle: func(_ context.Context, q *Request) { q.Reply([]byte("{}")) }})
	t.Cleanup(s.Close)
	good := http.Header{"Mcp-Protocol-Version": {StatelessVersion}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"=?base64?w7w=?="}}
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ü","_meta":{` + MetaMembers("{}") + `}}}`
	for name, c := range map[string]struct {
		header, value string
		status        int
	}{
		"as it is":        {"Accept", "*/*", http.StatusOK},
		"another name":    {"Mcp-Name", "u", http.StatusBadRequest},
		"another method":  {"Mcp-Method", "tools/list", http.StatusBadRequest},
		"another version": {"Mcp-Protocol-Version", HandshakeVersion, http.StatusBadRequest},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = good.Clone()
		req.Header.Set(c.header, c.value)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != c.status {
			t.Errorf("%s: %d", name, resp.StatusCode)
		}
	}
}

// The peers bring questions, progress and notices to each other, over HTTP and pipes.
func TestPeersOfAHandshake(t *testing.T) {
	heard := make(chan string, 8)
	server := &Server{Era: Handshake, Capabilities: "{}"}
	server.Handle = func(ctx context.Context, q *Request) {
		q.Notify("notifications/progress", fmt.Appendf(nil, `{"progressToken":%s}`, q.ProgressToken()))
		f, err := q.Ask(ctx, "roots/list", []byte(`{"n":1.0}`))
		if err != nil {
			q.Fail([]byte(`{"code":1,"message":"not answered"}`))
			return
		}
		q.Reply(f.Result)
		server.Publish("notifications/tools/list_changed", "")
	}
	s := httptest.NewServer(server)
	t.Cleanup(s.Close)
	c, err := Dial(t.Context(), ClientOptions{
		URL: s.URL, Era: Handshake, Listen: true,
		Answer: func(method string, params []byte) []byte {
			return fmt.Appendf(nil, `{"asked":%q,"with":%s}`, method, params)
		},
		Notice: func(method string, params []byte) { heard <- method + string(params) },
	})
	if err != nil {
		t.Fatal(err)
	}
	f, err := c.Call(t.Context(), "tools/call", []byte(`{"name":"x","_meta":{"progressToken":"p"}}`))
	if err != nil || string(f.Result) != `{"asked":"roots/list","with":{"n":1.0}}` {
		t.Errorf("%v %+v", err, f)
	}
	for _, want := range []string{`notifications/progress{"progressToken":"p"}`, `notifications/tools/list_changed{}`} {
		if got := <-heard; got != want {
			t.Errorf("heard %s, want %s", got, want)
		}
	}
	if n := server.Sessions(); n != 1 {
		t.Errorf("%d sessions", n)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if n := server.Sessions(); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
	_, err = c.Call(t.Context(), "ping", nil)
	var refused *Refused
	if !errors.As(err, &refused) || refused.Status != http.StatusNotFound {
		t.Errorf("after the end: %v", err)
	}
}

func TestServeStdio(t *testing.T) {
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}` + "\n" + `{"jsonrpc":"2.0","id":2,"method":"x"}` + "\n")
	out := &strings.Builder{}
	done := make(chan struct{}, 1)
	s := &Server{Era: Handshake, Capabilities: "{}", Handle: func(_ context.Context, q *Request) { q.Reply([]byte("{\n}")); done <- struct{}{} }}
	if err := s.ServeStdio(io.MultiReader(in, &after{done}), out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), `{"jsonrpc":"2.0","id":2,"result":{ }}`+"\n") || !strings.Contains(out.String(), HandshakeVersion) {
		t.Error(out)
	}
}

// after ends once something was done.
type after struct{ done chan struct{} }

func (a *after) Read([]byte) (int, error) {
	<-a.done
	return 0, io.EOF
}
