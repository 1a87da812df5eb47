package e2e

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
)

// randomJSON writes JSON that a relay gets wrong if it decodes and encodes: numbers that
// no float holds, text in every spelling, white space, members that nobody knows.
type randomJSON struct {
	*rand.Rand
	names int
}

// Every member name is new, so that no object has two that are equal.
func (r *randomJSON) name() string {
	r.names++
	return fmt.Sprintf(`"%s%d"`, r.pick("x", "vendor.example/y", "ünïcode ", `\u0078-`, "Z", "a b.c[0]", "$ref-", "𝔘"), r.names)
}

func (r *randomJSON) pick(of ...string) string { return of[r.IntN(len(of))] }

func (r *randomJSON) space() string {
	if r.IntN(4) > 0 {
		return ""
	}
	return r.pick(" ", "  ", "\t", " \t ")
}

func (r *randomJSON) number() string {
	switch r.IntN(4) {
	case 0:
		return r.pick("0", "-0", "1.10", "1.0", "1e2", "1E400", "-1e-400", "0.1", "9007199254740993",
			"9223372036854775807", "-9223372036854775809", "18446744073709551616", "123456789012345678901234567890", "1e+7", "0e0")
	case 1:
		return fmt.Sprint(r.Int64() - math.MaxInt64/2)
	case 2:
		return fmt.Sprintf("%d.%d%s", r.IntN(1000), r.Uint64(), r.pick("", "e3", "E-12", "e+00"))
	}
	return fmt.Sprint(r.IntN(100))
}

// odd are pieces of text as they stand between the quotes of a JSON string.
var odd = []string{
	"plain words", "ünïcode", "e\u0301", "\u2028", "\u2029", "\u0085", "\u200b\u200d\ufeff", "\u202egnp.exe", "😀", "👩‍👩‍👧", "\U0001D518",
	"\ufffd", "\u007f", "\ufdd0", "\U0010ffff", `\ud83d\ude00`, `\u0041`, `\u0000`, `\u001b[31m`, `\/`, "/", `\"`, `\\`, `\\u0041`, `\b\f\n\r\t`,
	`\u2028`, "<&>'", `\u003cscript\u003e`, "data: x", `\n\ndata: {}`, "=?base64?eA==?=", "${HOME}", "%s%n", "null", "\u0660\u0661", "ﬀ", "İ",
}

func (r *randomJSON) text() string {
	var b strings.Builder
	for range r.IntN(6) {
		b.WriteString(odd[r.IntN(len(odd))])
	}
	return `"` + b.String() + `"`
}

// long is text of about n bytes.
func (r *randomJSON) long(n int) string {
	var b strings.Builder
	b.Grow(n + 64)
	b.WriteByte('"')
	for b.Len() < n {
		if r.IntN(20) == 0 {
			b.WriteString(odd[r.IntN(len(odd))])
		}
		fmt.Fprintf(&b, "word%d ", r.IntN(100_000))
	}
	b.WriteByte('"')
	return b.String()
}

func (r *randomJSON) value(depth int) string {
	switch n := r.IntN(8); {
	case n < 2:
		return r.number()
	case n < 4:
		return r.text()
	case n == 4:
		return r.pick("true", "false", "null", "{}", "[]", `""`)
	case depth <= 0:
		return r.text()
	case n == 5:
		var items []string
		for range r.IntN(4) {
			items = append(items, r.space()+r.value(depth-1)+r.space())
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	return r.object(depth - 1)
}

// object is an object with the given members, each "name":value, among others.
func (r *randomJSON) object(depth int, members ...string) string {
	for range r.IntN(4) {
		members = append(members, r.name()+r.space()+":"+r.space()+r.value(depth-1))
	}
	r.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	var b strings.Builder
	b.WriteString("{" + r.space())
	for i, m := range members {
		if i > 0 {
			b.WriteString("," + r.space())
		}
		b.WriteString(m)
	}
	b.WriteString(r.space() + "}")
	return b.String()
}

// deep is a value within many lists and objects.
func (r *randomJSON) deep(levels int) string {
	left, right := "", ""
	for range levels {
		if r.IntN(2) == 0 {
			left, right = left+"[", "]"+right
		} else {
			left, right = left+"{"+r.name()+":", "}"+right
		}
	}
	return left + r.value(0) + right
}

// meta is a _meta member with the given members among others, or, without any, nothing
// now and then.
func (r *randomJSON) meta(members ...string) []string {
	if len(members) == 0 && r.IntN(3) == 0 {
		return nil
	}
	if r.IntN(4) == 0 {
		members = append(members, r.name()+":"+r.deep(5+r.IntN(100)))
	}
	if r.IntN(4) == 0 {
		members = append(members, `"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"`, `"baggage":`+r.text())
	}
	return []string{`"_meta":` + r.object(2, members...)}
}

// size is 0 bytes to 1 MiB, as often below as above any power of two.
func (r *randomJSON) size() int {
	if r.IntN(8) == 0 {
		return 0
	}
	return int(math.Exp2(20 * r.Float64()))
}

func (r *randomJSON) base64() string {
	return `"` + strings.Repeat(r.pick("iVBORw0KGgo", "AAECAwQFBgc", "SGVsbG8gd29ybGQ"), r.size()/16) + `"`
}

// content is one block of a tool's result or a prompt's message.
func (r *randomJSON) content(size int) string {
	var members []string
	switch r.IntN(7) {
	case 0, 1:
		members = []string{`"type":"text"`, `"text":` + r.long(size)}
	case 2:
		members = []string{`"type":"image"`, `"mimeType":"image/png"`, `"data":` + r.base64()}
	case 3:
		members = []string{`"type":"audio"`, `"mimeType":"audio/wav"`, `"data":` + r.base64()}
	case 4:
		members = []string{`"type":"resource_link"`, `"uri":"peer://somewhere/` + fmt.Sprint(r.IntN(1000)) + `"`, `"name":` + r.text()}
	case 5:
		members = []string{`"type":"resource"`, `"resource":` + r.resource(size)}
	default:
		members = []string{`"type":"of-a-later-version"`, `"payload":` + r.value(3)}
	}
	if r.IntN(3) == 0 {
		members = append(members, `"annotations":`+r.object(1, `"audience":["user","assistant"]`, `"priority":0.50`))
	}
	return r.object(2, append(members, r.meta()...)...)
}

func (r *randomJSON) resource(size int) string {
	members := []string{`"uri":"peer://fixed/` + fmt.Sprint(r.IntN(1000)) + `"`}
	if r.IntN(2) == 0 {
		members = append(members, `"text":`+r.long(size))
	} else {
		members = append(members, `"blob":`+r.base64())
	}
	if r.IntN(2) == 0 {
		members = append(members, `"mimeType":`+r.text())
	}
	return r.object(1, append(members, r.meta()...)...)
}

// list is a list of n values.
func (r *randomJSON) list(n int, each func() string) string {
	var items []string
	for range n {
		items = append(items, r.space()+each())
	}
	return "[" + strings.Join(items, ",") + "]"
}
