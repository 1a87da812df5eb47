package flow

import "strings"

// spelledSign reports that the word s[i:j] may stand for "@" or a dot.
func spelledSign(s string, i, j int) bool {
	switch j - i {
	case 2:
		if s[i]|0x20 != 'a' || s[i+1]|0x20 != 't' || i == 0 || j == len(s) {
			return false
		}
		return opens(s[i-1]) || closes(s[j]) || asciiSpace[s[i-1]] && asciiSpace[s[j]] && hostAhead(s, j)
	case 3:
		return i > 0 && j < len(s) && strings.EqualFold(s[i:j], "dot")
	case 5:
		return strings.EqualFold(s[i:j], "punto") || strings.EqualFold(s[i:j], "punkt") || strings.EqualFold(s[i:j], "hxxps") && j < len(s) && opens(s[j])
	case 4:
		return j < len(s) && opens(s[j]) && strings.EqualFold(s[i:j], "hxxp")
	case 6:
		return strings.EqualFold(s[i:j], "arroba")
	}
	return false
}

// flanked reports "-at-" and the like within one word.
func flanked(run string) bool {
	for i := 0; i+4 <= len(run); i++ {
		if c := run[i]; c != '-' && c != '_' {
			continue
		}
		if w := run[i+1:]; word(w, "at") && w[2] == run[i] || len(w) > 3 && word(w, "dot") && w[3] == run[i] {
			return true
		}
	}
	return false
}

// word reports that s starts with w, which is in lower case.
func word(s, w string) bool {
	if len(s) <= len(w) {
		return false
	}
	for i := range len(w) {
		if lower[s[i]] != w[i] {
			return false
		}
	}
	return true
}

func opens(c byte) bool  { return c == '[' || c == '(' || c == '{' || c == '<' }
func closes(c byte) bool { return c == ']' || c == ')' || c == '}' || c == '>' }
func marks(c byte) bool {
	return c == '*' || c == '`' || c == '"' || c == '\'' || c == '~' || c == '|' || c == '#' || c == '-' || c == '_'
}

// hostAhead reports that the next word has a dot inside.
func hostAhead(s string, i int) bool {
	for i < len(s) && asciiSpace[s[i]] {
		i++
	}
	for from := i; i < len(s) && i-from < maxLabel; i++ {
		if s[i] == '.' {
			return i > from && i+1 < len(s) && alnum(s[i+1])
		}
		if !alnum(s[i]) && s[i] != '-' && s[i] != '_' {
			return false
		}
	}
	return false
}

// openSign reports a bracket or mark at s[i] that stands at a separator: [.] {@} **.
func openSign(s string, i int) bool {
	j := i + 1
	if j < len(s) && (s[j] == ' ' || s[j] == s[i]) {
		j++
	}
	switch {
	case j < len(s) && (s[j] == '.' || s[j] == '@'), opens(s[i]) && j < len(s) && (s[j] == ':' || s[j] == '/'):
		return true
	}
	return s[i] == '*' && i > 0 && (s[i-1] == '.' || s[i-1] == '@')
}

// atSign reports that what stands round the "@" at s[i] is no plain address.
func atSign(s string, i int) bool {
	if i == 0 || i+1 == len(s) {
		return false
	}
	before, after := s[i-1], s[i+1]
	if marks(before) && before != '-' && before != '_' || closes(before) || marks(after) || opens(after) && after != '[' || before == '\t' || after == '\t' {
		return true
	}
	if before == ' ' && after == ' ' && i > 2 && i+3 < len(s) && (s[i-3] == ' ' || s[i+3] == ' ') {
		return true
	}
	j := i + 1
	for j < len(s) && j-i < maxLabel && (alnum(s[j]) || s[j] == '-' || j == i+1 && s[j] == ' ') {
		j++
	}
	if j+1 >= len(s) || j == i+1 {
		return false
	}
	next := s[j+1]
	switch s[j] {
	case ',', '[', '(', '{', '*', '`', '<':
		return next != ' '
	case '.':
		return next == ' '
	case ' ':
		return next == '.' || opens(next)
	}
	return false
}

// separators are what can be spelled out, and the character that is meant.
var separators = []struct {
	word string
	char byte
}{{"arroba", '@'}, {"punkt", '.'}, {"punto", '.'}, {"dot", '.'}, {"at", '@'}, {"@", '@'}, {".", '.'}, {"://", ':'}, {":", ':'}, {"//", '/'}, {"/", '/'}, {",", '.'}}

