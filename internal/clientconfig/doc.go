// Package clientconfig knows where MCP clients keep their configuration, how each writes
// its servers down, and how to put Sallyport in front of them and take it away again.
//
// Nothing is ever parsed and written anew: an edit replaces the smallest range of the
// original bytes, so comments, order, indentation, line ends and keys that this package
// does not know stay as they are. What a wrapped entry was stands in the entry itself:
// its own command and arguments follow a "--", and nothing else of it is changed. That is
// the one form that every client takes. An additional key would be an error to some (Gemini
// CLI, and Codex with --strict-config), and a client that writes its file anew may drop it,
// and with it the way back.
//
// A file that cannot be read in full is never edited, and neither is one for which the way
// back does not give its own bytes.
package clientconfig
