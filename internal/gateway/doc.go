// Package gateway stands between many clients and many MCP servers.
//
// It decides nothing: what a client sends goes through one relay (internal/relay) for each
// session and upstream, which judges, records, observes, hides and pins. This package says
// which upstream a message is for, under which name and id, and brings back what comes.
// A message that it could not place must never reach an upstream; nothing of an upstream's
// reaches a client but through that session's relay; and no table of one caller is ever
// read for another.
//
// # Who is who
//
// A session is one client: an MCP session of a handshake version, or, in stateless
// versions, all requests of one caller that say the same of their client. It has a link to
// each upstream that it uses: a relay, and a conversation (upstream.Conn) of its own. A call
// is one request of the client; it becomes one or several legs, one for each request to an
// upstream. Legs have small whole numbers as ids, and as progress tokens, unique in their
// session; what the client chose stays on its side.
//
// With one upstream, and names as they are, the session passes through: results keep
// their bytes but for what docs/protocol.md lists.
//
// # Who waits for whom
//
// One goroutine serves each request of a client: it alone writes to that request's stream,
// from a mailbox that is bounded. One goroutine per link writes to the upstream, in order. No
// lock is held while a relay, a connection or a client is called.
package gateway
