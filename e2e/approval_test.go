package e2e

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport-dev/sallyport/e2e/rig"
)

// asksAboutWeather lets nobody know the weather without a yes.
const asksAboutWeather = `policies:
  open:
    default: allow
    rules:
      - {name: asked, effect: ask, tools: ["*weather"], reason: the weather is a secret}
`

// answering is a Go client that answers what it is asked, and keeps the questions.
type answering struct {
	mu    sync.Mutex
	asked []string
}

// client is one of that name: what is asked in 2026-07-28 belongs to it.
func (a *answering) client(name string, answer *mcp.ElicitResult) *mcp.Client {
	o := &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}}
	if answer != nil {
		o.ElicitationHandler = func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.asked = append(a.asked, r.Params.Message)
			return answer, nil
		}
	}
	return mcp.NewClient(&mcp.Implementation{Name: name, Version: "1"}, o)
}

func (a *answering) questions() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asked
}

// The official Go client is asked before a call runs, in both eras, through wrap and through
// run over HTTP; one that cannot be asked gets a code, and so does a token without ask: client.
func TestTheGoClientIsAsked(t *testing.T) {
	file := filepath.Join(realDir(t), "sallyport.yaml")
	write(t, file, "version: 1\n"+asksAboutWeather)
	sdk := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return newSDKServer() }, nil))
	t.Cleanup(sdk.Close)
	upstream := fmt.Sprintf("version: 1\nupstreams:\n  gosdk: {transport: http, url: %q}\n", sdk.URL)
	g := gateway(t, upstream+asksAboutWeather+"tokens:\n"+rig.Token("team", "open")+strings.Replace(rig.Token("person", "open"), "}", ", ask: client}", 1))
	ways := map[string]func(t *testing.T) (mcp.Transport, string){
		"wrap": func(t *testing.T) (mcp.Transport, string) {
			return &mcp.CommandTransport{Command: through(t, []string{"-c", file}, sdkServer(t)...).cmd()}, "client"
		},
		"HTTP, ask: client": func(t *testing.T) (mcp.Transport, string) { return overHTTPAs("person", g.URL), "client" },
		"HTTP":              func(t *testing.T) (mcp.Transport, string) { return overHTTPAs("team", g.URL), "code" },
	}
	answers := map[string]*mcp.ElicitResult{
		"yes":     {Action: "accept", Content: map[string]any{"allow": true}},
		"no":      {Action: "accept", Content: map[string]any{"allow": false}},
		"decline": {Action: "decline"},
		"cannot":  nil,
	}
	for way, transport := range ways {
		for _, version := range []string{"2025-06-18", "2025-11-25", modern} {
			for name, answer := range answers {
				t.Run(fmt.Sprint(way, " ", version, " ", name), func(t *testing.T) {
					by, channel := transport(t)
					var a answering
					session, err := a.client(t.Name(), answer).Connect(t.Context(), by, &mcp.ClientSessionOptions{ProtocolVersion: version})
					if err != nil {
						t.Fatal(err)
					}
					defer session.Close()
					if got := session.InitializeResult().ProtocolVersion; got != version {
						t.Fatalf("negotiated %s", got)
					}
					res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "weather", Arguments: args{"City": "Oslo"}})
					if err != nil {
						t.Fatal(err)
					}
					text := textOf(res)
					asked := a.questions()
					switch {
					case channel == "code" || answer == nil:
						if !res.IsError || !strings.Contains(text, "sallyport approve ") || len(asked) > 0 {
							t.Errorf("got %s, asked %q", text, asked)
						}
						return
					case name == "yes":
						if res.IsError || !strings.Contains(text, "21.5") {
							t.Errorf("got %s", text)
						}
					case !res.IsError || !strings.Contains(text, "the user said no"):
						t.Errorf("got %s", text)
					}
					if len(asked) != 1 || !strings.HasPrefix(asked[0], "Sallyport, the gateway in front of the server '") || !strings.Contains(asked[0], "tool: 'weather'\n") || !strings.Contains(asked[0], `"City":"Oslo"`) {
						t.Errorf("asked %q", asked)
					}
				})
			}
		}
	}
}

// The official TypeScript clients are asked too: that of the handshake versions, and the one
// that speaks 2026-07-28.
func TestTheTypeScriptClientIsAsked(t *testing.T) {
	file := filepath.Join(realDir(t), "sallyport.yaml")
	write(t, file, "version: 1\n"+asksAboutWeather)
	for _, c := range []struct{ sdk, pin, protocol string }{{"1", "", "2025-11-25"}, {"2", modern, modern}} {
		for _, answer := range []args{
			{"action": "accept", "content": args{"allow": true}}, {"action": "accept", "content": args{"allow": false}}, {"action": "cancel"}, nil,
		} {
			t.Run(fmt.Sprint("SDK ", c.sdk, " ", answer), func(t *testing.T) {
				s := through(t, []string{"-c", file}, sdkServer(t)...)
				env := map[string]string{}
				for _, kv := range s.env {
					k, v, _ := strings.Cut(kv, "=")
					env[k] = v
				}
				fields := map[string]any{
					"sdk": c.sdk, "pin": c.pin, "command": s.argv[0], "args": s.argv[1:], "env": env,
					"rounds": [][]tsStep{{{Tool: "weather", Args: args{"City": "Oslo"}}}},
				}
				if answer != nil {
					fields["elicit"] = answer
				}
				r := drive(t, s.errs, fields)
				if r.Protocol != c.protocol {
					t.Errorf("negotiated %q, want %q", r.Protocol, c.protocol)
				}
				got := result(t, r.Answers[0][0])
				want, asked := "the user said no", 1
				switch {
				case answer == nil:
					want, asked = "sallyport approve ", 0
				case answer["action"] == "cancel":
					want = "nobody agreed: the question was closed without an answer"
				case answer["content"].(args)["allow"] == true:
					want = "21.5"
				}
				if text := textOf(got); !strings.Contains(text, want) || got.IsError != (want != "21.5") {
					t.Errorf("got %s, want %q", text, want)
				}
				if len(r.Asked) != asked || asked == 1 && !strings.HasPrefix(r.Asked[0], "Sallyport, the gateway in front of the server '") {
					t.Errorf("asked %q", r.Asked)
				}
			})
		}
	}
}
