//go:build unix

package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"testing"
	"time"
)

func otherChild(what string, o Options) {
	n, err := strconv.Atoi(os.Getenv("STORE_TEST_BYTES"))
	fatal(err)
	s, err := Open(context.Background(), o)
	fatal(err)
	_, err = s.Append(context.Background(), "l", []byte("before"))
	fatal(err)
	switch what {
	case "torn":
		dieWithin(s, n)
	case "full":
		fillDisk(s, n)
	default:
		os.Exit(2)
	}
}

// dieWithin writes the first n bytes of an entry under the lock, as if killed there.
func dieWithin(s *Store, n int) {
	l, err := s.Log("l")
	fatal(err)
	fatal(lock(context.Background(), l.f, true, time.Second))
	c := l.c
	_, err = l.f.WriteAt(c.add(nil, bytes.Repeat([]byte("x"), 10_000))[:n], l.end)
	fatal(err)
	fatal(syscall.Kill(os.Getpid(), syscall.SIGKILL))
	select {}
}

// fillDisk appends while the log must not grow by more than n bytes.
func fillDisk(s *Store, n int) {
	signal.Ignore(syscall.SIGXFSZ)
	limit := logStart + frameExtra + int64(len("before")+n)
	var old syscall.Rlimit
	fatal(syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old))
	low := old
	setLimit(&low.Cur, limit)
	fatal(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &low))
	for range 2 {
		if _, err := s.Append(context.Background(), "l", bytes.Repeat([]byte("x"), 10_000)); err == nil {
			fatal(errors.New("appended beyond the limit"))
		}
	}
	fatal(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old))
	_, err := s.Append(context.Background(), "l", []byte("after"))
	fatal(err)
	fmt.Println("done")
}

// setLimit sets a limit, whose type differs between systems.
func setLimit[T int64 | uint64](to *T, n int64) { *to = T(n) }

// A process that dies within its write, with the lock, stops nobody and leaves no entry.
func TestKilledWithinWrite(t *testing.T) {
	for _, n := range []int{1, headSize - 1, headSize, headSize + 1, 5000, 10_000 + frameExtra - 1} {
		o := newOptions(t)
		s := openAs(t, o)
		t.Setenv("STORE_TEST_BYTES", strconv.Itoa(n))
		if err := startChild(t, "torn", o).Wait(); err == nil {
			t.Fatal("it lives")
		}
		if got, want := len(readFile(t, logFile(t, o))), int(logStart)+frameExtra+len("before")+n; got != want {
			t.Fatalf("%d bytes are left, not %d", got, want)
		}
		wantEntries(t, s, "l", 0, "before")
		appendTo(t, s, "l", "after")
		wantEntries(t, openAs(t, o), "l", 0, "before", "after")
	}
}

// An append for which there is no room leaves nothing.
func TestFullDisk(t *testing.T) {
	for _, n := range []int{0, 1, headSize, 5000} {
		o := newOptions(t)
		s := openAs(t, o)
		t.Setenv("STORE_TEST_BYTES", strconv.Itoa(n))
		c := startChild(t, "full", o)
		if got := c.line(t); got != "done" {
			t.Fatal(got)
		}
		wantEntries(t, s, "l", 0, "before", "after")
	}
}
