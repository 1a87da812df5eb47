// Package audit keeps the record of every verdict: JSON lines, hash-chained, redacted
// before they are written.
//
// Several processes may append to one log. A record that could not be written whole
// is an error that the caller must act on; the package never drops one silently, never
// writes a secret that a redaction rule names, and never follows a symbolic link to a
// log.
//
// # Format
//
// A log is a sequence of lines, each one JSON object in UTF-8 and one line feed. Members
// stand in the order below, without white space between them; a member that has no value
// is left out. Later versions may add members between event and prev: a reader ignores
// names that it does not know. The file docs/audit-format.md explains each one at length.
//
//	seq                 integer  number of the record in its log, from 1, without gaps
//	time                string   RFC 3339, UTC, milliseconds: 2026-01-02T15:04:05.000Z
//	event               string   tools/call, resources/read, prompts/get, session, pin, config, …;
//	                             the log itself writes repair, restart and rotation
//	phase               string   verdict (before forwarding) or outcome (after)
//	ref                 integer  in an outcome: seq of its verdict record
//	session             string   the session
//	caller              string   who made the call
//	policy              string   the caller's policy
//	policy_digest       string   digest of the policy as loaded
//	upstream            string   the server
//	target              string   tool, prompt or resource URI
//	call                integer  number of the call in its session
//	request             string   the JSON-RPC id, as its JSON text
//	trace               string   the trace that the request belongs to (W3C Trace Context)
//	approval            string   the approval that was asked for, given or used
//	arguments           any      the call's arguments, redacted and cut
//	arguments_left_out  integer  values left out of arguments because they were too many
//	arguments_digest    string   keyed digest of the whole arguments as compact JSON
//	verdict             string   allow, ask, deny
//	check               string   the check that decided
//	rule                string   the rule that decided
//	reason              string   why, for a person
//	evidence            list     where destinations were first seen; objects of
//	                             argument, destination, destination_digest, origin,
//	                             upstream, tool, call, time, place
//	evidence_left_out   integer  evidence left out because it was too much
//	outcome             string   allowed, denied, asked, rate_limited, error, cancelled, dry-run-allowed
//	mode                string   enforce, dry-run
//	duration_ms         number   milliseconds, with microseconds as decimals
//	result_bytes        integer  size of the result
//	result_digest       string   keyed digest of the result
//	detail              string   for events that are no call
//	sealed              object   in a repair: bytes and sha256 of what stands, unusable, before it
//	before              object   in a restart: seq and hash of the last record known of what is gone;
//	                             in a rotation: those of the last record of the file before, that
//	                             file, and kept_from, the first record that is kept
//	prev                string   hash of the record before, 64 zeros if there is none
//	hash                string   hash of this record
//
// # The chain
//
// Hashes are SHA-256, written as 64 lower-case hexadecimal digits. A chained line ends
// with exactly these 75 bytes before its line feed, H being the hash:
//
//	,"hash":"HHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHH"}
//
// Its leaf is the line without these 75 bytes and without the line feed, followed by one
// closing brace. The 74 bytes of the leaf before that brace are
//
//	,"prev":"PPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPPP"
//
// and H is SHA-256 over the 64 digits P, as text, followed by the leaf. P is the H of the
// record before; in a file's first record it is 64 zeros, and so it is after a record
// that has no chain.
//
// # What the log says of itself
//
// A repair record follows bytes that are no record, because a crash tore the last
// line or because something else wrote to the file. Nothing is deleted: sealed.bytes
// and sealed.sha256 cover everything between the record before (after its line feed)
// and the repair, without the last line feed in between. The repair's seq and prev
// continue from the last record that is whole. sealed.bytes is 0 if only the line feed
// of a whole record was missing.
//
// A restart record says that the log was found deleted, replaced or cut while a
// gateway was writing to it, and which record was the last that this gateway knew.
//
// A rotation record begins a new file of a rotated log. Its seq and prev go on from the
// last record of the file before, which is LOG.000001, LOG.000002 and so on.
//
// # Limits
//
// What a power failure can lose is what [Sync] says; a crash of the program cannot lose a
// record that was written. The chain has no key: who can write the file can cut its tail or
// rebuild it from any record on, and only an older hash kept elsewhere shows that.
package audit
