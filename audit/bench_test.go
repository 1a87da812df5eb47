package audit

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// benchRecord is a verdict of about 1 KB with arguments, a secret and evidence.
func benchRecord(b *testing.B) Record {
	r := fullRecord(b)
	r.Arguments = parse(b, `{"to":["ana@x.example"],"subject":"Quarterly numbers","body":"`+strings.Repeat("text ", 50)+
		`","headers":{"Authorization":"Bearer abcdefgh"},"options":{"retries":3,"html":false}}`)
	return r
}

func BenchmarkAppend(b *testing.B) {
	for name, red := range map[string]Redaction{
		"plain":     {},
		"selectors": {Selectors: selectors(b, "options.retries", "to[*]")},
	} {
		b.Run(name, func(b *testing.B) {
			l := openLog(b, filepath.Join(b.TempDir(), "audit.jsonl"), Options{Redaction: red})
			r := benchRecord(b)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := l.Append(r); err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(l.size / int64(l.seq))
		})
	}
}

// Two logs on one file, turn by turn: each append finds that the other has written.
func BenchmarkAppendInTurns(b *testing.B) {
	path := filepath.Join(b.TempDir(), "audit.jsonl")
	logs := []*Log{openLog(b, path, Options{}), openLog(b, path, Options{})}
	r := benchRecord(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := logs[i%2].Append(r); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendParallel(b *testing.B) {
	l := openLog(b, filepath.Join(b.TempDir(), "audit.jsonl"), Options{})
	r := benchRecord(b)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := l.Append(r); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	red := newRedactor(Redaction{})
	r := benchRecord(b)
	b.ReportAllocs()
	for b.Loop() {
		e := newEncoder(red)
		e.record(&r)
		e.release()
	}
}

func BenchmarkVerify(b *testing.B) {
	path := filepath.Join(b.TempDir(), "audit.jsonl")
	l := openLog(b, path, Options{})
	r := benchRecord(b)
	const n = 2000
	for range n {
		add(b, l, r)
	}
	text := readFile(b, path)
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if rep, _ := Verify(bytes.NewReader(text)); !rep.Intact() {
			b.Fatal(rep.Problems)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/record")
}

func ExampleVerify() {
	rep, err := Verify(strings.NewReader("not a log\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range rep.Problems {
		fmt.Printf("line %d: %s: %s\n", p.Line, p.Kind, p.Text)
	}
	// Output: line 1: foreign: the line is no record of a log
}
