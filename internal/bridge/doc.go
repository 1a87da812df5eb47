// Package bridge makes a server of one era speak to a client of the other, and adapts what a
// server asks to the protocol version of its client.
//
// It must never do I/O of its own.
package bridge
