package mcp

// Protocol versions that this program relays.
const (
	V20241105 = "2024-11-05"
	V20250326 = "2025-03-26"
	V20250618 = "2025-06-18"
	V20251125 = "2025-11-25"
	V20260728 = "2026-07-28"
)

// Direction of a message.
type Direction uint8

// The two directions.
const (
	ToServer Direction = iota // from the client
	ToClient                  // from the server
)

// String returns "to server" or "to client".
func (d Direction) String() string {
	if d == ToClient {
		return "to client"
	}
	return "to server"
}

// way is a set of ways in which a method is used.
type way uint8

const (
	requestToServer way = 1 << iota
	requestToClient
	notifyServer
	notifyClient
)

// methods holds every method of the five protocol versions and of the tasks extension
// (SEP-2663). The comment says in which versions a method exists, where that is not all of
// them.
var methods = map[string]way{
	"initialize":                               requestToServer,                   // to 2025-11-25
	"ping":                                     requestToServer | requestToClient, // to 2025-11-25
	"server/discover":                          requestToServer,                   // from 2026-07-28
	"completion/complete":                      requestToServer,
	"logging/setLevel":                         requestToServer, // to 2025-11-25
	"prompts/get":                              requestToServer,
	"prompts/list":                             requestToServer,
	"resources/list":                           requestToServer,
	"resources/templates/list":                 requestToServer,
	"resources/read":                           requestToServer,
	"resources/subscribe":                      requestToServer, // to 2025-11-25
	"resources/unsubscribe":                    requestToServer, // to 2025-11-25
	"subscriptions/listen":                     requestToServer, // from 2026-07-28
	"tools/call":                               requestToServer,
	"tools/list":                               requestToServer,
	"sampling/createMessage":                   requestToClient, // to 2025-11-25; later inside input_required
	"roots/list":                               requestToClient, // the same
	"elicitation/create":                       requestToClient, // from 2025-06-18; the same
	"notifications/cancelled":                  notifyServer | notifyClient,
	"notifications/progress":                   notifyServer | notifyClient, // to server: to 2025-11-25
	"notifications/initialized":                notifyServer,                // to 2025-11-25
	"notifications/roots/list_changed":         notifyServer,                // to 2025-11-25
	"notifications/message":                    notifyClient,
	"notifications/resources/updated":          notifyClient,
	"notifications/resources/list_changed":     notifyClient,
	"notifications/tools/list_changed":         notifyClient,
	"notifications/prompts/list_changed":       notifyClient,
	"notifications/elicitation/complete":       notifyClient, // 2025-11-25
	"notifications/subscriptions/acknowledged": notifyClient, // from 2026-07-28

	// Tasks: of 2025-11-25, where either side may have them, and of the extension to
	// 2026-07-28, where only servers do.
	"tasks/get":                  requestToServer | requestToClient, // both
	"tasks/cancel":               requestToServer | requestToClient, // both
	"tasks/result":               requestToServer | requestToClient, // 2025-11-25
	"tasks/list":                 requestToServer | requestToClient, // 2025-11-25
	"tasks/update":               requestToServer,                   // extension
	"notifications/tasks/status": notifyServer | notifyClient,       // 2025-11-25
	"notifications/tasks":        notifyClient,                      // extension
}

// methodNames lets a known method be read without a copy of its name.
var methodNames = func() map[string]string {
	names := make(map[string]string, len(methods))
	for name := range methods {
		names[name] = name
	}
	return names
}()

// methodName returns b as a string.
func methodName(b []byte) string {
	if name, ok := methodNames[string(b)]; ok {
		return name
	}
	return string(b)
}

// Known reports whether method exists, in some protocol version that this program
// relays, as a message of that kind in that direction.
// Responses have no method: for them it is false.
func Known(d Direction, k Kind, method string) bool {
	var want way
	switch {
	case k == Request && d == ToServer:
		want = requestToServer
	case k == Request && d == ToClient:
		want = requestToClient
	case k == Notification && d == ToServer:
		want = notifyServer
	case k == Notification && d == ToClient:
		want = notifyClient
	}
	return methods[method]&want != 0
}

// RequestVersion returns the protocol version that a request states in
// params._meta["io.modelcontextprotocol/protocolVersion"], "" if none.
func RequestVersion(m Message) string {
	version, _ := Str(member(member(m.Params, "_meta"), "io.modelcontextprotocol/protocolVersion"))
	return version
}

// IsLogLevel reports whether s is one of the levels of logging (2025-11-25, "Logging").
func IsLogLevel(s string) bool {
	switch s {
	case "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency":
		return true
	}
	return false
}
