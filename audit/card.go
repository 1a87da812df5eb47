package audit

// Payment cards have 13 to 19 digits, written in one piece or in groups. A number counts
// as one if an issuer has its first digits and length (ISO/IEC 7812) and its last digit is
// right (Luhn). One of ten numbers with such a beginning passes by chance.

const (
	maxGroups  = 5
	leastCard  = 13
	longestPan = 19
)

// card finds a card number whose first group of digits begins at i.
func card(f *finder, i int) hit {
	if i > 0 && (is(f.text[i-1], inWord) || f.text[i-1] == '.' && i > 1 && is(f.text[i-2], inDigits)) {
		return hit{}
	}
	var ends, sizes [maxGroups]int
	groups, at := 0, i
	for groups < maxGroups {
		end := at
		for end < len(f.text) && end-at <= longestPan && is(f.text[end], inDigits) {
			end++
		}
		if end == at || end-at > longestPan {
			break
		}
		ends[groups], sizes[groups] = end, end-at
		groups++
		if at = afterSeparator(f.text, end); at == end {
			break
		}
	}
	for n := groups; n > 0; n-- {
		end := ends[n-1]
		if !grouping(sizes[:n]) || end < len(f.text) && (is(f.text[end], inWord) || f.text[end] == '_') {
			continue
		}
		if isCard(f.text[i:end]) {
			return hit{i, end, "card number"}
		}
	}
	return hit{}
}

// afterSeparator returns where the next group begins: after a space, of whatever width, or
// a hyphen.
func afterSeparator(s string, i int) int {
	if i >= len(s) {
		return i
	}
	switch {
	case s[i] == ' ' || s[i] == '-':
		return i + 1
	case s[i] == 0xc2 && i+1 < len(s) && s[i+1] == 0xa0: // U+00A0
		return i + 2
	case s[i] == 0xe2 && i+2 < len(s) && s[i+1] == 0x80 && (s[i+2] == 0x89 || s[i+2] == 0xaf || s[i+2] == 0x91): // U+2009, U+202F, U+2011
		return i + 3
	}
	return i
}

// grouping reports whether cards are written in groups of these sizes.
func grouping(sizes []int) bool {
	switch n := len(sizes); {
	case n == 1:
		return sizes[0] >= leastCard
	case n == 3 && sizes[0] == 4 && sizes[1] == 6:
		return sizes[2] == 4 || sizes[2] == 5
	case n >= 4:
		for _, s := range sizes[:n-1] {
			if s != 4 {
				return false
			}
		}
		return sizes[n-1] <= 4
	}
	return false
}

// isCard reports whether the digits in s are a card's number.
func isCard(s string) bool {
	var d [longestPan]byte
	n := 0
	for i := range len(s) {
		if !is(s[i], inDigits) {
			continue
		}
		if n == longestPan {
			return false
		}
		d[n] = s[i] - '0'
		n++
	}
	if n < leastCard || !issued(d[:n]) {
		return false
	}
	sum := 0
	for i := range n {
		v := int(d[n-1-i])
		if i%2 == 1 {
			if v *= 2; v > 9 {
				v -= 9
			}
		}
		sum += v
	}
	return sum%10 == 0
}

// isCardNumber reports whether a JSON number is one.
func isCardNumber(n string) bool {
	for i := range len(n) {
		if !is(n[i], inDigits) {
			return false
		}
	}
	return isCard(n)
}

// issued reports whether an issuer of cards uses numbers of this beginning and length.
func issued(d []byte) bool {
	n := len(d)
	four := int(d[0])*1000 + int(d[1])*100 + int(d[2])*10 + int(d[3])
	two := four / 100
	switch {
	case d[0] == 4:
		return n == 13 || n == 16 || n == 19
	case two >= 51 && two <= 55, four >= 2221 && four <= 2720:
		return n == 16
	case two == 34 || two == 37:
		return n == 15
	case two == 36 || two == 38 || four >= 3000 && four <= 3059:
		return n >= 14
	case four >= 3528 && four <= 3589, four == 6011, four >= 6440 && four <= 6599, two == 62:
		return n >= 16
	case two == 50 || two >= 56 && two <= 58 || two == 63 || two == 67:
		return n >= 16
	}
	return false
}
