package flow

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// lookalikes lists, for each letter, folded characters of other scripts that are drawn
// like it or like its capital. The facts are from Unicode Technical Standard #39,
// confusables.txt (Unicode License V3), cut down to letters that fonts have; small
// capitals, letters in circles and flags are added. Digits are left out: 0 and o, 1 and
// l are told apart.
var lookalikes = map[rune]string{
	'a': "ɑαаᴀᎪᗅꓮ", 'b': "ƅβвьʙᏏᏴᑲᖯᗷꓐꞵ", 'c': "сᏟᴄⲥꓚᑕ", 'd': "ԁᎠᏧᑯᗞᗪꓒꓓᴅ", 'e': "εеҽᎬⴹꓰꬲᴇ",
	'f': "ϝքᖴẝꓝꞙꬵꜰ", 'g': "ƍɡԍցᏀᏳᶃꓖɢ", 'h': "ηнһհᎻᏂᕼⲏꓧʜ", 'i': "ıɩɪιіᎥꙇ", 'j': "ʝϳјᎫᒍꓙᴊ",
	'k': "κкᏦᛕⲕꓗᴋ", 'l': "ǀӏᏞᒪᛁⳑⵏꓡꓲʟ", 'm': "μϻмᎷᗰᛖⲙꓟᴍ", 'n': "ոռⲛꓠɴ", 'o': "οσоօଠഠဝჿᴏᴑⲟⵔꓳꬽ",
	'p': "ρрᏢᑭⲣꓑᴘ", 'q': "ԛգզⵕ", 'r': "ʀгᎡᎱᏒᖇᴦⲅꓣꭇꭈ", 's': "ƽѕտᏕᏚꓢꜱ", 't': "τтᎢⲧꓔᴛ",
	'u': "ʋυսሀᑌᴜꓴꞟꭎꭒ", 'v': "νѵᏙᐯᴠⴸꓦꛟ", 'w': "ɯѡԝաᎳᏔᴡꓪ", 'x': "χхᕁᕽ᙭ᚷⲭⵝꓫꭓ", 'y': "ɣʏγуүყᎩᎽᶌỿⲩꓬꭚ", 'z': "ζᏃᴢꓜ",
}

// stops lists characters drawn like the dot, the slash and the hyphen that folding does
// not map already.
var stops = map[rune]string{'.': "ꓸ꘎܁܂·‧•∙⋅⸱・", '/': "⁄∕╱⟋⧸", '-': "‐‑‒–−⁃˗➖"}

var (
	latinOf     = map[rune]byte{}
	latinNear   [0x600]byte // of the first code points
	stopOf      = map[rune]byte{}
	stopNear    [0x2300]byte
	boxedLetter = []rune{0x1F150, 0x1F170, 0x1F1E6} // A to Z in circles, boxes and flags
	alikeBlock  [0x10000 / 64]bool                  // of 64 characters, some of which are in latinOf or stopOf
)

func init() {
	for letter, alikes := range lookalikes {
		for _, r := range alikes {
			for _, c := range []rune{r, unicode.ToUpper(r), unicode.ToLower(r)} {
				if _, taken := latinOf[c]; c >= utf8.RuneSelf && (!taken || c == r) {
					latinOf[c] = byte(letter)
				}
			}
		}
	}
	for r, c := range latinOf {
		if int(r) < len(latinNear) {
			latinNear[r] = c
		}
	}
	for stop, alikes := range stops {
		for _, r := range alikes {
			stopOf[r] = byte(stop)
			if int(r) < len(stopNear) {
				stopNear[r] = byte(stop)
			}
		}
	}
	for r := range latinOf {
		alikeBlock[uint16(r)/64] = true
	}
	for r := range stopOf {
		alikeBlock[uint16(r)/64] = true
	}
	for i := range nearKinds {
		nearKinds[i] = newLetterKind(rune(i))
	}
}

// latin returns the letter that r looks like, 0 if it looks like none.
func latin(r rune) byte {
	switch {
	case r < rune(len(latinNear)):
		return latinNear[r]
	case r >= 0x2E80 && r < 0xA4D0, r >= 0xAC00 && r <= 0xD7A3: // Han and Hangul
		return 0
	}
	for _, a := range boxedLetter {
		if r >= a && r < a+26 {
			return 'a' + byte(r-a)
		}
	}
	if !alikeBlock[uint16(r)/64] {
		return 0
	}
	return latinOf[r]
}

