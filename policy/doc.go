// Package policy is the language of the first gate: ordered rules over which caller
// may call which tool, read which resource and get which prompt. First match wins.
//
// A rule names tools, resources or prompts and may constrain the call: selectors say what
// is looked at, operators what it must be. A constraint passes, fails or cannot be
// evaluated, and what cannot be evaluated never helps a call: an allow rule then does not
// match, a deny or ask rule does.
//
// It compiles and evaluates; it does no I/O and knows no MCP. A policy is loaded
// whole or not at all, and what no rule covers is the policy's default, deny unless
// the author wrote otherwise. It must never skip a key or a rule that it does not
// understand, match a name by anything but its bytes, or allow because of an error.
package policy
