// Package decide puts the engine behind a stream of JSON lines, for programs in other
// languages: one message a line comes in, one decision for each call goes out.
//
// A stream holds several sessions, which share nothing but the lists of tools and the
// rate limits. Lines are processed in their order, one at a time: what a result shows is
// in the ledger before the next line is read. docs/decide.md describes the messages,
// docs/decide.schema.json is their schema.
//
// The output has one line for each call and each answer, and one for each line that is
// refused. It must never have anything else, and a line that is refused must never lead to
// less doubt: it changes nothing, but for a result that could not be recorded, which stops
// its session until it is.
package decide
