// Package upstream reaches the MCP servers behind the gateway: child processes and
// Streamable HTTP, one conversation for each caller.
//
// It finds out which era a server speaks, starts it again with growing pauses when it
// dies, and bounds how many conversations there are and how long they idle. It decides
// nothing about a message and rewrites none. It must never give one caller's
// conversation to another, pass a caller's credentials on, or let a server that is down
// hold up the others.
package upstream
