// Package archtest holds the tests of the project's shape: which package may import
// which, what the engine must never do, how packages are documented and named, and
// what is linked into the program.
//
// It reads source files, whatever system they are for. It holds no code of its own and
// must never be imported.
package archtest
