// Package pins keeps on disk what MCP servers listed, so that a definition that changes
// between two sessions is refused until a person has seen the difference.
//
// # Where
//
// One directory (0700) of the user's state, with one file (0600) per upstream, a file
// named lock, and for a moment files named .new-*. An upstream is the server's command
// and arguments, or its URL: the file's name is the first half of the SHA-256 over them.
//
// # Format
//
// A file is one JSON object, at most [MaxFile] bytes:
//
//	version      integer  1. Any other is refused
//	id           string   SHA-256 of the upstream, 64 hexadecimal characters
//	names        [string] names that the upstream was wrapped under, the last one last; at most 16
//	shown        string   the command or URL for a person, without what looks like a secret
//	definitions  object   each tool definition that is named below, by its digest
//	sets         [object] one per set of client capabilities, in order of their first use; at most 64
//
// and an element of sets:
//
//	id            string   SHA-256 of the client's capabilities, in a form without order
//	capabilities  [string] their names, for a person
//	first         string   when the set was first pinned, RFC 3339
//	pins          object   by a tool's name: {digest, since, how}; at most 10,000
//	waiting       object   by a tool's name: {digest, since}: listed and refused; at most 500
//
// how is "first" (in the set's first list, or within seconds after it), "same" (it was
// pinned under another set with that definition) or "accepted" (a person said yes). digest
// is [sallyport.PinDigest] of the definition; a definition is at most [sallyport.MaxPinned]
// bytes. Members that are not listed here are refused, and so is a definition without a
// pin, a digest without a definition, or one that is not its definition's: a file is used
// as a whole or not at all.
//
// # Writing
//
// Every change is made under an exclusive lock on the file lock, from what then stands on
// disk, into a new file that is synced, renamed over the old one and followed by a sync of
// the directory. Who reads sees the old file or the new one.
//
// The package must never use part of a file, never pin what it could not keep, and never
// accept anything by itself.
package pins
