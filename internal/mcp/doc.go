// Package mcp reads and writes the messages of the Model Context Protocol: the strict
// JSON-RPC envelope, request ids, the methods of each protocol version, and splices
// into original bytes.
//
// A message is decoded once, to judge and route it; what is forwarded is the bytes
// that were judged. The package never rebuilds a message that it did not write, never
// accepts what two readers could read differently, and does no I/O.
package mcp
