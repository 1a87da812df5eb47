// Package flow answers one question: where is this destination known from?
//
// It finds destinations in a sink's value ([Flatten]), keeps a [Ledger] of every
// value that tool output has shown in a session, with evidence, and matches the
// two: hard folding when looking for taint, as little as possible when looking for
// trust ([Pattern]).
//
// It decides nothing (the engine turns an [Origin] into a verdict), does no I/O and
// knows no MCP. A value that it cannot read must come out as refused or unknown,
// never as known good.
package flow
