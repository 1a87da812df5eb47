package bridge

import (
	"errors"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

func TestForClient(t *testing.T) {
	const (
		titled   = `{"message":"m","requestedSchema":{"type":"object","x":1.0,"properties":{"c":{"type":"string","title":"C","oneOf":[{"const":"#f00","title":"Red"},{"const":"#0f0"}],"default":"#f00"},"n":{"type":"number", "minimum":0}}}}`
		multiple = `{"message":"m","requestedSchema":{"type":"object","properties":{"c":{"type":"array","items":{"type":"string","enum":["a"]}}}}}`
		url      = `{"mode":"url","message":"m","url":"https://a.example"}`
	)
	for _, c := range []struct {
		name, server, client, method, params string
		want                                 string // params, or the code of the refusal
	}{
		{"form, plain", mcp.V20260728, mcp.V20251125, "elicitation/create", `{"mode":"form","x":1.0}`, `{"mode":"form","x":1.0}`},
		{"no mode before 2025-11-25", mcp.V20251125, mcp.V20250618, "elicitation/create", `{"mode":"form","message":"m","task":{},"x":1.0}`, `{"message":"m","x":1.0}`},
		{"even from a server of the same version", mcp.V20250618, mcp.V20250618, "elicitation/create", `{"mode":"form","message":"m"}`, `{"message":"m"}`},
		{
			"titles in enumNames", mcp.V20260728, mcp.V20250618, "elicitation/create", titled,
			`{"message":"m","requestedSchema":{"type":"object","x":1.0,"properties":{"c":{"type":"string","title":"C","default":"#f00","enum":["#f00","#0f0"],"enumNames":["Red","#0f0"]},"n":{"type":"number", "minimum":0}}}}`,
		},
		{"titles as they are", mcp.V20260728, mcp.V20251125, "elicitation/create", titled, titled},
		{"enumNames stay", mcp.V20250618, mcp.V20251125, "elicitation/create", `{"requestedSchema":{"properties":{"a":{"enum":["a"],"enumNames":["A"]}}}}`, `{"requestedSchema":{"properties":{"a":{"enum":["a"],"enumNames":["A"]}}}}`},
		{"several choices", mcp.V20251125, mcp.V20250618, "elicitation/create", multiple, "-32602"},
		{"several choices, known", mcp.V20260728, mcp.V20251125, "elicitation/create", multiple, multiple},
		{"choices that are none", mcp.V20251125, mcp.V20250618, "elicitation/create", `{"requestedSchema":{"properties":{"a":{"oneOf":[{"const":1}]}}}}`, "-32602"},
		{"choices of no list", mcp.V20251125, mcp.V20250618, "elicitation/create", `{"requestedSchema":{"properties":{"a":{"oneOf":3}}}}`, "-32602"},
		{"by URL", mcp.V20251125, mcp.V20250618, "elicitation/create", url, "-32602"},
		{"by URL, known", mcp.V20251125, mcp.V20251125, "elicitation/create", url, url},
		{"none before 2025-06-18", mcp.V20251125, mcp.V20250326, "elicitation/create", `{"message":"m"}`, "-32601"},
		{"none in 2024-11-05", mcp.V20250618, mcp.V20241105, "elicitation/create", `{"message":"m"}`, "-32601"},
		{"another mode", mcp.V20260728, mcp.V20251125, "elicitation/create", `{"mode":"voice"}`, "-32602"},
		{"for a stateless client", mcp.V20251125, mcp.V20260728, "elicitation/create", url, url},
		{"sampling", mcp.V20251125, mcp.V20250618, "sampling/createMessage", `{"messages":[{"role":"user","content":[{"type":"text","text":"t"}],"x":1.0},{"role":"user","content":{"type":"text"}}],"maxTokens":1}`, `{"messages":[{"role":"user","content":{"type":"text","text":"t"},"x":1.0},{"role":"user","content":{"type":"text"}}],"maxTokens":1}`},
		{"sampling, unchanged", mcp.V20251125, mcp.V20250618, "sampling/createMessage", `{"messages":[ {"content":{"type":"text"}} ]}`, `{"messages":[ {"content":{"type":"text"}} ]}`},
		{"sampling with several blocks", mcp.V20251125, mcp.V20250618, "sampling/createMessage", `{"messages":[{"content":[{},{}]}]}`, "-32602"},
		{"sampling with tools", mcp.V20251125, mcp.V20250618, "sampling/createMessage", `{"messages":[],"tools":[]}`, "-32602"},
		{"sampling with a use of a tool", mcp.V20251125, mcp.V20250618, "sampling/createMessage", `{"messages":[{"content":{"type":"tool_use"}}]}`, "-32602"},
		{"sampling with audio", mcp.V20251125, mcp.V20241105, "sampling/createMessage", `{"messages":[{"content":{"type":"audio"}}]}`, "-32602"},
		{"sampling with audio, known", mcp.V20251125, mcp.V20250326, "sampling/createMessage", `{"messages":[{"content":{"type":"audio"}}]}`, `{"messages":[{"content":{"type":"audio"}}]}`},
		{"sampling with tools, known", mcp.V20260728, mcp.V20251125, "sampling/createMessage", `{"messages":[],"tools":[]}`, `{"messages":[],"tools":[]}`},
		{"another request", mcp.V20260728, mcp.V20241105, "roots/list", `{"x":1}`, `{"x":1}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := parse(t, req(1, c.method, c.params))
			got, err := ForClient(m, c.server, c.client)
			var r *Refusal
			if errors.As(err, &r) {
				want(t, "refused with", string(at(r.Answer(m.ID).Error, "code")), c.want)
				return
			}
			want(t, "params", string(got.Params), c.want)
			if c.want == c.params && string(got.Raw) != string(m.Raw) {
				t.Errorf("rewritten: %s", got.Raw)
			}
		})
	}
	t.Run("an id for a page", func(t *testing.T) {
		m := parse(t, req(1, "elicitation/create", url))
		a, err := ForClient(m, mcp.V20260728, mcp.V20251125)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := ForClient(m, mcp.V20260728, mcp.V20251125)
		one, two := text(at(a.Params, "elicitationId")), text(at(b.Params, "elicitationId"))
		if len(one) < 20 || one == two {
			t.Errorf("%q and %q", one, two)
		}
	})
	t.Run("results", func(t *testing.T) {
		content := result(1, `{"content":[{"type":"audio"},{"type":"resource_link"}],"structuredContent":{"a":1}}`)
		for _, c := range []struct{ server, frame, want string }{
			{mcp.V20260728, content, content},
			{mcp.V20251125, result(1, `{"content":[],"structuredContent":[1]}`), result(1, `{"content":[],"structuredContent":[1]}`)},
			{mcp.V20260728, result(1, `{"structuredContent":"s"}`), result(1, `{"content":[{"type":"text","text":"\"s\""}]}`)},
			{mcp.V20260728, result(1, `{"tools":[{"outputSchema":{"anyOf":[]}},3]}`), result(1, `{"tools":[{},3]}`)},
		} {
			got, err := ForClient(parse(t, c.frame), c.server, mcp.V20241105)
			if err != nil {
				t.Fatal(err)
			}
			want(t, c.frame, string(got.Raw), c.want)
		}
	})
}

func TestRefusal(t *testing.T) {
	r := missing("why", `{"elicitation":{}}`)
	want(t, "answer", string(r.Answer(mcp.IntID(3)).Raw), `{"jsonrpc":"2.0","id":3,"error":{"code":-32021,"message":"[sallyport] why","data":{"requiredCapabilities":{"elicitation":{}}}}}`)
}
