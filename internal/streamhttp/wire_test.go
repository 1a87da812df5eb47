package streamhttp

import (
	"net/http"
	"strings"
	"testing"
)

// B055: media types are read, not compared (RFC 9110, section 8.3).
func TestB055MediaType(t *testing.T) {
	for in, want := range map[string]string{
		"application/json":                     typeJSON,
		"application/json;charset=UTF-8":       typeJSON,
		"APPLICATION/JSON ; charset=\"utf-8\"": typeJSON,
		"text/event-stream; charset=utf8":      typeStream,
		"application/json; charset=utf-16":     "",
		"application/json; charset":            "",
		"application/jsonx":                    "application/jsonx",
		"application/json, text/html":          "",
		"":                                     "",
	} {
		if got := mediaType(http.Header{"Content-Type": {in}}); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := mediaType(http.Header{"Content-Type": {typeJSON, typeJSON}}); got != "" {
		t.Error("two headers:", got)
	}
}

// B057: Accept is read with its weights (RFC 9110, section 12.5.1).
func TestB057Accept(t *testing.T) {
	for in, want := range map[string]accepted{
		"application/json, text/event-stream": {true, true},
		"*/*":                                 {true, true},
		"*":                                   {true, true},
		"application/json":                    {true, false},
		"text/event-stream":                   {false, true},
		"Text/Event-Stream;q=0.1":             {false, true},
		"text/*":                              {false, true},
		"application/*;q=0.5":                 {true, false},
		"*/*, text/event-stream;q=0":          {true, false},
		"text/event-stream;q=0, */*;q=0.1":    {true, false},
		"application/json;q=0.0, text/event-stream": {false, true},
		"*/*;q=0":              {false, false},
		"text/html":            {false, false},
		"application/json;q=2": {false, false},
		"application/json;q=NaN, text/event-stream": {false, true},
		"application/json;version=1, */*;q=0":       {true, false},
		"":                                          {false, false},
		",,":                                        {false, false},
		strings.Repeat("a/b,", 100) + "*/*":         {false, false},
	} {
		if got := accepts(http.Header{"Accept": {in}}); got != want {
			t.Errorf("%.40q: %v, want %v", in, got, want)
		}
	}
	if got := accepts(http.Header{"Accept": {typeJSON, typeStream}}); got != (accepted{true, true}) {
		t.Error("two headers:", got)
	}
	if got := accepts(http.Header{}); got != (accepted{true, true}) {
		t.Error("no header:", got)
	}
}

// 2026-07-28, "Value Encoding": the examples of the specification, and what breaks naive
// readers.
func TestValueEncoding(t *testing.T) {
	for value, want := range map[string]string{
		"us-west1":              "us-west1",
		"Hello, 世界":             "=?base64?SGVsbG8sIOS4lueVjA==?=",
		" padded ":              "=?base64?IHBhZGRlZCA=?=",
		"line1\nline2":          "=?base64?bGluZTEKbGluZTI=?=",
		"=?base64?literal?=":    "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=",
		"":                      "",
		"a\tb":                  "a\tb",
		"a\r\nAuthorization: x": "=?base64?YQ0KQXV0aG9yaXphdGlvbjogeA==?=",
		"=?base64?=":            "=?base64?=", // too short to be the encoded form
		"del\x7f":               "=?base64?ZGVsfw==?=",
	} {
		got := EncodeValue(value)
		if got != want {
			t.Errorf("%q is written %q, want %q", value, got, want)
		}
		if back, ok := DecodeValue(got); !ok || back != value {
			t.Errorf("%q is read back as %q, %v", got, back, ok)
		}
	}
	for _, s := range []string{"=?base64?x?=", "=?base64?SGk?=", "=?base64?SGl=?=", "=?base64?SG k=?=", "=?base64?/w==?=", "naïve", "a\nb", "\x00"} {
		if got, ok := DecodeValue(s); ok {
			t.Errorf("%q was read as %q", s, got)
		}
	}
}

// B052, and 2026-07-28, "Server Behavior for Custom Headers".
func TestB052ParamMatches(t *testing.T) {
	for _, c := range []struct {
		header, raw string
		want        bool
	}{
		{"us-west1", `"us-west1"`, true},
		{"us-west1", `"us-\u0077est1"`, true},
		{"US-WEST1", `"us-west1"`, false},
		{"=?base64?SGk=?=", `"Hi"`, true},
		{"=?base64?SGk?=", `"Hi"`, false},
		{"=?base64??=", `""`, true},
		{"", `"danger"`, false},
		{"42", `42`, true},
		{"42.0", `42`, true},
		{"4.2e1", `42`, true},
		{"42", `42.0`, true},
		{"42", `"42"`, true},
		{"042", `42`, false},
		{" 42", `42`, false},
		{"0x2a", `42`, false},
		{"-0", `0`, true},
		{"42.0000000000000000000001", `42`, false},
		{"9007199254740991", `9007199254740991`, true},
		{"9007199254740992", `9007199254740992`, false},
		{"9007199254740992", `9007199254740993`, false},
		{"1e999999999", `1`, false},
		{"true", `true`, true},
		{"True", `true`, false},
		{"true", `"true"`, true},
		{"1", `true`, false},
		{"null", `null`, false},
		{"1.5", `1.5`, false},
		{"[]", `[]`, false},
		{"Infinity", `1`, false},
	} {
		if got := ParamMatches(c.header, []byte(c.raw)); got != c.want {
			t.Errorf("%q against %s: %v", c.header, c.raw, got)
		}
	}
	for raw, want := range map[string]string{`"a\n"`: "a\n", `7`: "7", `-7`: "-7", `7.0`: "7", `1e2`: "100", `false`: "false"} {
		if got, ok := ParamText([]byte(raw)); !ok || got != want {
			t.Errorf("%s is sent as %q, %v", raw, got, ok)
		}
	}
	for _, raw := range []string{`null`, `1.5`, `{}`, `[1]`, `9007199254740992`, `1e400`, ``, `"`, strings.Repeat("1", 100000)} {
		if got, ok := ParamText([]byte(raw)); ok {
			t.Errorf("%.20s is sent as %q", raw, got)
		}
	}
}

func FuzzValue(f *testing.F) {
	for _, s := range []string{"a", " a", "=?base64?SGk=?=", "世界", "\r\n", "=?base64?"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		_, _ = DecodeValue(s)
		_ = ParamMatches(s, []byte(s))
		valid := strings.ToValidUTF8(s, "x")
		header := EncodeValue(valid)
		if !isFieldText(header) || strings.TrimSpace(header) != header {
			t.Fatalf("%q is written %q", valid, header)
		}
		if back, ok := DecodeValue(header); !ok || back != valid {
			t.Fatalf("%q is written %q and read %q, %v", valid, header, back, ok)
		}
	})
}

