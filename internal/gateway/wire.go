package gateway

import (
	"strconv"
	"strings"

	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/internal/upstream"
)

// Methods that this package knows by name.
const (
	methodInitialize  = "initialize"
	methodDiscover    = "server/discover"
	methodPing        = "ping"
	methodListen      = "subscriptions/listen"
	methodSetLevel    = "logging/setLevel"
	methodSubscribe   = "resources/subscribe"
	methodUnsubscribe = "resources/unsubscribe"
	methodCancelled   = "notifications/cancelled"
	methodInitialized = "notifications/initialized"
	methodProgress    = "notifications/progress"
)

// codeMissingCapability is MissingRequiredClientCapabilityError of 2026-07-28.
const codeMissingCapability = -32021

const metaPrefix = "io.modelcontextprotocol/"

// eraOnly are the methods that one era alone has.
var eraOnly = map[string]upstream.Era{
	methodInitialize: upstream.Handshake, methodPing: upstream.Handshake, methodSetLevel: upstream.Handshake,
	methodSubscribe: upstream.Handshake, methodUnsubscribe: upstream.Handshake,
	"tasks/list": upstream.Handshake, "tasks/result": upstream.Handshake,
	methodDiscover: upstream.Stateless, methodListen: upstream.Stateless, "tasks/update": upstream.Stateless,
}

// requestID reads params.requestId; zero if there is none.
func requestID(m mcp.Message) mcp.ID {
	f, err := mcp.Fields(m.Params, "requestId")
	if err != nil {
		return mcp.ID{}
	}
	id, _ := mcp.ParseID(f[0])
	return id
}

// param reads a member of params as text.
func param(m mcp.Message, name string) (string, bool) {
	f, err := mcp.Fields(m.Params, name)
	if err != nil {
		return "", false
	}
	return mcp.Str(f[0])
}

func errorCode(raw []byte) int {
	f, err := mcp.Fields(raw, "code")
	if err != nil {
		return 0
	}
	n, err := strconv.Atoi(string(f[0]))
	if err != nil {
		return 0
	}
	return n
}

// errorText is what an error says, bounded and on one line.
func errorText(raw []byte) string {
	f, err := mcp.Fields(raw, "message")
	if err != nil {
		return "an error that cannot be read"
	}
	s, _ := mcp.Str(f[0])
	return quote.Text(strings.TrimPrefix(s, said), 300)
}

// metaOf is params._meta, raw; nil if it is no object.
func metaOf(m mcp.Message) []byte {
	f, err := mcp.Fields(m.Params, "_meta")
	if err != nil || len(f[0]) == 0 || f[0][0] != '{' {
		return nil
	}
	return f[0]
}

// parsed reads a raw value that was judged as part of a message.
func parsed(raw []byte) doc.Value {
	v, err := doc.Parse(raw, doc.Limits{})
	if err != nil {
		return doc.Value{}
	}
	return v
}
