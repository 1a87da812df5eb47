package store

import (
	"bufio"
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/storetest"
)

// The test binary is also the child processes of the tests.
func TestMain(m *testing.M) {
	o := Options{Dir: os.Getenv("STORE_TEST_DIR"), Session: os.Getenv("STORE_TEST_SESSION")}
	switch os.Getenv("STORE_TEST_CHILD") {
	case "":
		os.Exit(m.Run())
	case "serve":
		serve(o)
	case "storm":
		storm(o)
	case "live":
		s, err := Open(context.Background(), o)
		fatal(err)
		fmt.Println("open")
		_, _ = io.Copy(io.Discard, os.Stdin)
		fatal(s.Close())
	case "joinleave":
		joinAndLeave(o)
	default:
		otherChild(os.Getenv("STORE_TEST_CHILD"), o)
	}
}

func fatal(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(1)
	}
}

type childProcess struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startChild(t testing.TB, what string, o Options) *childProcess {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &childProcess{Cmd: exec.Command(exe)}
	c.Env = append(
		os.Environ(), "STORE_TEST_CHILD="+what, "STORE_TEST_DIR="+o.Dir, "STORE_TEST_SESSION="+o.Session,
		"GORACE=atexit_sleep_ms=0",
	)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.out = bufio.NewReader(out)
	if c.in, err = c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if c.ProcessState == nil {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
	})
	return c
}

func (c *childProcess) line(t testing.TB) string {
	t.Helper()
	s, err := c.out.ReadString('\n')
	if err != nil {
		t.Fatalf("child: %q, %v", s, err)
	}
	return strings.TrimSuffix(s, "\n")
}

// A request asks a child to use its store; the answer has what came of it.
type request struct {
	Op, Name  string
	Data      []byte
	From, Max int
	N, Limit  int64
	Buckets   []sallyport.Bucket
	Debit     bool
	TTL       time.Duration
	Now       time.Time
	Cancelled bool
}

type answer struct {
	Entries [][]byte
	Data    []byte
	N       int64
	OK      bool
	Err     string
}

func serve(o Options) {
	var now time.Time
	o.Now = func() time.Time { return now }
	s, err := Open(context.Background(), o)
	fatal(err)
	in, out := gob.NewDecoder(os.Stdin), gob.NewEncoder(os.Stdout)
	for {
		var r request
		if err := in.Decode(&r); errors.Is(err, io.EOF) {
			fatal(s.Close())
			return
		} else if err != nil {
			fatal(err)
		}
		now = r.Now
		ctx, cancel := context.WithCancel(context.Background())
		if r.Cancelled {
			cancel()
		}
		fatal(out.Encode(serveOne(ctx, s, r)))
		cancel()
	}
}

func serveOne(ctx context.Context, s *Store, r request) (a answer) {
	var err error
	switch r.Op {
	case "append":
		var i int
		i, err = s.Append(ctx, r.Name, r.Data)
		a.N = int64(i)
	case "read":
		a.Entries, err = s.Read(ctx, r.Name, r.From, r.Max)
	case "add":
		a.N, a.OK, err = s.Add(ctx, r.Name, r.N, r.Limit)
	case "take":
		var d time.Duration
		a.OK, d, err = s.Take(ctx, r.Buckets, r.Debit)
		a.N = int64(d)
	case "put":
		err = s.Put(ctx, r.Name, r.Data, r.TTL)
	case "claim":
		a.Data, a.OK, err = s.Claim(ctx, r.Name)
	}
	if err != nil {
		a.Err = err.Error()
	}
	return a
}

// remote is a store whose uses are those of child processes, by turns.
type remote struct {
	now  func() time.Time
	mu   sync.Mutex
	next int
	kids []*childProcess
	enc  []*gob.Encoder
	dec  []*gob.Decoder
}

func newRemote(t *testing.T, now func() time.Time) *remote {
	o := newOptions(t)
	r := &remote{now: now}
	for range 3 {
		c := startChild(t, "serve", o)
		r.kids = append(r.kids, c)
		r.enc, r.dec = append(r.enc, gob.NewEncoder(c.in)), append(r.dec, gob.NewDecoder(c.out))
	}
	return r
}

