// Package peer has an MCP client and an MCP server for tests that say exactly the bytes
// they are told and show exactly the bytes they get, in both eras of the protocol.
//
// Neither knows more of MCP than it needs to bring a request to the other end: params,
// results and errors are raw JSON. They are strict where the gateway has to be right
// (headers of 2026-07-28, sessions, one answer for each request) and must never repair
// what they get, nor use a package of the gateway.
package peer

import (
	"encoding/base64"
	"encoding/json/jsontext"
	json "encoding/json/v2"
	"strings"
)

// Era is one of the two ways of the protocol.
type Era int

// The eras. Handshake begins with initialize; Stateless says everything with each request.
const (
	Handshake Era = iota
	Stateless
)

// The newest version of each era, which is what the peers speak.
const (
	HandshakeVersion = "2025-11-25"
	StatelessVersion = "2026-07-28"
)

// String is a word for the name of a test.
func (e Era) String() string {
	if e == Stateless {
		return "stateless"
	}
	return "handshake"
}

// Frame is what the peers read of a message. The values are its bytes.
type Frame struct {
	ID     jsontext.Value `json:"id"`
	Method string         `json:"method"`
	Params jsontext.Value `json:"params"`
	Result jsontext.Value `json:"result"`
	Error  jsontext.Value `json:"error"`
}

// The keys that every request of 2026-07-28 has in its _meta.
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaInfo         = "io.modelcontextprotocol/clientInfo"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaSubscription = "io.modelcontextprotocol/subscriptionId"
)

// MetaMembers are the members that a request of 2026-07-28 has in its _meta, as JSON
// without the braces. capabilities is a JSON object.
func MetaMembers(capabilities string) string {
	return `"` + metaVersion + `":"` + StatelessVersion + `","` + metaInfo + `":{"name":"peer","version":"1"},"` +
		metaCapabilities + `":` + capabilities
}

// headerValue encodes a name as 2026-07-28 wants it in a header.
func headerValue(s string) string {
	plain := s == strings.TrimSpace(s) && !(strings.HasPrefix(s, "=?base64?") && strings.HasSuffix(s, "?="))
	for i := 0; i < len(s) && plain; i++ {
		plain = s[i] == '\t' || s[i] >= 0x20 && s[i] < 0x7f
	}
	if plain {
		return s
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
}

func headerDecoded(v string) string {
	inner, ok := strings.CutPrefix(v, "=?base64?")
	if inner, ok2 := strings.CutSuffix(inner, "?="); ok && ok2 {
		if b, err := base64.StdEncoding.DecodeString(inner); err == nil {
			return string(b)
		}
	}
	return v
}

// target is what Mcp-Name repeats of a request's params, if anything.
func target(method string, params jsontext.Value) (string, bool) {
	var p struct {
		Name string `json:"name"`
		URI  string `json:"uri"`
	}
	if len(params) > 0 && json.Unmarshal(params, &p) != nil {
		return "", false
	}
	switch method {
	case "tools/call", "prompts/get":
		return p.Name, true
	case "resources/read":
		return p.URI, true
	}
	return "", false
}
