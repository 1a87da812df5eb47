package flow

import (
	"strings"
	"unicode"
)

const (
	maxNumber    = 64 // letters and digits of one number
	maxGroupLen  = 12 // characters of a group that goes on a number
	shortAccount = 9  // digits that make a number without a plus sign an account
	minPhone     = 7  // digits behind a plus sign
	maxDigits    = 24 // of a number without letters
	maxIBAN      = 34
)

// A run is groups of letters and digits that follow each other, and may be one number.
type run struct {
	groups []string
	first  int    // which groups these are: runs that start with the same have the same
	letter string // its letters and digits in lower case
}

func (r run) String() string { return strings.Join(r.groups, " ") }

// accountsIn calls look with every run in text that people and payments may be reached
// by: an IBAN, a card or telephone number, a wallet's address. Dates, times, amounts,
// UUIDs and digests are none. Of runs that start alike the longest comes first; one that
// look knows is not looked at in part. look ends the search with more false.
func accountsIn(text string, look func(r run) (known, more bool)) {
	groups := groupsOf(text)
	var form numberForm
	for i := 0; i < len(groups); i++ {
		if !startsNumber(groups[i]) {
			continue
		}
		form.reset()
		for n := i; n < len(groups) && (n == i || goesOn(groups[n])) && form.add(groups[n]); n++ {
		}
		for n := len(form.ends); n > 0; n-- {
			if !form.accounts[n-1] {
				continue
			}
			known, more := look(run{groups[i : i+n], i, string(form.letters[:form.ends[n-1]])})
			if !more {
				return
			}
			if known {
				i += n - 1
				break
			}
		}
	}
}

