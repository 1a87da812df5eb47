// Package doc reads one JSON value strictly and lets rules look into it: by selectors,
// and by patterns that match a whole text.
//
// It is the form in which every other package sees a call's arguments and a
// tool's output: an ordered tree with exact numbers. A document is decoded once;
// duplicate names, invalid UTF-8, trailing data, and nesting or size over a limit
// are errors, so that what is judged cannot differ from what a server reads.
//
// It must never round a number, merge two members, or do I/O.
package doc
