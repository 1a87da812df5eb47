package streamhttp

import (
	"bytes"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// Header names, as net/http writes them. Names compare without regard to case.
const (
	headerVersion     = "Mcp-Protocol-Version"
	headerSession     = "Mcp-Session-Id"
	headerMethod      = "Mcp-Method"
	headerName        = "Mcp-Name"
	headerParamPrefix = "Mcp-Param-"
	headerLastEvent   = "Last-Event-Id"
	headerChallenge   = "Www-Authenticate"
)

// Error codes that the transport itself answers with (2026-07-28, basic, "Error Codes").
const (
	CodeHeaderMismatch     = -32020
	CodeUnsupportedVersion = -32022
)

// nameSource says which member of params Mcp-Name mirrors, for the methods that need the
// header: 2026-07-28, "Standard Request Headers", and SEP-2663 for tasks.
var nameSource = map[string]string{
	"tools/call":     "name",
	"prompts/get":    "name",
	"resources/read": "uri",
	"tasks/get":      "taskId",
	"tasks/update":   "taskId",
	"tasks/cancel":   "taskId",
}

// bodyName returns what Mcp-Name must say of m. needed is false for methods without the
// header; ok is false if the body has no such string.
func bodyName(m mcp.Message) (name string, needed, ok bool) {
	source, needed := nameSource[m.Method]
	if !needed {
		return "", false, false
	}
	found, err := mcp.Fields(m.Params, source)
	if err != nil {
		return "", true, false
	}
	name, ok = mcp.Str(found[0])
	return name, true, ok
}

// stateless reports whether a protocol version has no handshake and no sessions.
func stateless(version string) bool { return version >= mcp.V20260728 }

// metaVersion returns the protocol version that m states in _meta. present is true also
// if what stands there is no string; then version is "".
func metaVersion(m mcp.Message) (version string, present bool) {
	found, err := mcp.Fields(m.Params, "_meta")
	if err != nil || len(found[0]) == 0 || found[0][0] != '{' {
		return "", false
	}
	found, err = mcp.Fields(found[0], "io.modelcontextprotocol/protocolVersion")
	if err != nil || found[0] == nil {
		return "", err != nil
	}
	version, _ = mcp.Str(found[0])
	return version, true
}

// isArray reports whether a body is a JSON array, that is, a batch.
func isArray(body []byte) bool {
	body = bytes.TrimLeft(body, " \t\r\n")
	return len(body) > 0 && body[0] == '['
}
