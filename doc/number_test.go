package doc

import (
	"encoding/json"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func number(t testing.TB, literal string) Value {
	t.Helper()
	v := mustParse(t, literal)
	if v.Kind() != Number {
		t.Fatalf("%.40q is no number", literal)
	}
	return v
}

func TestCompareNumbers(t *testing.T) {
	zeros := strings.Repeat("0", 10_000)
	digits := strings.Repeat("1234567890", 1_000)
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"1", "1.0", 0},
		{"1", "10e-1", 0},
		{"-0", "0", 0},
		{"-0.0e5", "0e-999999999999999999999999", 0},
		{"0", "1e-999999999", -1},
		{"0", "-1e-999999999", 1},
		{"100", "1e2", 0},
		{"1E+2", "1e2", 0},
		{"120.50", "1.205e2", 0},
		{"0.001", "1e-3", 0},
		{"0.0010", "0.00100", 0},
		{"9007199254740992", "9007199254740993", -1},
		{"9223372036854775807", "9223372036854775808", -1},
		{"-9223372036854775809", "-9223372036854775808", -1},
		{"1.1", "1.10000000000000000000000000000000000001", -1},
		{"1e400", "1e401", -1},
		{"-1e400", "-1e401", 1},
		{"1e400", "10e399", 0},
		{"1e999999999", "1e-999999999", 1},
		{"2", "10", -1},
		{"-2", "-10", 1},
		{"-1", "1", -1},
		{"0.9", "1", -1},
		{"99", "100", -1},
		{"1e99999999999999999999", "1e99999999999999999998", 1},
		{"1e99999999999999999999", "10e99999999999999999998", 0},
		{"0.1e100000000000000000", "1e99999999999999999", 0},
		{"1e-100000000000000000", "0.1e-99999999999999999", 0},
		{"1e-99999999999999999999", "1e99999999999999999999", -1},
		{"-1e-99999999999999999999", "-1e-99999999999999999998", 1},
		{"1e99999999999999999999", "5", 1},
		{"1e-99999999999999999999", "5", -1},
		{"1e00000000000000000000000000002", "100", 0},
		{"1" + zeros, "1e10000", 0},
		{"0." + zeros + "1", "1e-10001", 0},
		{digits, digits + ".0", 0},
		{digits, digits + ".1", -1},
		{digits + "1", digits + "2", -1},
	} {
		got, ok := CompareNumbers(number(t, c.a), number(t, c.b))
		back, _ := CompareNumbers(number(t, c.b), number(t, c.a))
		if !ok || got != c.want || back != -c.want {
			t.Errorf("%.40s ? %.40s: got %d and back %d (%v), want %d", c.a, c.b, got, back, ok, c.want)
		}
		if Equal(number(t, c.a), number(t, c.b)) != (c.want == 0) {
			t.Errorf("Equal(%.40s, %.40s) disagrees", c.a, c.b)
		}
	}
	if _, ok := CompareNumbers(number(t, "1"), mustParse(t, `"1"`)); ok {
		t.Error("a string was compared as a number")
	}
	if _, ok := CompareNumbers(mustParse(t, `true`), number(t, "1")); ok {
		t.Error("a boolean was compared as a number")
	}
}

var literals = rapid.Custom(func(t *rapid.T) string {
	return rapid.StringMatching(`-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,3})?`).Draw(t, "literal")
})

// The order is that of exact rational arithmetic.
func TestCompareNumbersIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := literals.Draw(t, "a")
		b := a
		switch rapid.IntRange(0, 2).Draw(t, "how") {
		case 0:
			b = literals.Draw(t, "b")
		case 1: // the same number, written otherwise
			if !strings.ContainsAny(a, ".eE") {
				b = a + ".000"
			}
		case 2: // one that differs late
			if !strings.ContainsAny(a, "eE") {
				if !strings.Contains(a, ".") {
					b = a + "."
				}
				b += "00000000000000000001"
			}
		}
		x, _ := new(big.Rat).SetString(a)
		y, _ := new(big.Rat).SetString(b)
		got, ok := CompareNumbers(Value{kind: Number, str: a}, Value{kind: Number, str: b})
		if !ok || got != x.Cmp(y) {
			t.Fatalf("%s ? %s: got %d, want %d", a, b, got, x.Cmp(y))
		}
	})
}

