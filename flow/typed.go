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
			if h, ok := d.site(); ok {
				keys = append(keys, l.siteKey(h))
			}
		}
	}
	fields := strings.Fields(text)
	for i, f := range fields {
		if n, ok := decimal(stripped(f)); ok {
			note(textOf(n))
		}
		for _, t := range typedTokens(f) {
			typedToken(t, note)
		}
		for n := 1; n <= typedWords && i+n <= len(fields); n++ {
			run := strings.Join(fields[i:i+n], " ")
			note(textOf(run))
			if bare := stripped(run); bare != run && bare != "" {
				note(textOf(bare))
			}
			if quoted := strings.Trim(run, "\"'`“”‘’«»"); quoted != run && quoted != "" { // `go test ./...`
				note(textOf(quoted))
			}
			if n > 1 {
				if account, ok := iban(stripped(run)); ok {
					note(textOf(account))
				}
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

// site is the host of a page that stands for a site of its own: not one where anybody can
// have a page.
func (d Destination) site() (host string, ok bool) {
	h := d.parts.host
	return h, (d.Kind == URL || d.Kind == Host) && h != "" && !tenantHosts[h] && registrable(h) != ""
}

// siteKey is the fact that the user named a page of a site.
func (l *Ledger) siteKey(host string) uint64 {
	return l.keys[outside][factTyped].sip(append([]byte{0xFF, 0}, host...)) // no kind of destination
}

// typedSite reports that the user named another page of d's site. The lock must be held.
func (l *Ledger) typedSite(d Destination) bool {
	h, ok := d.site()
	if !ok || len(l.typed) == 0 {
		return false
	}
	_, ok = l.typed[l.siteKey(h)]
	return ok
}

// iban reads an IBAN (ISO 13616) as it is printed, in groups, and as it is sent.
func iban(s string) (string, bool) {
	if len(s) < 15 || len(s) > 2*maxIBAN {
		return "", false
	}
	b := make([]byte, 0, maxIBAN)
	for i := range len(s) {
		switch {
		case s[i] == ' ' || s[i] == '-':
		case !digit(s[i]) && !letter(s[i]) || len(b) == maxIBAN:
			return "", false
		default:
			b = append(b, s[i]&^(s[i]&0x40>>1)) // letters as capitals
		}
	}
	ok := len(b) >= 15 && letter(b[0]) && letter(b[1]) && digit(b[2]) && digit(b[3])
	return string(b), ok
}

// textOf reads a run of words as text, refusing what would be refused in a sink.
func textOf(s string) Destination {
	if why := hostileText(s); why != "" {
		return malformed(s, Text, why)
	}
	return parseText(s)
}

// typedToken notes a token, and its readings as a host.
func typedToken(t string, note func(Destination)) {
	if !strings.ContainsAny(t, "@.:/") && t != "localhost" || hostileText(t) != "" {
		return
	}
	for _, d := range parseList(t) {
		if d.Kind == Host && sentenceSeam(t) {
			continue // Bob.It is no host that anybody meant
		}
		note(d)
		if name, ok := d.repository(); ok {
			note(textOf(name))
		}
		if d.Kind != Host || d.Malformed != "" || fileName(d.parts.host) && d.parts.port == "" {
			continue // notes.zip is a file: the user did not name a page
		}
		for _, scheme := range []string{"https", "http"} {
			note(readURL(t, scheme, scheme+"://"+withPort(bracketed(d.parts.host), d.parts.port)+"/"))
		}
	}
}

// sentenceSeam reports a dot between a word in lower case and one that starts like a
// sentence.
func sentenceSeam(t string) bool {
	i := strings.LastIndexByte(t, '.')
	return i > 0 && i+2 < len(t) && t[i-1] >= 'a' && t[i-1] <= 'z' && t[i+1] >= 'A' && t[i+1] <= 'Z' && t[i+2] >= 'a' && t[i+2] <= 'z'
}

// repositoryHosts are the forges whose pages stand below owner/name.
var repositoryHosts = set("github.com", "www.github.com", "gitlab.com", "bitbucket.org", "codeberg.org")

// repository returns the owner/name that a page of a forge belongs to.
func (d Destination) repository() (string, bool) {
	if d.Malformed != "" || d.Kind != URL || !repositoryHosts[d.parts.host] {
		return "", false
	}
	owner, rest, _ := strings.Cut(strings.TrimPrefix(d.parts.path, "/"), "/")
	name, _, _ := strings.Cut(rest, "/")
	name = strings.TrimSuffix(name, ".git")
	return owner + "/" + name, owner != "" && name != ""
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

// IsTyped reports that the user typed a value as it stands, as a whole: a destination, a
// text, or a number in another notation (1,100.00 is 1100). Of a text of more than eight
// words each eight that follow each other must have been typed so. Case counts,
// punctuation round it does not. It is safe for concurrent use.
func (l *Ledger) IsTyped(s string) bool {
	s = trimSpace(s)
	if len(s) > maxPrompt {
		return false
	}
	words := strings.Fields(s)
	l.mu.RLock()
	defer l.mu.RUnlock()
	if len(l.typed) == 0 || len(words) == 0 {
		return false
	}
	is := func(d Destination) bool {
		if d.Malformed != "" {
			return false
		}
		_, ok := l.lookupTyped(d)
		return ok
	}
	if n, ok := decimal(s); ok && is(textOf(n)) {
		return true
	}
	run := func(words []string) bool {
		text := strings.Join(words, " ")
		return is(textOf(text)) || stripped(text) != "" && is(textOf(stripped(text))) // quoted in the prompt
	}
	if len(words) <= typedWords {
		return run(words) || len(s) <= MaxDestination && is(parseOne(s))
	}
	for i := 0; i+typedWords <= len(words); i++ {
		if !run(words[i : i+typedWords]) {
			return false
		}
	}
	return true
}

// decimal is the plain form of a number as people and programs write it, a currency sign
// aside: 1,100.50 and $1100.5 are 1100.5.
func decimal(s string) (string, bool) {
	s = strings.Trim(s, "$€£¥")
	if s == "" || len(s) > 40 || !digit(s[len(s)-1]) {
		return "", false
	}
	whole, fraction, _ := strings.Cut(s, ".")
	if groups := strings.Split(whole, ","); len(groups) > 1 {
		for i, g := range groups {
			if i > 0 && len(g) != 3 {
				return "", false
			}
		}
		whole = strings.Join(groups, "")
	}
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "-", whole[1:]
	}
	if whole == "" || strings.Trim(whole, "0123456789") != "" || strings.Trim(fraction, "0123456789") != "" {
		return "", false
	}
	whole = strings.TrimLeft(whole, "0")
	if whole == "" {
		whole = "0"
	}
	if fraction = strings.TrimRight(fraction, "0"); fraction != "" {
		whole += "." + fraction
	}
	return sign + whole, true
}

func (l *Ledger) typedKey(d Destination, sigil byte) uint64 { return l.exactKey(factTyped, d, sigil) }

// exactKey is the fact that d, as it stands, is something.
func (l *Ledger) exactKey(k kind, d Destination, sigil byte) uint64 {
	return keyOf(l.keys[outside][k], d, sigil)
}

func keyOf(k sipKey, d Destination, sigil byte) uint64 {
	b := make([]byte, 0, 128)
	b = append(b, byte(d.Kind), sigil)
	return k.sip(append(b, d.Canonical...))
}

// sigils are those that d can have been written with: #general is no @general, and
// without either, both are meant.
func (d Destination) sigils() []byte {
	switch {
	case d.Kind != Text:
		return []byte{d.parts.sigil}
	case d.parts.sigil == 0:
		return []byte{0, '#', '@', '!'}
	}
	return []byte{d.parts.sigil, 0}
}

// lookupTyped reports that d's canonical form stood in a prompt. The lock must be held.
func (l *Ledger) lookupTyped(d Destination) (Finding, bool) {
	if len(l.typed) == 0 {
		return Finding{}, false
	}
	for _, sigil := range d.sigils() {
		if n, ok := l.typed[l.typedKey(d, sigil)]; ok {
			return Finding{Origin: Typed, Evidence: []Evidence{{Place: "prompt " + strconv.Itoa(int(n))}}}, true
		}
	}
	switch d.Kind {
	case Text:
		if account, ok := iban(d.Canonical); ok && account != d.Canonical && !d.parts.code {
			d.Canonical = account
			return l.lookupTyped(d)
		}
	case URL:
		if bare, _, ok := strings.Cut(d.Canonical, "#"); ok { // the part of a page goes to no server
			d.Canonical = bare
			return l.lookupTyped(d)
		}
	}
	return Finding{}, false
}
