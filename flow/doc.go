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
// Output is folded ([Fold]), and where it holds signs of a disguise the words round them
// are read again without it, up to three disguises deep: escapes of JSON, C, CSS, Markdown
// and HTML, percent-encoding, tags inside words; base64 and hexadecimal that decode to
// text; quoted-printable, UTF-7, encoded words; strings put together with "+", lines that
// go on in the next; "name at host dot tld" and brackets, spaces or words for what is
// meant; letters that look like Latin ones; text behind a right-to-left override. The text
// of a sink is read the same way. Text that is a JSON list or object is read like
// structured content.
//
// An address is seen when it stands there as a whole, its +tag and dots aside. A URL or
// host is seen when its registrable domain is, whatever the sub-domain, scheme, port and
// path, in a link or bare. The domain of a mail address says less: of that domain itself
// it counts, of links below it that is said ([Evidence].Partial), and they are Unknown. On hosts
// that belong to many tenants (github.com, docs.google.com) the host and the first
// path segment count instead; below shared suffixes (github.io, slack.com) one label
// more. An IP address counts by its value. So is an address of which only the domain was
// seen. What the agent named before any output showed it ([Ledger.Named]), and a server's
// own ids given back to it, are Unknown however often they are shown.
//
// Other text is seen when each pair of its neighbouring words was seen, whatever
// separated them and wherever each pair stood: this errs to taint. The labels of hosts in
// links and of domains in addresses are no words. Account numbers are
// also looked for in one piece and cut into other groups. Plain text under [MinText]
// characters is never Untrusted.
//
// Names and local parts beyond ASCII count in the form without marks and with look-alike
// letters as the Latin ones, if that leaves ASCII. An IPv6 address or a name that leads to
// an IPv4 address counts as that too. Digits and letters that look alike (0 and o, 1 and
// l), pairs like "rn" and "m", ciphers such as rot13, other languages' words for "at", base32,
// and an address given in parts are not read: what hides in them is Unknown.
package flow
