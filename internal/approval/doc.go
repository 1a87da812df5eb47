// Package approval asks a person, and makes the answer count once.
//
// An [Approval] is one question about one call, with everything that its answer is bound to.
// A [Desk] is one session's side: it opens questions, finds the yes that covers a call, and
// uses it up. A [Store] is what several processes share: gateways that ask, and the terminal
// in which a person answers. Channels (a client's own prompt, a code for a terminal) only
// carry a question and bring an answer; what a yes covers is the same for all of them.
//
// It never takes a question for answered that was not, never lets a yes count for another
// call, caller, session or policy, and never goes on with state that it cannot verify: each
// such use is an error, and an error is a refusal. It never removes or overwrites a file that
// it did not write itself.
//
// # What a yes is bound to
//
// To the caller, the session, the upstream, the tool (or prompt, or resource), the digest of
// the policy, and for each question to its check, the place in the arguments, the JSON type
// of what stands there, the destination in canonical form and where that was known from. A
// yes once covers a call with exactly these questions; a yes for the session covers each of
// its destinations alone. The other arguments may differ, unless [Settings].BindCall says
// otherwise. A question that names no destination, or whose place leads to no value, is about
// the call as it stands: it is always bound to all arguments.
//
// Arguments are the same when their JSON is, whatever the order of members: 1 is not "1",
// and neither is it 1.0.
//
// # States
//
//	asked ──▶ granted ──▶ used       a yes once, claimed by the call that it covers
//	  │          └──────▶ expired    nobody called in time; revoked: the session ended
//	  ├─────▶ denied                 not asked again in the session, see Settings.Reask
//	  └─────▶ expired, revoked       no answer
//
// A yes for the session stays granted until the session ends, at most [MaxLasting].
//
// # Directory
//
//	DIR/approvals/   0700
//	    lock         held while anything is read or changed
//	    key          32 random bytes, the secret of this installation
//	    state        approvals, counts of questions, wrong codes
//	    trust        the user's own list of trusted destinations
//
// Files are 0600, opened as those of package store are: regular, of this user alone, no
// links. state and trust are
//
//	magic(24) generation(8) nonce(12) ciphertext tag(16)
//
// AES-256-GCM under a key that HKDF-Expand (SHA-256) derives from the secret, bound to magic,
// the file's name and the generation, which is one more with every change. Files are replaced
// as a whole, under the lock. A generation below one that the process has seen is damage.
//
// The seals tell damage, a cut, an old copy and the writing of a program that cannot read the
// key. They do not stop a program that runs as the same user and reads it; docs/approvals.md
// says so.
//
// # Time
//
// The clock is the wall's, which processes share. When it stands more than [MaxBack] before
// the time of the last change, everything that was open or granted has expired: how long ago it
// was asked is not known any more.
package approval
