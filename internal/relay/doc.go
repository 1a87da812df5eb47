// Package relay relays messages between one client and one MCP server and puts the
// engine's decision in between. The ends are functions (Relay); Pipes drives one over two
// pairs of pipes.
//
// It decides nothing itself. It must never forward a message that it could not judge, a
// call whose verdict was not recorded, or output that the ledger has not seen; never
// answer one request twice; and never hold a lock while it hands a message to an end.
//
// Who owns what: whoever reads the client calls FromClient, whoever reads the server calls
// FromServer, and a few goroutines run queued calls; all share the tables under Relay.mu.
// What FromServer causes at the server goes through Options.Queue and not ToServer, so that
// the server's reader never waits for the server.
package relay
