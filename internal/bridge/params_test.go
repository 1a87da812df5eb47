package bridge

import (
	"context"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/upstream"
)

func TestInitializeParams(t *testing.T) {
	for _, c := range []struct{ name, meta, want string }{
		{
			"all", `{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1","x":9007199254740993},"io.modelcontextprotocol/clientCapabilities":{"roots":{},"elicitation":{"url":{}},"sampling":{"tools":{}},"extensions":{"io.modelcontextprotocol/tasks":{},"com.example/x":{"y":1}},"z":1}}`,
			`{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{"url":{}},"sampling":{"tools":{}},"extensions":{"com.example/x":{"y":1}},"z":1},"clientInfo":{"name":"c","version":"1","x":9007199254740993}}`,
		},
		{"nothing", `{}`, `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"unknown","version":"unknown"}}`},
		{"no meta", ``, `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"unknown","version":"unknown"}}`},
		{"extensions that are none", `{"io.modelcontextprotocol/clientCapabilities":{"extensions":3,"elicitation":{}}}`, `{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"unknown","version":"unknown"}}`},
	} {
		t.Run(c.name, func(t *testing.T) { want(t, "params", string(InitializeParams([]byte(c.meta))), c.want) })
	}
}

func TestDiscoverParams(t *testing.T) {
	for _, c := range []struct{ name, params, want string }{
		{
			"2025-11-25", `{"protocolVersion":"2025-11-25","capabilities":{"roots":{"listChanged":true},"elicitation":{"form":{},"url":{}},"tasks":{"list":{}},"sampling":{"tools":{}},"x":{}},"clientInfo":{"name":"c","version":"1"}}`,
			`{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"roots":{},"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"x":{}}}}`,
		},
		{
			"2025-06-18 has no URL mode and no tools in sampling", `{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{"url":{}},"sampling":{"tools":{},"context":{}}},"clientInfo":{"name":"c","version":"1"}}`,
			`{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"sampling":{}}}}`,
		},
		{
			"2024-11-05 has no elicitation", `{"protocolVersion":"2024-11-05","capabilities":{"elicitation":{},"sampling":{}},"clientInfo":{"name":"c","version":"1"}}`,
			`{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"sampling":{}}}}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) { want(t, "params", string(DiscoverParams([]byte(c.params))), c.want) })
	}
}

func TestHellos(t *testing.T) {
	t.Run("initialize from discover", func(t *testing.T) {
		s := newServer(t, upstream.Stateless, mcp.V20260728, nil)
		discover := parse(t, result(1, `{"resultType":"complete","supportedVersions":["2026-07-28"], "capabilities":{"tools":{"listChanged":true},"extensions":{"io.modelcontextprotocol/tasks":{},"com.example/x":{}}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"2","icons":[]},"k":1},"instructions":"be kind","ttlMs":5,"cacheScope":"public","future":[1]}`))
		h, got, err := Handshake(s, discover, Client{Params: []byte(`{"protocolVersion":"2025-06-18"}`)})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close(context.Background())
		want(t, "result", string(got), `{ "capabilities":{"tools":{"listChanged":true},"extensions":{"com.example/x":{}}},"_meta":{"k":1},"instructions":"be kind","future":[1],"protocolVersion":"2025-06-18","serverInfo":{"name":"s","version":"2","icons":[]}}`)
		want(t, "version", h.Version(), "2025-06-18")
		want(t, "initialize", do(t, h, req(1, "initialize", `{}`)).answer(), result(1, string(got)))
	})
	t.Run("discover from initialize", func(t *testing.T) {
		s := newServer(t, upstream.Handshake, mcp.V20251125, nil)
		initialize := parse(t, result(1, `{"protocolVersion":"2025-11-25","capabilities":{"resources":{"subscribe":true},"tasks":{"list":{}}},"serverInfo":{"name":"s","version":"2"},"instructions":"be kind","_meta":{"k":1}}`))
		c, got, err := Stateless(s, initialize, Client{})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(context.Background())
		want(t, "result", string(got), `{"capabilities":{"resources":{"subscribe":true}},"instructions":"be kind","_meta":{"k":1,"io.modelcontextprotocol/serverInfo":{"name":"s","version":"2"}},"ttlMs":0,"cacheScope":"private","resultType":"complete","supportedVersions":["2026-07-28"]}`)
		want(t, "discover", do(t, c, req(`"d"`, "server/discover", `{}`)).answer(), result(`"d"`, string(got)))
	})
	t.Run("what is no hello", func(t *testing.T) {
		for _, frame := range []string{
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`,
			result(1, `{"supportedVersions":["2027-01-01"],"capabilities":{}}`),
			result(1, `{"supportedVersions":"2026-07-28","capabilities":{}}`),
			result(1, `{"supportedVersions":["2026-07-28"]}`), result(1, `[]`), result(1, `null`),
		} {
			if _, _, err := Handshake(newServer(t, upstream.Stateless, mcp.V20260728, nil), parse(t, frame), Client{}); err == nil {
				t.Errorf("taken for a discover result: %s", frame)
			}
		}
		for _, frame := range []string{`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`, result(1, `{}`), result(1, `7`), result(1, `{"capabilities":{},"_meta":3}`)} {
			if _, _, err := Stateless(newServer(t, upstream.Handshake, mcp.V20251125, nil), parse(t, frame), Client{}); err == nil {
				t.Errorf("taken for an initialize result: %s", frame)
			}
		}
	})
	t.Run("the wrong era", func(t *testing.T) {
		if _, _, err := Handshake(newServer(t, upstream.Handshake, mcp.V20251125, nil), parse(t, result(1, `{}`)), Client{}); err == nil {
			t.Error("a handshake server bridged for a handshake client")
		}
		if _, _, err := Stateless(newServer(t, upstream.Stateless, mcp.V20260728, nil), parse(t, result(1, `{}`)), Client{}); err == nil {
			t.Error("a stateless server bridged for a stateless client")
		}
	})
}

func TestSum(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{`{"a":1,"b":[true,null]}`, ` { "b" : [ true , null ], "\u0061":1}`, true},
		{`{"a":1}`, `{"a":1,"x":5}`, true},
		{`{"a":{"x":5}}`, `{"a":{}}`, false},
		{`{"a":9007199254740993}`, `{"a":9007199254740992}`, false},
		{`{"a":1}`, `{"a":"1"}`, false},
		{`{"a":[1,2]}`, `{"a":[2,1]}`, false},
		{`{"a":[[1],2]}`, `{"a":[[1,2]]}`, false},
		{`{"a":[]}`, `{"a":{}}`, false},
		{`{"a":"é"}`, `{"a":"\u00e9"}`, true},
		{`{"a":true}`, `{"a":"true"}`, false},
		{``, ``, true},
		{``, `{}`, false},
	} {
		if (sum([]byte(c.a), "x") == sum([]byte(c.b), "x")) != c.same {
			t.Errorf("%s and %s: want same %v", c.a, c.b, c.same)
		}
	}
}
