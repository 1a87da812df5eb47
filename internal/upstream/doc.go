// Package upstream reaches the MCP servers behind the gateway: child processes and
// Streamable HTTP, one conversation for each caller.
//
// A [Server] finds out which era a server speaks, starts it again with growing pauses when
// it dies, and bounds how many conversations there are and how long they idle. A
// conversation matches answers to requests and tells what else belongs to which. It
// decides nothing about a message and rewrites none, but for one: over HTTP the answer to
// a tools/list of 2026-07-28 loses the tools whose x-mcp-header annotations are invalid,
// because the specification tells a client to leave them out.
//
// It must never give one caller's conversation to another, take one request's answer for
// another's, pass a caller's credentials on, quote a server's words in an error, or let a
// server that is down or reads nothing hold up the others.
//
// # Eras
//
// The client's era is tried first, the other one after a refusal: anything but an answer
// of that era, and not an error that only a modern server gives (2026-07-28, stdio and
// streamable-http, "Backward Compatibility"). A server that says nothing to server/discover
// for five seconds gets initialize, and server/discover again if it refuses that. What a
// server refused is tried last from then on; what was concluded from its silence is
// forgotten when it goes down.
//
// # Mcp-Param headers
//
// They are derived from the tools/list answers that the conversation has seen. A call
// whose tool was in none is sent without; if the server then says that headers do not
// match, the conversation asks for the list itself, once, and sends the call again if it
// has other headers by then (2026-07-28, "Client Behavior"). The server has not run what
// it refused so.
package upstream
