// Package relay relays messages between one client and one MCP server and puts the
// engine's decision in between.
//
// It decides nothing itself. It must never forward a message that it could not judge, a
// call whose verdict was not recorded, or output that the ledger has not seen; never
// answer one request twice; and never hold a lock while it writes to a pipe.
//
// Who owns what: one goroutine reads the client, one reads the server; both and the few
// that run queued calls share the tables under Relay.mu. The server's reader never writes to
// the server: a child that waits for its output to be read would wait for ever. What
// must go there from it goes through Relay.toServer.
package relay