// spellOut puts "@" and dots where words, brackets or spaces stand for them.
func spellOut(s string) (_ string, found bool) {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		if len(out) > 0 && inToken(out[len(out)-1]) || len(out) > 0 && out[len(out)-1] == ':' {
			if meant, end := separator(s, i, out); end > i && end < len(s) && (inToken(s[end]) && s[end] != '.' || s[end] == '/') {
				out, i, found = append(out, meant...), end, true
				continue
			}
		}
		out = append(out, s[i])
		i++
	}
	return string(out), found
}

// separator reads what stands for a separator at s[i]; end is i if nothing does. Without out
// a dot is looked for: words for "@" are then none, or each in a row of them would look through
// all that follow.
func separator(s string, i int, out []byte) (meant string, end int) {
	if c := s[i]; alnum(c) || c > '~' {
		return "", i
	}
	j := spaces(s, i)
	before := j > i
	opened := 0
	for j < len(s) && opened < 2 && (opens(s[j]) || marks(s[j])) {
		j++
		opened++
	}
	inner := spaces(s, j)
	if opened > 0 {
		j = inner
	}
	which := -1
	for k, w := range separators {
		if strings.HasPrefix(s[j:], w.word) || alnum(w.word[0]) && word(s[j:], w.word) {
			which = k
			break
		}
	}
	if which < 0 {
		return "", i
	}
	w := separators[which]
	j += len(w.word)
	shut, closed := j, 0
	if opened > 0 {
		shut = spaces(s, j)
	}
	for shut < len(s) && closed < 2 && (closes(s[shut]) || marks(s[shut])) {
		shut++
		closed++
	}
	if closed == 0 {
		shut = j
	}
	end = spaces(s, shut)
	after := end > shut || end > j && closed == 0
	bracketed := opened > 0 && closed > 0
	ok := bracketed
	switch {
	case w.word == ",":
		ok = opened == 0 && closed == 0 && !before && !after && undotted(out) && !localPart(s[end:])
	case alnum(w.word[0]):
		ok = ok || opened == 0 && closed == 0 && before && after && (w.char == '.' || out != nil && addressAhead(s, end))
	case w.char == '@':
		ok = ok || opened+closed > 0 || before || after
	case w.char == '.':
		ok = ok || opened+closed > 0 && !after || before && !after || before && after && end-i <= 3 || after && undotted(out)
	}
	if !ok {
		return "", i
	}
	if w.char == ':' || w.char == '/' {
		return w.word, end
	}
	return string(w.char), end
}

// spaces skips a few spaces.
func spaces(s string, i int) int {
	for n := 0; n < 4 && i < len(s) && asciiSpace[s[i]]; n++ {
		i++
	}
	return i
}

// undotted reports that out ends in an address whose domain has no dot yet.
func undotted(out []byte) bool {
	for i := len(out) - 1; i >= 0 && len(out)-i <= maxLabel; i-- {
		switch {
		case out[i] == '@':
			return i > 0 && i < len(out)-1
		case !alnum(out[i]) && out[i] != '-':
			return false
		}
	}
	return false
}

// localPart reports that s begins with what stands before the "@" of an address.
func localPart(s string) bool {
	for i := 0; i < len(s) && i < maxLabel; i++ {
		if s[i] == '@' {
			return i > 0
		}
		if !alnum(s[i]) && strings.IndexByte(".-_+", s[i]) < 0 {
			return false
		}
	}
	return false
}

// addressAhead reports that a domain follows, dotted or spelled.
func addressAhead(s string, i int) bool {
	from := i
	for i < len(s) && i-from < maxLabel && (alnum(s[i]) || s[i] == '-' || s[i] == '_') {
		i++
	}
	if i == from || i >= len(s) {
		return false
	}
	meant, end := separator(s, i, nil)
	return end > i && meant == "." || s[i] == '.' && i+1 < len(s) && alnum(s[i+1])
}

// minLetters is from how many single letters on a word counts as spaced out.
const minLetters = 6

// letters reads "e v e @ x . e x a m p l e" from the letter at s[i]. It returns where to
// go on.
func (r *reader) letters(s string, i int) int {
	if i+3 >= len(s) || s[i+1] != ' ' || s[i+3] != ' ' || i > 0 && s[i-1] > ' ' {
		return i + 1
	}
	j := i
	for j+1 < len(s) && s[j] > ' ' && s[j] <= '~' && s[j+1] == ' ' {
		j += 2
	}
	if (j-i)/2 < minLetters {
		return i + 1
	}
	b := make([]byte, 0, (j-i)/2+1)
	for k := i; k < j; k += 2 {
		b = append(b, s[k])
	}
	if j < len(s) && (j+1 == len(s) || s[j+1] < ' ') {
		b = append(b, s[j])
	} else if j < len(s) && s[j] > ' ' && (j+1 == len(s) || !alnum(s[j+1])) {
		b = append(b, s[j])
	}
	r.reading(string(b))
	return j
}
