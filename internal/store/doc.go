// Package store keeps what several processes of one session share: a [sallyport.Store]
// in files. It serves the ledger that the wrap processes of one client have in common.
//
// It never decides anything, never looks into an entry, never repairs a log that it only
// reads, and never goes on with one that is damaged: each such use is an error, and the
// engine refuses what it cannot look up.
//
// # Directory
//
//	DIR/sessions/             0700
//	    lock                  held while a session is made, joined, left or removed
//	    <32 hex digits>/      0700, one session; the digits are from SHA-256 of its name
//	        session           the name, as text
//	        key               32 random bytes, the secret
//	        live              every process of the session holds a shared lock on it
//	        table         counters, buckets, values, which logs exist
//	        log-<32 hex>      one log; the digits are from a MAC of its name
//	    new-*, gone-*         a session being made or removed; swept
//
// Files are 0600, are opened through [os.Root], and must be regular, of this user, and
// with no other name. Locks are flock(2) or LockFileEx, advisory, and waited for within
// the context and [Options.LockWait]. A session is complete when it gets its name, so a
// process that is killed while it makes one leaves nothing that could be joined. It is
// removed by the last process that closes it or by [Sweep], if [Options.Ended] agrees;
// both hold the lock that a joining process needs, so a session is never removed under
// one that joins.
//
// Nothing is synced to disk: a session does not outlive its machine. DIR must be on a file
// system of this machine; a network file system gives no promise about what another
// machine sees.
//
// # Keys
//
// The secret never serves by itself. HKDF-Expand (SHA-256) with the info text
// "sallyport store 1 " and mac, entries or table gives the keys of what follows; with
// "use " and a purpose it gives what [Store.Derive] returns. MAC is HMAC-SHA-256 under the
// first; the first byte of its input says what it is for. SEAL(data; bound) is AES-256-GCM
// with a random nonce: nonce(12) ciphertext tag(16), which opens only together with what
// it is bound to. Integers are big-endian.
//
// # Log
//
//	offset 0    magic    16  "sallyport log 1\n"
//	       16   mark     48  count(8) end(8) MAC('M' start count end)
//	       64   entries
//
//	entry       length    4  of the payload, at most MaxEntry
//	            sequence  8  0, 1, 2, …
//	            check     8  first bytes of MAC('H' previous length sequence)
//	            sealed       SEAL(payload; previous length sequence), key entries
//
// start is the first half of MAC('S' name of the log); previous is the tag of the entry
// before, of the first start. So an entry opens at its place in its log only: an entry
// that was changed, removed, repeated, moved or taken from another log or session does not
// verify, and neither does any after it. One write appends an entry, under the lock; a
// second, of 48 bytes, moves the mark, which says how far the log reached at least. A
// process that is killed in between leaves a mark that is behind, which is no damage.
//
// A process that is killed within the first write leaves a torn tail: a proper check and
// too few bytes after it, or too few bytes for a check. The next process that appends cuts
// it off, under the lock. A reader reads as if it were not there, without a lock: it is a
// write that is under way or one that never ends, and either is no entry yet. Anything else
// that does not verify, looked at again under the lock, is damage, and so are a log that is
// shorter than this process has read, than its mark was when this process joined, or than
// its mark is when it appends, a log without a name in the file system, and a log that the
// table knows and that is not there.
//
// # Table
//
//	offset 0    magic       16  "sallyport tab 1\n"
//	       16   generation   8  one more with every change
//	            length       4  of the sealed content, at most 4 MiB
//	     4096   SEAL(content; generation length), key table, of an even generation
//	  4198400   the same, of an odd generation
//
//	content     records, in order of kind and key, without end mark
//	record      kind(1) key(16) expires(8) length(4) value
//
// kind is c for a counter (8 bytes), b for a bucket (tokens as IEEE 754, time in
// nanoseconds since 1970), v for a value, l for a log that exists (none); key is the first
// half of MAC('N' kind name); expires is nanoseconds since 1970, 0 for never. Under the
// lock on the table the next content is written beside the one in use, and then the 12
// bytes that point to it, so that a process that is killed changes all or nothing. A table
// whose generation is below one that this process has seen is damage.
//
// # What it protects against
//
// Nothing of what is shared is on the disk as plain text: payloads and values are sealed,
// of names there are MACs. That is worth what the key's file is worth: it keeps text from
// indexers, from backups that leave the key out, and from whoever gets a log alone.
//
// The seals tell damage, a cut, an old copy and the writing of a program that cannot read
// the key. They do not stop a program that runs as the same user: it can read the key and
// write any log with it, restore an old copy of the whole directory for processes that
// join later (those that have read further notice), remove the directory so that the next
// process begins a new session (those that are in it notice), or hold a lock so that every
// use is an error. Such a program can as well start a tool server without any gateway. A
// tool server that can be talked into writing files is kept out by the path check: the
// state directory lies inside no write prefix.
package store
