package bridge

import (
	"slices"
	"time"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// Bounds of one bridged conversation.
const (
	// MaxRounds is how often one request of the client's may be interrupted by questions.
	MaxRounds = 8
	// ParkFor is how long a call waits for the client to come back with its answers.
	ParkFor = 10 * time.Minute

	maxParked        = 64  // calls that wait for a client to come back
	maxQuestions     = 16  // open at once, of one call
	maxHeld          = 64  // log messages kept for a client that is to come back
	maxSubscriptions = 512 // resources, of one conversation
	maxListens       = 32  // subscriptions/listen open at once, of one stateless client
	maxStreams       = 8   // subscriptions/listen open at once at a stateless server
)

// Client is what a bridge must know of the client that it stands before.
type Client struct {
	// Params of a handshake client are the raw params of its initialize. A stateless
	// client needs none: each of its requests says everything.
	Params []byte

	// Version is the protocol version that a handshake client is spoken to in; "" takes the
	// one that Params ask for, or the newest that has a handshake.
	Version string

	// Beside gets the notifications that belong to no request of the client's, one at a time;
	// nil drops them. A handshake client is to be sent them. A stateless client never gets such
	// notifications: what it listens for comes with its subscriptions/listen; here come the
	// same changes for the gateway's own use. It must not call Do or Send.
	Beside func(mcp.Message)
}

// handshakeVersions are those with an initialize, oldest first.
var handshakeVersions = []string{mcp.V20241105, mcp.V20250326, mcp.V20250618, mcp.V20251125}

// negotiated is the version that a client gets that asks for wish.
func negotiated(wish string) string {
	if slices.Contains(handshakeVersions, wish) {
		return wish
	}
	return mcp.V20251125
}

// Keys of _meta.
const (
	keyVersion        = "io.modelcontextprotocol/protocolVersion"
	keyClientInfo     = "io.modelcontextprotocol/clientInfo"
	keyCapabilities   = "io.modelcontextprotocol/clientCapabilities"
	keyLogLevel       = "io.modelcontextprotocol/logLevel"
	keyServerInfo     = "io.modelcontextprotocol/serverInfo"
	keySubscriptionID = "io.modelcontextprotocol/subscriptionId"
	tasksExtension    = "io.modelcontextprotocol/tasks"
)

// interruptible are the requests that may be answered with input_required.
func interruptible(method string) bool {
	return method == "tools/call" || method == "prompts/get" || method == "resources/read"
}

// cacheable are the requests whose results carry ttlMs and cacheScope from 2026-07-28 on.
func cacheable(method string) bool {
	switch method {
	case "server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read":
		return true
	}
	return false
}
