package mcp

import (
	"fmt"
	"strings"
	"testing"
)

// callFrame is a tools/call of about n bytes with many small values.
func callFrame(n int) []byte {
	var b strings.Builder
	b.WriteString(`{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"send_email","arguments":{"to":["a@b.example"],"n":12345.678`)
	if n > 300 {
		b.WriteString(`,"list":[{}`)
		for i := 0; b.Len() < n-100; i++ {
			fmt.Fprintf(&b, `,{"id":%d,"name":"item %d","ok":true,"note":"some \"text\" that is here"}`, i, i)
		}
		b.WriteString("]")
	}
	b.WriteString(`},"_meta":{"progressToken":3}}}`)
	return []byte(b.String())
}

// textFrame is a result of n bytes that is one string.
func textFrame(n int) []byte {
	const line = `some text of a file with \"quotes\" in it\n`
	return []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` +
		strings.Repeat(line, n/len(line)) + `"}]}}`)
}

func BenchmarkParse(b *testing.B) {
	for _, bb := range []struct {
		name  string
		frame []byte
	}{
		{"200B", callFrame(200)},
		{"1KB", callFrame(1 << 10)},
		{"1MB", callFrame(1 << 20)},
		{"20MBText", textFrame(20 << 20)},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.SetBytes(int64(len(bb.frame)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(bb.frame); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkStripReserved(b *testing.B) {
	for _, bb := range []struct {
		name  string
		frame []byte
	}{
		{"1MBClean", textFrame(1 << 20)},
		{"1MBEscapes", []byte(strings.Replace(string(callFrame(1<<20)), `"some `, `"\u0001`, 1))},
	} {
		b.Run(bb.name, func(b *testing.B) {
			m, err := Parse(bb.frame)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(bb.frame)))
			b.ReportAllocs()
			for b.Loop() {
				StripReserved(m)
			}
		})
	}
}

func BenchmarkFields(b *testing.B) {
	m, err := Parse(callFrame(1 << 10))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Fields(m.Params, "name", "arguments"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSkim(b *testing.B) {
	frame := textFrame(1 << 20)
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	for b.Loop() {
		var s Skim
		s.Feed(frame)
		if s.ID().IsZero() {
			b.Fatal("no id")
		}
	}
}

func TestParseAllocatesLittle(t *testing.T) {
	frame := callFrame(1 << 10)
	v := newValidator()
	if n := testing.AllocsPerRun(100, func() { _ = v.validate(frame) }); n != 0 {
		t.Errorf("%v allocations to validate a frame of 1 KB", n)
	}
	// One for the id.
	if n := testing.AllocsPerRun(100, func() { e := envelope{raw: frame}; _, _ = e.decode() }); n > 1 {
		t.Errorf("%v allocations to decode a frame of 1 KB", n)
	}
}