func TestParseHost(t *testing.T) {
	for in, want := range map[string]hostPort{
		"mcp.example.org":      {"mcp.example.org", ""},
		"MCP.Example.org:8443": {"mcp.example.org", "8443"},
		"[::1]:8080":           {"::1", "8080"},
		"[0:0::1]":             {"::1", ""},
		"127.0.0.1:1":          {"127.0.0.1", "1"},
	} {
		if got, ok := parseHost(in); !ok || got != want {
			t.Errorf("%q: %v, %v", in, got, ok)
		}
	}
	for _, in := range []string{"", ":80", "a:", "a:b", "::1", "[::1", "::1]", "[a]", "a b", "a/b", "u@a", "a:80:80", "[::1]x"} {
		if got, ok := parseHost(in); ok {
			t.Errorf("%q was read as %v", in, got)
		}
	}
}

func TestParseOrigin(t *testing.T) {
	for in, want := range map[string]string{
		"https://App.example":      "https://app.example",
		"https://app.example:443":  "https://app.example",
		"http://app.example:443":   "http://app.example:443",
		"http://[::1]:80":          "http://::1",
		"vscode-webview://abcdef0": "vscode-webview://abcdef0",
	} {
		if got, ok := parseOrigin(in); !ok || got != want {
			t.Errorf("%q: %q, %v", in, got, ok)
		}
	}
	for _, in := range []string{"", "null", "app.example", "https://", "https://a/", "https://a?", "https://a#", "https://u@a", "//a", "https://a b"} {
		if got, ok := parseOrigin(in); ok {
			t.Errorf("%q was read as %q", in, got)
		}
	}
}
