package upstream

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// B052 and 2026-07-28, streamable-http, "Schema Extension".
func TestParamHeaders(t *testing.T) {
	for schema, want := range map[string]any{
		`{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"Region"}}}`:                           []ParamHeader{{"Region", []string{"a"}}},
		`{"properties":{"a":{"type":"object","properties":{"b":{"type":["integer","null"],"x-mcp-header":"B"}}}}}`: []ParamHeader{{"B", []string{"a", "b"}}},
		`{"properties":{"a":{"type":"boolean","\u0078-mcp-header":"B"}}}`:                                          []ParamHeader{{"B", []string{"a"}}},
		`{"properties":{"x-mcp-header":{"type":"string"}}}`:                                                        nil, // a parameter of that name
		`{"properties":{"a":{"type":"string","default":{"x-mcp-header":"B"},"enum":[{"x-mcp-header":"B"}]}}}`:      nil, // data, no schema
		`{"properties":{"a":{"type":"string","x-mcp-header":""}}}`:                                                 errHeaderName,
		`{"properties":{"a":{"type":"string","x-mcp-header":5}}}`:                                                  errHeaderName,
		`{"properties":{"a":{"type":"string","x-mcp-header":"a b"}}}`:                                              errHeaderName,
		`{"properties":{"a":{"type":"string","x-mcp-header":"a\r\nHost: x"}}}`:                                     errHeaderName,
		`{"properties":{"a":{"type":"string","x-mcp-header":"` + strings.Repeat("n", 200) + `"}}}`:                 errHeaderName,
		`{"properties":{"a":{"type":"string","x-mcp-header":"B"},"b":{"type":"string","x-mcp-header":"b"}}}`:       errHeaderTwice,
		`{"properties":{"a":{"type":"number","x-mcp-header":"B"}}}`:                                                errHeaderType,
		`{"properties":{"a":{"x-mcp-header":"B"}}}`:                                                                errHeaderType,
		`{"properties":{"a":{"type":["string","integer"],"x-mcp-header":"B"}}}`:                                    errHeaderType,
		`{"type":"string","x-mcp-header":"B"}`:                                                                     errHeaderPlace,
		`{"properties":{"a":{"type":"array","items":{"type":"string","x-mcp-header":"B"}}}}`:                       errHeaderPlace,
		`{"properties":{"a":{"type":"array","items":{"properties":{"c":{"type":"string","x-mcp-header":"B"}}}}}}`:  errHeaderPlace,
		`{"oneOf":[{"properties":{"a":{"type":"string","x-mcp-header":"B"}}}]}`:                                    errHeaderPlace,
		`{"$defs":{"d":{"type":"string","x-mcp-header":"B"}},"properties":{"a":{"$ref":"#/$defs/d"}}}`:             errHeaderPlace,
		`{"if":{"properties":{"a":{"type":"string","x-mcp-header":"B"}}}}`:                                         errHeaderPlace,
		`{"properties":{` + manyHeaders(maxParamHeaders+1) + `}}`:                                                  errHeaderMany,
		`[1,"x-mcp-header"]`: nil,
	} {
		got, err := ParamHeaders([]byte(`{"name":"t","inputSchema":` + schema + `}`))
		var have any = got
		if err != nil {
			have = err
		} else if got == nil {
			have = nil
		}
		if !reflect.DeepEqual(have, want) {
			t.Errorf("%.120s: %v, want %v", schema, have, want)
		}
	}
}

func manyHeaders(n int) string {
	var l []string
	for i := range n {
		l = append(l, fmt.Sprintf(`"p%d":{"type":"string","x-mcp-header":"H%d"}`, i, i))
	}
	return strings.Join(l, ",")
}

// A tool with a bad annotation is left out of the list; all else stays byte for byte.
func TestBadAnnotationHidesOneTool(t *testing.T) {
	var log logText
	good := `{"name":"good", "inputSchema":{"properties":{"n":{"type":"integer","x-mcp-header":"N"},"o":{"properties":{"s":{"type":"string","x-mcp-header":"S"}}}}}}`
	bad := `{"name":"bad\u001b","inputSchema":{"properties":{"n":{"type":"number","x-mcp-header":"N"}}}}`
	plain := `{"name":"plain","inputSchema":{}}`
	list := func(tools string) mcp.Message {
		return parse([]byte(`{"jsonrpc":"2.0","id":1,"result":{"tools":[` + tools + `],"ttlMs":1}}`))
	}
	var b paramBook
	got := b.learn(list(good+","+bad+","+plain), log.logger())
	if want := list(good + "," + plain); string(got.Raw) != string(want.Raw) {
		t.Errorf("%s", got.Raw)
	}
	if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "bad") || strings.Contains(text, "\x1b") {
		t.Error(text)
	}
	for params, want := range map[string]map[string]string{
		`{"name":"good","arguments":{"n":42.0,"o":{"s":"x\r\ny"}}}`: {"N": "42", "S": "x\r\ny"}, // encoded by the transport
		`{"name":"good","arguments":{"n":null,"o":{}}}`:             nil,
		`{"name":"good","arguments":{"n":1.5,"o":7}}`:               nil,
		`{"name":"good"}`:                            nil,
		`{"name":"plain","arguments":{"n":1}}`:       nil,
		`{"name":"g\u006fod","arguments":{"n":1e3}}`: {"N": "1000"},
	} {
		if got := b.values(req(1, "tools/call", params)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v", params, got)
		}
	}
	b.learn(list(`{"name":"good","inputSchema":{}}`), log.logger()) // without, by now
	if got := b.values(req(1, "tools/call", `{"name":"good","arguments":{"n":1}}`)); got != nil {
		t.Error(got)
	}
}

func TestBookIsBounded(t *testing.T) {
	var log logText
	var b paramBook
	var tools []string
	for i := range maxBookTools + 10 {
		tools = append(tools, fmt.Sprintf(`{"name":"t%d","inputSchema":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}}`, i))
	}
	b.learn(parse([]byte(`{"jsonrpc":"2.0","id":1,"result":{"tools":[`+strings.Join(tools, ",")+`]}}`)), log.logger())
	if len(b.tools) != maxBookTools {
		t.Error(len(b.tools))
	}
}

// What a server's schema says never makes a header that is no token, nor a panic.
func FuzzParamHeaders(f *testing.F) {
	for _, s := range []string{
		`{"inputSchema":{"properties":{"a":{"type":"string","x-mcp-header":"R"}}}}`,
		`{"inputSchema":{"allOf":[{"x-mcp-header":[]}]}}`,
		`{"inputSchema":{"properties":{"a":{"type":["null","boolean"],"x-mcp-header":"\u0000"}}}}`,
		`{"inputSchema":{"items":{"items":{"x-mcp-header":"R"}}}}`,
		`{"inputSchema":`, `\u[`, `{}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, tool []byte) {
		headers, err := ParamHeaders(tool)
		if err != nil {
			return
		}
		if len(headers) > maxParamHeaders {
			t.Error(len(headers))
		}
		for _, h := range headers {
			if !isToken(h.Name) || len(h.Path) == 0 {
				t.Errorf("%q %q", h.Name, h.Path)
			}
			h.Value(tool)
		}
	})
}
