package store

import (
	"testing"
)

// What a flow decision pays when no other process has recorded anything.
func BenchmarkNothingNew(b *testing.B) {
	s := openAs(b, newOptions(b))
	appendTo(b, s, "l", "x")
	if _, err := s.Read(b.Context(), "l", 0, 0); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if e, err := s.Read(b.Context(), "l", 1, 0); len(e) != 0 || err != nil {
			b.Fatal(e, err)
		}
	}
}

// What a result of about 10 KB, which has facts of 36 KB, pays to be shared.
func BenchmarkAppend36K(b *testing.B) {
	o := newOptions(b)
	o.MaxLog = 1 << 50
	s := openAs(b, o)
	e := make([]byte, 36<<10)
	l, _ := s.Log("l")
	b.SetBytes(int64(len(e)))
	for b.Loop() {
		if _, err := l.Append(b.Context(), e); err != nil {
			b.Fatal(err)
		}
		if l.end > 1<<30 { // a new log, so that the disk does not fill
			b.StopTimer()
			startAgain(b, l)
			b.StartTimer()
		}
	}
}

func startAgain(b *testing.B, l *Log) {
	if err := l.make(logFileName(l.c.name('l', l.name))); err != nil {
		b.Fatal(err)
	}
	l.c, l.end, l.index = newChain(l.c.sealer, l.name), logStart, nil
}

// What the others pay to read that.
func BenchmarkAppendAndRead36K(b *testing.B) {
	o := newOptions(b)
	o.MaxLog = 1 << 50
	s, other := openAs(b, o), openAs(b, o)
	e := make([]byte, 36<<10)
	l, _ := s.Log("l")
	r, _ := other.Log("l")
	b.SetBytes(int64(len(e)))
	for b.Loop() {
		i, err := l.Append(b.Context(), e)
		if err != nil {
			b.Fatal(err)
		}
		if got, err := r.Read(b.Context(), i, 0); len(got) != 1 || err != nil {
			b.Fatal(len(got), err)
		}
		if l.end > 1<<30 {
			b.StopTimer()
			startAgain(b, l)
			r.c, r.end, r.index = newChain(r.c.sealer, r.name), logStart, nil
			b.StartTimer()
		}
	}
}

func BenchmarkAdd(b *testing.B) {
	s := openAs(b, newOptions(b))
	for b.Loop() {
		if _, ok, err := s.Add(b.Context(), "c", 1, 1<<60); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}
