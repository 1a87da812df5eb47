package doc

import (
	"cmp"
	"strconv"
	"strings"
)

// CompareNumbers orders two numbers exactly, however large or precise: -1, 0 or 1.
// ok is false if either is not a number. It takes time linear in the length of the
// literals, whatever their exponents.
func CompareNumbers(a, b Value) (order int, ok bool) {
	if a.kind != Number || b.kind != Number {
		return 0, false
	}
	return compareLiterals(a.str, b.str), true
}

func compareLiterals(a, b string) int {
	if a == b {
		return 0
	}
	if x, ok := smallInt(a); ok {
		if y, ok := smallInt(b); ok {
			return cmp.Compare(x, y)
		}
	}
	x, y := parseDecimal(a), parseDecimal(b)
	if c := cmp.Compare(x.sign, y.sign); c != 0 || x.sign == 0 {
		return c
	}
	c := x.exp.compare(y.exp)
	if c == 0 {
		c = x.compareDigits(y)
	}
	return c * x.sign
}

// smallInt reads a plain integer that surely fits.
func smallInt(s string) (int64, bool) {
	if len(s) > 18 {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// decimal is sign × 0.D × 10^exp, where D is whole+frac with zeros stripped from
// both ends, so that each number has one form. The digits stay two pieces of the
// literal: nothing is copied.
type decimal struct {
	sign        int // 0 for zero, and then nothing else is set
	whole, frac string
	exp         exponent
}

// parseDecimal reads a literal that is known to be a JSON number.
func parseDecimal(s string) decimal {
	d := decimal{sign: 1}
	if strings.HasPrefix(s, "-") {
		d.sign, s = -1, s[1:]
	}
	exp := ""
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		s, exp = s[:i], s[i+1:]
	}
	d.whole, d.frac, _ = strings.Cut(s, ".")
	d.whole = strings.TrimLeft(d.whole, "0")
	d.frac = strings.TrimRight(d.frac, "0")
	point := len(d.whole) // digits before the decimal point
	if d.whole == "" {
		trimmed := strings.TrimLeft(d.frac, "0")
		point = len(trimmed) - len(d.frac)
		d.frac = trimmed
	}
	if d.frac == "" {
		d.whole = strings.TrimRight(d.whole, "0")
	}
	if d.whole == "" && d.frac == "" {
		return decimal{}
	}
	d.exp = parseExponent(exp, int64(point))
	return d
}

func (d decimal) compareDigits(o decimal) int {
	n := max(len(d.whole)+len(d.frac), len(o.whole)+len(o.frac))
	for i := range n {
		if c := cmp.Compare(d.digit(i), o.digit(i)); c != 0 {
			return c
		}
	}
	return 0
}

func (d decimal) digit(i int) byte {
	if i < len(d.whole) {
		return d.whole[i]
	}
	if i -= len(d.whole); i < len(d.frac) {
		return d.frac[i]
	}
	return '0'
}

// exponent is an exact integer of any size. big, if not empty, holds the digits of
// its absolute value, most significant first and without leading zeros; neg is then
// its sign. Otherwise it is small.
type exponent struct {
	small int64
	big   string
	neg   bool
}

// Exponents of at most this many digits, plus the length of a literal, fit an int64.
const smallExponentDigits = 17

// parseExponent returns s + add. |add| is at most the length of a literal, so it is
// far below 10^smallExponentDigits.
func parseExponent(s string, add int64) exponent {
	neg := strings.HasPrefix(s, "-")
	digits := strings.TrimLeft(strings.TrimLeft(s, "+-"), "0")
	if len(digits) <= smallExponentDigits {
		n, _ := strconv.ParseInt(digits, 10, 64) // "" is 0
		if neg {
			n = -n
		}
		return exponent{small: n + add}
	}
	if neg {
		add = -add
	}
	return exponent{big: addToDigits(digits, add), neg: neg}
}

// addToDigits adds add to a decimal number that is larger than |add|.
func addToDigits(digits string, add int64) string {
	out := make([]byte, len(digits)+1)
	out[0] = '0'
	copy(out[1:], digits)
	for i := len(out) - 1; i >= 0 && add != 0; i-- {
		n := int64(out[i]-'0') + add
		add = n / 10
		if n %= 10; n < 0 {
			n += 10
			add--
		}
		out[i] = byte('0' + n)
	}
	return strings.TrimLeft(string(out), "0")
}

func (e exponent) compare(o exponent) int {
	if e.big == "" && o.big == "" {
		return cmp.Compare(e.small, o.small)
	}
	e, o = e.enlarged(), o.enlarged()
	if e.neg != o.neg {
		if e.neg {
			return -1
		}
		return 1
	}
	c := cmp.Compare(len(e.big), len(o.big))
	if c == 0 {
		c = strings.Compare(e.big, o.big)
	}
	if e.neg {
		return -c
	}
	return c
}

func (e exponent) enlarged() exponent {
	if e.big != "" {
		return e
	}
	s := strconv.FormatInt(e.small, 10)
	return exponent{big: strings.TrimPrefix(s, "-"), neg: e.small < 0}
}
