// Package report makes the review pack: what a gateway was set up to do, what its log says
// that it did, what is worth a look, and what none of it covers, as one Markdown document
// or one HTML page that needs nothing else.
//
// [Build] turns a configuration, what servers list, pins and a log into a [Pack]; the pack
// is laid out once and written in two forms. Tool names, arguments and reasons are chosen
// by servers, agents and attackers: they are bounded and escaped, and in Markdown they
// stand in code spans. The package does no I/O: its caller reads the files. Equal input
// gives equal bytes.
//
// It must never let a text of the log become markup, never name a mapping to a framework
// without its source, and never say that a framework's item is met.
package report
