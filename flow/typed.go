package flow

import (
	"strconv"
	"strings"
	"unicode"
)

const (
	maxPrompt  = 256 << 10 // bytes of one prompt that are read
	maxTyped   = 1 << 20   // canonical forms kept; what comes later is not known as typed
	typedWords = 8         // words of a plain text that a prompt can name
)

// Typed records what the user wrote in a prompt: every address, URL and host in it,
// and every run of up to eight words as it stands. A host at the end of a sentence that
// was glued to the next ("www.site.example.They") is recorded without that word too,
// and a host also as the root of its web site. Text beyond 256 KiB is not read.
func (l *Ledger) Typed(text string) {
	if len(text) > maxPrompt {
		text = text[:maxPrompt]
	}
	var keys []uint64
	note := func(d Destination) {
		if d.Malformed == "" {
			keys = append(keys, l.typedKey(d, d.parts.sigil))
		}
	}
	fields := strings.Fields(text)
	for i, f := range fields {
		for _, t := range typedTokens(f) {
			l.typedToken(t, note)
		}
		for n := 1; n <= typedWords && i+n <= len(fields); n++ {
			run := strings.Join(fields[i:i+n], " ")
			note(textOf(run))
			if bare := stripped(run); bare != run && bare != "" {
				note(textOf(bare))
			}
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.prompts++
	for _, k := range keys {
		if _, known := l.typed[k]; !known && len(l.typed) < maxTyped {
			l.typed[k] = l.prompts
		}
	}
}

// textOf reads a run of words as text, refusing what would be refused in a sink.
func textOf(s string) Destination {
	if why := hostileText(s); why != "" {
		return malformed(s, Text, why)
	}
	return parseText(s)
}

// typedToken notes a token, and its readings as a host.
func (l *Ledger) typedToken(t string, note func(Destination)) {
	if !strings.ContainsAny(t, "@.:/") && t != "localhost" || hostileText(t) != "" {
		return
	}
	for _, d := range parseList(t) {
		note(d)
		if d.Kind != Host || d.Malformed != "" {
			continue
		}
		for _, scheme := range []string{"https", "http"} {
			note(readURL(t, scheme, scheme+"://"+withPort(bracketed(d.parts.host), d.parts.port)+"/"))
		}
	}
}

// typedTokens returns the readings of one word of a prompt: as it stands, without the
// brackets, quotes and punctuation round it, the parts of a Markdown link, and with the
// next sentence cut off.
func typedTokens(f string) []string {
	ts := []string{f}
	if s := stripped(f); s != f && s != "" {
		ts = append(ts, s)
	}
	for part := range strings.FieldsFuncSeq(f, func(r rune) bool { return strings.ContainsRune("()[]<>{}\"'`“”‘’«»|,;", r) }) {
		if part = stripped(part); part != "" {
			ts = append(ts, part)
			ts = append(ts, unglued(part)...)
		}
	}
	return ts
}

// unglued cuts a last label off that starts like a sentence: upper case after lower.
func unglued(s string) []string {
	i := strings.LastIndexByte(s, '.')
	if i <= 0 || i+1 == len(s) || strings.IndexByte(s[:i], '.') < 0 {
		return nil
	}
	first := []rune(s[i+1:])[0]
	if !unicode.IsUpper(first) || strings.ToLower(s[:i]) != s[:i] {
		return nil
	}
	return []string{s[:i]}
}

// stripped takes the punctuation off both ends.
func stripped(s string) string {
	return strings.Trim(s, " \t.,;:!?\"'`()[]<>{}*_“”‘’«»…|")
}

func (l *Ledger) typedKey(d Destination, sigil byte) uint64 {
	b := make([]byte, 0, 128)
	b = append(b, byte(d.Kind), sigil)
	return l.keys[factTyped].sip(append(b, d.Canonical...))
}

// lookupTyped reports that d's canonical form stood in a prompt: #general is no @general,
// and without either, both are meant. The lock must be held.
func (l *Ledger) lookupTyped(d Destination) (Finding, bool) {
	if len(l.typed) == 0 {
		return Finding{}, false
	}
	sigils := []byte{d.parts.sigil, 0}
	switch {
	case d.Kind != Text:
		sigils = sigils[:1]
	case d.parts.sigil == 0:
		sigils = []byte{0, '#', '@', '!'}
	}
	for _, sigil := range sigils {
		if n, ok := l.typed[l.typedKey(d, sigil)]; ok {
			return Finding{Typed, []Evidence{{Place: "prompt " + strconv.Itoa(int(n))}}}, true
		}
	}
	return Finding{}, false
}
