package flow

import (
	"strings"
	"unicode"
)

// Copy says how much of a text was copied.
type Copy struct {
	Words    int      // words of the text
	Copied   int      // words of it that stand in runs of five or more words of recorded output
	Evidence Evidence // where one of the runs was seen, the first time that it began at a word of which runs are kept; zero if that is not known
}

// Copied says how much of text stands word for word in recorded output from outside: in
// runs of at least five words that follow each other there as they do in text. Case, punctuation,
// white space and what [Fold] removes do not count. A run that begins in one string of
// an output and ends in another is none. The places of one run in sixteen are recorded,
// so that a short copy has no Evidence. With [LedgerOptions].NoCopies nothing is copied.
func (l *Ledger) Copied(text string) Copy {
	r := l.readers.Get().(*copyReader)
	defer l.readers.Put(r)
	c := r.read(text)
	if plainASCII(text) {
		return c
	}
	if plain, ok := latinised(text); ok { // letters of another script, drawn alike
		if p := r.read(plain); p.Copied*max(c.Words, 1) > c.Copied*max(p.Words, 1) {
			return p
		}
	}
	return c
}

// A copyReader looks the runs of one text up, a batch at a time.
type copyReader struct {
	scan    scanner
	ledger  *Ledger
	entries []copyEntry // not yet looked up
	done    int         // entries looked up
	begun   bool        // the run that begins with the last of them was recorded with its fifth word
	run     uint64      // that run
	copied  int         // words known to be copied
	upTo    int         // no word from here on is counted in copied
	where   Evidence    // of one of the runs
	known   bool        // where is set
}

// copyEntry is an entry and the run that begins with its words.
type copyEntry struct{ entry, run uint64 }

func newCopyReader(l *Ledger) *copyReader {
	r := &copyReader{ledger: l}
	r.scan.keys, r.scan.take, r.scan.takeRun = &l.keys[outside], func(kind, uint64) {}, r.add
	return r
}

func (r *copyReader) read(text string) Copy {
	r.copied, r.where, r.known = 0, Evidence{}, false
	words := 0
	for text != "" {
		prose, rest := untilReference(text)
		r.done, r.upTo = 0, 0
		r.scan.text(prose)
		r.lookup()
		words += int(r.scan.count)
		text = rest
	}
	return Copy{words, r.copied, r.where}
}

// untilReference cuts text at its first link or address, and that off what follows.
func untilReference(text string) (prose, rest string) {
	at := 0
	for {
		i := strings.IndexAny(text[at:], "@/.")
		if i < 0 {
			return text, ""
		}
		i += at
		start := strings.LastIndexFunc(text[:i], unicode.IsSpace) + 1
		end := len(text)
		if n := strings.IndexFunc(text[i:], unicode.IsSpace); n >= 0 {
			end = i + n
		}
		if end-start <= MaxDestination && refersTo(text[start:end]) {
			return text[:start], text[end:]
		}
		at = end
	}
}

// refersTo reports a token that is a link or an address, in brackets or not.
func refersTo(token string) bool {
	if strings.Contains(token, "://") {
		return true
	}
	bare := stripped(token)
	return strings.ContainsAny(bare, "@/.") && len(wholly(bare)) > 0
}

func (r *copyReader) add(entry, run uint64) {
	if r.entries = append(r.entries, copyEntry{entry, run}); len(r.entries) == batchLen {
		r.lookup()
	}
}

// lookup counts the words of the runs that were seen. The run number n, from 0, is the
// words from n to n+4: the four words of entry n with the word behind them, and those of
// entry n+1 with the word before them.
func (r *copyReader) lookup() {
	r.ledger.mu.RLock()
	defer r.ledger.mu.RUnlock()
	for _, e := range r.entries {
		before, behind := r.ledger.facts.runs.fifth(e.entry)
		if r.done > 0 && (before || r.begun) {
			r.seen(r.done - 1)
		}
		r.begun, r.run = behind, e.run
		r.done++
	}
	r.entries = r.entries[:0]
}

// seen counts the words of a run. The ledger's lock must be held.
func (r *copyReader) seen(run int) {
	if !r.known && sampled(r.run) {
		if id, ok := r.ledger.facts.get(r.run); ok && id != 0 {
			if e := r.ledger.evidence(id); !e.Forgotten {
				r.where, r.known = e, true
			}
		}
	}
	end := run + runWords
	r.copied += min(runWords, end-r.upTo)
	r.upTo = end
}
