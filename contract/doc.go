// Package contract says what a tool does, whoever calls it: its sinks, its write
// paths, its patterns and its budget.
//
// A contract comes from the user's configuration, else from a pack (a shipped file
// of contracts for one server), else from the fallback, which reads the tool's own
// schema. The package compiles and looks up contracts; the engine applies them. It
// must never let a server's own words loosen a contract, and it does no I/O (packs
// are embedded).
package contract
