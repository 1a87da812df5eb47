// Package explain turns a decision and the way to it into something that a person reads
// in 80 columns or a program reads as JSON: verdict, what decided, what the call would
// consume, every rule and constraint up to the one that decided, every check that ran.
//
// It decides nothing, and it must never show a byte of a call, a tool or a file that was
// not escaped and bounded.
package explain