// groupsOf cuts text into groups of letters and digits, with a plus sign in front or
// not. "" stands where no number goes on.
func groupsOf(text string) []string {
	var groups []string
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool {
		return !strings.ContainsRune("-./+:,'", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		word = strings.Trim(word, "-./:,'")
		switch {
		case word == "":
		case !strings.ContainsAny(word, "-./+:,'"):
			groups = append(groups, word)
		case timeForm(word), amountForm(word), uuidForm(word), ipv4Form(word):
			groups = append(groups, "")
		default:
			start := 0
			for i := range len(word) {
				switch {
				case strings.IndexByte("-./:,'", word[i]) >= 0:
					groups = appendGroup(groups, word[start:i])
					start = i + 1
				case word[i] == '+' && i > start:
					groups = appendGroup(groups, word[start:i])
					start = i
				}
			}
			groups = appendGroup(groups, word[start:])
		}
	}
	return groups
}

func appendGroup(groups []string, g string) []string {
	if g == "" {
		return groups
	}
	return append(groups, g)
}

// startsNumber: a group with a digit, or the country of an IBAN, or its first letter, on its own.
func startsNumber(g string) bool {
	return g != "" && (strings.ContainsAny(g, "0123456789") || len(g) <= 2)
}

// goesOn: digits, or up to four letters and digits as IBANs are printed.
func goesOn(g string) bool {
	digits := 0
	for i := range len(g) {
		switch {
		case digit(g[i]):
			digits++
		case !letter(g[i]):
			return false
		}
	}
	return len(g) > 0 && (len(g) <= 4 || digits > 0 && len(g) <= maxGroupLen)
}

// numberForm looks at the groups of a run one by one: after which of them it has the form
// of an IBAN (ISO 13616), of a wallet's address, or of a number of at least nine digits
// that is no date.
type numberForm struct {
	letters  []byte // and digits, in lower case
	ends     []int  // of each group
	accounts []bool // the run has the form of an account there
	digits   int
	plus     bool
	years    int  // groups that may be one
	noDate   bool // some group is no part of a date
}

func (f *numberForm) reset() {
	*f = numberForm{letters: f.letters[:0], ends: f.ends[:0], accounts: f.accounts[:0]}
}

// add reports whether the run can go on.
func (f *numberForm) add(g string) bool {
	if len(f.ends) == 0 {
		g, f.plus = strings.TrimPrefix(g, "+"), g[0] == '+'
	}
	if g == "" || len(f.letters)+len(g) > maxNumber {
		return false
	}
	start := f.digits
	for i := range len(g) {
		switch {
		case digit(g[i]):
			f.digits++
		case !letter(g[i]):
			return false
		}
		f.letters = append(f.letters, lower[g[i]])
	}
	switch {
	case f.digits-start == len(g) && len(g) <= 2:
	case f.digits-start == len(g) && len(g) == 4 && (g[:2] == "19" || g[:2] == "20"):
		f.years++
	default:
		f.noDate = true
	}
	f.ends = append(f.ends, len(f.letters))
	f.accounts = append(f.accounts, f.account(g))
	return true
}

// account judges the run as it ends with g.
func (f *numberForm) account(g string) bool {
	n, one := len(f.letters), len(f.ends) == 1
	switch {
	case f.digits == n && f.plus:
		return n >= minPhone && n <= maxDigits
	case f.digits == n && one:
		return n >= shortAccount && n <= maxDigits && !timestamp(g)
	case f.digits == n:
		return n >= shortAccount && n <= maxDigits && (f.noDate || f.years == 0)
	}
	l := f.letters
	iban := f.digits >= 8 && n >= 14 && n <= maxIBAN && letter(l[0]) && letter(l[1]) && digit(l[2]) && digit(l[3])
	return iban || one && walletForm(g)
}

// timestamp: a time written together (20261130104500), or milliseconds since 1970 in
// these decades.
func timestamp(s string) bool {
	return (len(s) == 12 || len(s) == 14) && strings.HasPrefix(s, "20") && s[4:6] <= "12" && s[6:8] <= "31" ||
		len(s) == 13 && s >= "15" && s < "20"
}

// walletForm: hexadecimal behind 0x, Bech32 (BIP 173), or base58 of 26 to 44 letters and
// digits, of which both cases and digits occur. Digests in hexadecimal are none.
func walletForm(s string) bool {
	if rest, ok := strings.CutPrefix(strings.ToLower(s), "0x"); ok {
		return len(rest) == 40 && strings.Trim(rest, "0123456789abcdef") == ""
	}
	if i := strings.LastIndexByte(s, '1'); i >= 2 && i <= 10 && len(s)-i > 30 && len(s) <= 90 {
		if strings.Trim(strings.ToLower(s[i+1:]), "023456789acdefghjklmnpqrstuvwxyz") == "" && !strings.ContainsAny(s[:i], "0123456789") {
			return true
		}
	}
	if len(s) < 26 || len(s) > 44 || strings.ContainsAny(s, "0OIl") {
		return false
	}
	return strings.ContainsAny(s, "123456789") && strings.ToLower(s) != s && strings.ToUpper(s) != s
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func digit(c byte) bool  { return c >= '0' && c <= '9' }

// timeForm: 10:45, 10:45:00, 1732960000.000100.
func timeForm(s string) bool {
	if len(s) == 17 && s[0] == '1' && s[10] == '.' && strings.Trim(s[:10]+s[11:], "0123456789") == "" {
		return true // seconds since 1970 in these decades, and microseconds: a chat's message
	}
	parts := strings.Split(s, ":")
	if len(s) > 12 || len(parts) < 2 || len(parts) > 3 {
		return false
	}
	for i, p := range parts {
		if i == len(parts)-1 && i > 0 {
			p, _, _ = strings.Cut(p, ".")
		}
		if len(p) == 0 || len(p) > 2 || strings.Trim(p, "0123456789") != "" {
			return false
		}
	}
	return true
}

// amountForm: 1,234,567.00, 1.234.567,00, 1'234.5 and 1234567.50.
func amountForm(s string) bool {
	end := len(s)
	if i := strings.LastIndexAny(s, ".,"); i > 0 && len(s)-i-1 <= 2 {
		end = i
	}
	whole := s[:end]
	if strings.Trim(s, "0123456789.,'") != "" {
		return false
	}
	i := strings.IndexAny(whole, ".,'")
	if i < 0 {
		return end < len(s) && len(whole) > 0
	}
	for j, g := range strings.Split(whole, whole[i:i+1]) {
		if j == 0 && (len(g) == 0 || len(g) > 3) || j > 0 && len(g) != 3 || strings.Trim(g, "0123456789") != "" {
			return false
		}
	}
	return true
}

func uuidForm(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if s[i] != '-' {
				return false
			}
		} else if !hexDigit(s[i]) {
			return false
		}
	}
	return true
}

func ipv4Form(s string) bool {
	_, ok := numericIPv4(s)
	return ok && strings.Count(s, ".") == 3
}