func (r *remote) ask(ctx context.Context, q request) (answer, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next++
	i := r.next % len(r.kids)
	q.Now, q.Cancelled = r.now(), ctx.Err() != nil
	var a answer
	if err := errors.Join(r.enc[i].Encode(q), r.dec[i].Decode(&a)); err != nil {
		return a, err
	}
	if a.Err != "" {
		return a, errors.New(a.Err)
	}
	return a, nil
}

func (r *remote) Append(ctx context.Context, log string, e []byte) (int, error) {
	a, err := r.ask(ctx, request{Op: "append", Name: log, Data: e})
	return int(a.N), err
}

func (r *remote) Read(ctx context.Context, log string, from, max int) ([][]byte, error) {
	a, err := r.ask(ctx, request{Op: "read", Name: log, From: from, Max: max})
	return a.Entries, err
}

func (r *remote) Add(ctx context.Context, c string, n, limit int64) (int64, bool, error) {
	a, err := r.ask(ctx, request{Op: "add", Name: c, N: n, Limit: limit})
	return a.N, a.OK, err
}

func (r *remote) Take(ctx context.Context, b []sallyport.Bucket, debit bool) (bool, time.Duration, error) {
	a, err := r.ask(ctx, request{Op: "take", Buckets: b, Debit: debit})
	return a.OK, time.Duration(a.N), err
}

func (r *remote) Put(ctx context.Context, k string, v []byte, ttl time.Duration) error {
	_, err := r.ask(ctx, request{Op: "put", Name: k, Data: v, TTL: ttl})
	return err
}

func (r *remote) Claim(ctx context.Context, k string) ([]byte, bool, error) {
	a, err := r.ask(ctx, request{Op: "claim", Name: k})
	return a.Data, a.OK, err
}

func TestConformanceOfProcesses(t *testing.T) {
	storetest.Run(t, func(t *testing.T, now func() time.Time) sallyport.Store { return newRemote(t, now) })
}

// A stormEntry is what storming children append.
type stormEntry struct {
	PID, N int
	Fill   []byte
}

// storm appends until it is killed, and says what was appended once it is.
func storm(o Options) {
	s, err := Open(context.Background(), o)
	fatal(err)
	for n := 0; ; n++ {
		e, err := json.Marshal(stormEntry{os.Getpid(), n, bytes.Repeat([]byte{byte(n)}, rand.IntN(40_000))})
		fatal(err)
		_, err = s.Append(context.Background(), "l", e)
		fatal(err)
		_, ok, err := s.Add(context.Background(), "c", 1, 1<<40)
		if err != nil || !ok {
			fatal(fmt.Errorf("add: %v, %w", ok, err))
		}
		fmt.Println(n)
	}
}

// Children that are killed while they append lose nothing that they had appended and
// stop nobody.
func TestKilledChildren(t *testing.T) {
	o := newOptions(t)
	s := openAs(t, o)
	var mu sync.Mutex
	said := map[int]int{} // how many entries each process said it appended
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			c := startChild(t, "storm", o)
			for range 5 + i {
				c.line(t)
			}
			_ = c.Process.Kill()
			rest, _ := io.ReadAll(c.out)
			_ = c.Wait()
			mu.Lock()
			said[c.Process.Pid] = 5 + i + bytes.Count(rest, []byte("\n"))
			mu.Unlock()
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	found := map[int]int{}
	at := 0
	read := func() {
		got, err := s.Read(t.Context(), "l", at, 7)
		if err != nil {
			t.Fatal(err)
		}
		at += len(got)
		for _, b := range got {
			var e stormEntry
			if err := json.Unmarshal(b, &e); err != nil || e.N != found[e.PID] || len(bytes.Trim(e.Fill, string([]byte{byte(e.N)}))) > 0 {
				t.Fatalf("entry %d of %d, %v; want %d", e.N, e.PID, err, found[e.PID])
			}
			found[e.PID]++
		}
	}
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		read()
	}
	appendTo(t, s, "l", `{"PID":-1}`)
	for found[-1] == 0 {
		read()
	}
	sum := int64(0)
	for pid, n := range said {
		if found[pid] < n || found[pid] > n+1 {
			t.Errorf("process %d said it appended %d, %d are there", pid, n, found[pid])
		}
		sum += int64(n)
	}
	total, _, err := s.Add(t.Context(), "c", 1, 0)
	if err != nil || total < sum || total > sum+int64(len(said)) {
		t.Errorf("counter %d, %v; they said %d", total, err, sum)
	}
}
