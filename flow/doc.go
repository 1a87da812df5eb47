// Package flow answers one question: where is this destination known from?
//
// It finds destinations in a sink's value ([Flatten]), keeps a [Ledger] of every
// value that tool output has shown in a session, with evidence, and matches the
// two: hard folding when looking for taint, as little as possible when looking for
// trust ([Pattern]).
//
// It decides nothing (the engine turns an [Origin] into a verdict), does no I/O and
// knows no MCP but the names of its members. A value that it cannot read must come
// out as refused or unknown, never as known good.
//
// # What counts as seen
//
// Output is folded ([Fold]), and once more with JSON escapes, HTML entities,
// percent-encoding and tags inside words taken away where there are any. Text that is
// a JSON list or object is read like structured content.
//
// An address is seen when it stands there as a whole, its +tag and dots aside. A URL or
// host is seen when its registrable domain is, whatever the sub-domain, scheme, port and
// path, and wherever it stood: in a link, bare, or as the domain of an address. On hosts
// that belong to many tenants (github.com, docs.google.com) the host and the first
// path segment count instead; below shared suffixes (github.io, slack.com) one label
// more. An IP address counts by its value. Of an address of which only the domain was
// seen, that is said ([Evidence].Partial), and it is Unknown.
//
// Other text is seen when each pair of its neighbouring words was seen, whatever
// separated them and wherever each pair stood: this errs to taint. Account numbers are
// also looked for in one piece and cut into other groups. Plain text under [MinText]
// characters is never Untrusted.
//
// Not read yet: base64, quoted-printable, look-alike letters, "name at host dot tld".
package flow