// stop returns the separator that r looks like, 0 if it looks like none.
func stop(r rune) byte {
	switch {
	case r < rune(len(stopNear)):
		return stopNear[r]
	case r >= 0x2E80 && r < 0xA4D0, r >= 0xAC00 && r <= 0xD7A3: // Han and Hangul
		return 0
	}
	return anyStop(r)
}

// anyStop is stop for Japanese too.
func anyStop(r rune) byte {
	if !alikeBlock[uint16(r)/64] {
		return 0
	}
	return stopOf[r]
}

// skeleton is the form in which names and local parts that are not plain ASCII are
// compared: without marks, look-alike letters as the Latin ones. Where that leaves
// other letters in a label, the label stands as it is. s is folded.
func skeleton(s string) string {
	if plainASCII(s) {
		return s
	}
	labels := strings.Split(s, ".")
	for i, label := range labels {
		if plainASCII(label) {
			continue
		}
		b := make([]byte, 0, len(label))
		for _, r := range norm.NFD.String(label) {
			switch c := latin(r); {
			case r < utf8.RuneSelf:
				b = append(b, byte(r))
			case c != 0:
				b = append(b, c)
			case stop(r) == '-':
				b = append(b, '-')
			case !unicode.Is(unicode.M, r):
				b = utf8.AppendRune(b, r)
			}
		}
		if len(b) > 0 && plainASCII(string(b)) {
			labels[i] = string(b)
		}
	}
	return strings.Join(labels, ".")
}

// betweenWords reports that letters or digits stand right before and after s[i:i+n].
func betweenWords(s string, i, n int) bool {
	return i > 0 && i+n < len(s) && (alnum(s[i-1]) || s[i-1] >= utf8.RuneSelf) && (alnum(s[i+n]) || s[i+n] >= utf8.RuneSelf)
}

// letterByte reports letters, of whatever script.
func letterByte(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= utf8.RuneSelf }

const maxReversed = 1 << 10 // bytes after a right-to-left override that are turned round

// rightToLeft reads what follows a right-to-left override as it is shown, and returns
// how much that was.
func (r *reader) rightToLeft(s string) int {
	if len(s) > maxReversed {
		s = s[:maxReversed]
	}
	if i := strings.IndexAny(s, "\n\u202c"); i >= 0 {
		s = s[:i]
	}
	runes := []rune(s)
	for i, j := 0, len(runes)-1; i < j; i, j = i+1, j-1 {
		runes[i], runes[j] = runes[j], runes[i]
	}
	r.reading(string(runes))
	return len(s)
}

// latinised writes the words of s that look-alikes can be taken out of in plain letters.
func latinised(s string) (_ string, found bool) {
	s = Fold(s)
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		j := i
		for j < len(s) && s[j] != ' ' {
			j++
		}
		word := s[i:j]
		if plain := plainWord(word); plain != word {
			word, found = plain, true
		}
		if b = append(b, word...); j < len(s) {
			b = append(b, ' ')
			j++
		}
		i = j
	}
	return string(b), found
}

// plainWord replaces the look-alikes in each run of letters that they can be taken out
// of wholly, and stops.
func plainWord(s string) string {
	if plainASCII(s) {
		return s
	}
	var b []byte
	from := 0 // where the run of letters begins
	flush := func(end int) {
		run := s[from:end]
		plain := make([]byte, 0, len(run))
		for _, r := range run {
			c := latin(r)
			switch {
			case r < utf8.RuneSelf:
				plain = append(plain, byte(r))
			case c != 0:
				plain = append(plain, c)
			case !unicode.Is(unicode.M, r):
				b = append(b, run...)
				return
			}
		}
		if len(plain) == 0 { // marks alone
			plain = append(plain, run...)
		}
		b = append(b, plain...)
	}
	for i, r := range s {
		c := anyStop(r)
		if c != 0 && !betweenWords(s, i, utf8.RuneLen(r)) {
			c = 0
			flush(i)
			b = utf8.AppendRune(b, r)
			from = i + utf8.RuneLen(r)
			continue
		}
		if c != 0 || r < utf8.RuneSelf && !alnum(byte(r)) {
			flush(i)
			if c == 0 {
				c = byte(r)
			}
			b = append(b, c)
			from = i + utf8.RuneLen(r)
		}
	}
	flush(len(s))
	return string(b)
}
