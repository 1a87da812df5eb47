// Package policy is the language of the first gate: ordered rules over which caller
// may call which tool, read which resource and get which prompt. First match wins.
//
// It compiles and evaluates; it does no I/O and knows no MCP. A policy is loaded
// whole or not at all, and what no rule covers is the policy's default, deny unless
// the author wrote otherwise. It must never skip a key or a rule that it does not
// understand, match a name by anything but its bytes, or allow because of an error.
package policy