// Exponents beyond int64 compare as integers do.
func TestCompareHugeExponents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		exp := rapid.StringMatching(`-?(0{0,3})[1-9][0-9]{15,40}`)
		mantissa := rapid.StringMatching(`0\.0{0,5}[1-9]0{0,3}|[1-9]0{0,5}`)
		type num struct{ m, e string }
		draw := func(name string) num { return num{mantissa.Draw(t, name+" m"), exp.Draw(t, name+" e")} }
		a := draw("a")
		b := draw("b")
		if rapid.Bool().Draw(t, "near") {
			b.e = a.e
		}
		// The power of ten of a one-digit mantissa is found from its text.
		power := func(n num) (*big.Int, byte) {
			e, _ := new(big.Int).SetString(n.e, 10)
			whole, frac, _ := strings.Cut(n.m, ".")
			if whole != "0" {
				return e.Add(e, big.NewInt(int64(len(whole)-1))), whole[0]
			}
			trimmed := strings.TrimLeft(frac, "0")
			return e.Sub(e, big.NewInt(int64(len(frac)-len(trimmed)+1))), trimmed[0]
		}
		pa, da := power(a)
		pb, db := power(b)
		want := pa.Cmp(pb)
		if want == 0 {
			want = int(da) - int(db)
		}
		got := compareLiterals(a.m+"e"+a.e, b.m+"e"+b.e)
		if (got < 0) != (want < 0) || (got > 0) != (want > 0) {
			t.Fatalf("%v ? %v: got %d, want sign of %d", a, b, got, want)
		}
	})
}

// The time must not depend on the exponent, nor be quadratic in the length.
func TestCompareNumbersIsBounded(t *testing.T) {
	long := "1" + strings.Repeat("0", 5<<20) + "e" + strings.Repeat("9", 5<<20)
	a, b := number(t, long+"8"), number(t, long+"9")
	start := time.Now()
	if got, _ := CompareNumbers(a, b); got != -1 {
		t.Errorf("got %d", got)
	}
	if d := time.Since(start); d > 10*time.Second {
		t.Errorf("comparing two 10 MB literals took %v", d)
	}
}

func TestFromGo(t *testing.T) {
	v, err := FromGo(map[string]any{
		"z": nil, "a": []any{true, "s", int8(-3), uint64(math.MaxUint64), 1.5, json.Number("1e400")},
		"list": []string{"x", "y"}, "empty": map[string]any{}, "own": mustParse(t, `{"k":1.10}`), "f": float32(0.1),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"a":[true,"s",-3,18446744073709551615,1.5,1e400],"empty":{},"f":0.1,"list":["x","y"],"own":{"k":1.10},"z":null}`
	if got := string(v.AppendJSON(nil)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	cycle := map[string]any{}
	cycle["self"] = []any{cycle}
	for name, bad := range map[string]any{
		"NaN": math.NaN(), "infinity": math.Inf(-1), "bad number": json.Number("01"), "two numbers": json.Number("1 2"),
		"padded number": json.Number(" 1"), "word": json.Number("true"), "empty number": json.Number(""),
		"bad text": "a\xff", "bad name": map[string]any{"\xff": 1}, "bad element": []string{"\xff"},
		"struct": struct{}{}, "channel": make(chan int), "cycle": cycle,
		"absent element": []any{Value{}}, "absent member": map[string]any{"a": Value{}},
	} {
		if v, err := FromGo(bad); err == nil {
			t.Errorf("%s became %s", name, v.AppendJSON(nil))
		}
	}
}

func FuzzCompareNumbers(f *testing.F) {
	f.Add("1", "1.0")
	f.Add("-0", "0e5")
	f.Add("1e99999999999999999999", "0.01e100000000000000000001")
	f.Add("1e-99999999999999999999", "-3")
	f.Fuzz(func(t *testing.T, a, b string) {
		x, errX := Parse([]byte(a), Limits{})
		y, errY := Parse([]byte(b), Limits{})
		if errX != nil || errY != nil || x.Kind() != Number || y.Kind() != Number {
			return
		}
		c, ok := CompareNumbers(x, y)
		back, _ := CompareNumbers(y, x)
		if !ok || c != -back || c < -1 || c > 1 {
			t.Fatalf("%q ? %q: %d and %d", a, b, c, back)
		}
		if len(a)+len(b) > 200 || hugeExponent(a) || hugeExponent(b) {
			return
		}
		p, okP := new(big.Rat).SetString(x.Number())
		q, okQ := new(big.Rat).SetString(y.Number())
		if okP && okQ && p.Cmp(q) != c {
			t.Fatalf("%q ? %q: got %d, exactly %d", a, b, c, p.Cmp(q))
		}
	})
}

// hugeExponent keeps the exact arithmetic that the fuzz target compares with small.
func hugeExponent(s string) bool {
	i := strings.IndexAny(s, "eE")
	return i >= 0 && len(strings.TrimLeft(s[i+1:], "+-0")) > 3
}

// B019: numbers that a float64 would change are kept, and compared exactly.
func TestB019NumbersAreExact(t *testing.T) {
	text := `{"id":9223372036854775807,"n":9007199254740993,"d":1.10,"e":1E400,"z":-0}`
	v := mustParse(t, text)
	if got := string(v.AppendJSON(nil)); got != text {
		t.Errorf("came back as %s", got)
	}
	for name, other := range map[string]string{"id": "9223372036854775808", "n": "9007199254740992", "d": "1.1000000000000000001", "e": "1e401"} {
		if Equal(v.Get(name), number(t, other)) {
			t.Errorf("%s equals %s", name, other)
		}
	}
	if !Equal(v.Get("z"), number(t, "0")) || !Equal(v.Get("d"), number(t, "1.1")) {
		t.Error("two spellings of one number differ")
	}
}
