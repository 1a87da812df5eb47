//go:build unix

package audit

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// newKey makes a signing key for a test.
func newKey(t testing.TB) *SigningKey {
	t.Helper()
	k, err := NewSigningKey(filepath.Join(t.TempDir(), "key"), "")
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// pointsIn are options under which checkpoints go to a file beside the log.
func pointsIn(t testing.TB, path string, records int) (Options, *SigningKey) {
	k := newKey(t)
	return Options{Checkpoints: &Checkpoints{Path: path + ".points", Key: k, Records: records}}, k
}

// against verifies a log against the checkpoints of files.
func against(t testing.TB, path string, key string, files ...string) Report {
	t.Helper()
	var keys []string
	if key != "" {
		keys = []string{key}
	}
	n, err := NewNoted(keys...)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if err := n.ReadFile(f); err != nil {
			t.Fatal(err)
		}
	}
	rep, err := n.VerifyFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// wantFit is against, of a log that is intact and whose checkpoints all fit.
func wantFit(t testing.TB, path, key string, files ...string) Report {
	t.Helper()
	rep := against(t, path, key, files...)
	if !rep.Intact() || rep.Checkpoints.Fit == 0 || rep.Checkpoints.Unchecked != 0 {
		t.Fatalf("%v, checkpoints %+v", rep.Problems, rep.Checkpoints)
	}
	return rep
}

// waitCheckpoints waits until a log has written n checkpoints.
func waitCheckpoints(t testing.TB, l *Log, n uint64) {
	t.Helper()
	for until := time.Now().Add(20 * time.Second); l.Stats().Checkpoints < n; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("%+v", l.Stats())
		}
	}
}

// sizes are the sizes of the checkpoints in a file, each of which must verify.
func sizes(t testing.TB, file string, k *SigningKey) (all []int64) {
	t.Helper()
	n, err := NewNoted(k.Verifier())
	if err != nil {
		t.Fatal(err)
	}
	if err := n.ReadFile(file); err != nil {
		t.Fatal(err)
	}
	if len(n.rep.Problems) > 0 || len(n.rep.Unused) > 0 {
		t.Fatalf("%+v", n.rep)
	}
	for _, c := range n.all {
		all = append(all, c.size)
	}
	return all
}

func TestCheckpointAtClose(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	opt, key := pointsIn(t, path, 1000)
	for round := range 3 {
		l := openLog(t, path, opt)
		for range 5 {
			add(t, l, Record{})
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		rep := wantFit(t, path, key.Verifier(), path+".points")
		if want := uint64(5 * (round + 1)); rep.Checkpoints.UpTo != want || rep.LastSeq != want {
			t.Errorf("up to %d, last %d, want %d", rep.Checkpoints.UpTo, rep.LastSeq, want)
		}
	}
	for _, file := range []string{path + ".points", path + stateEnd} {
		if st, err := os.Stat(file); err != nil || st.Mode().Perm() != 0o600 && modesCount {
			t.Errorf("%v %v", st.Mode(), err)
		}
	}
	if l := openLog(t, path, opt); l.Close() != nil || len(sizes(t, path+".points", key)) != 3 {
		t.Error("a checkpoint was written without a record")
	}
}

func TestCheckpointEveryRecords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	opt, key := pointsIn(t, path, 10)
	l := openLog(t, path, opt)
	for i := range 50 {
		add(t, l, Record{})
		if (i+1)%10 == 0 {
			waitCheckpoints(t, l, uint64(i+1)/10)
		}
	}
	if got := fmt.Sprint(sizes(t, path+".points", key)); got != "[10 20 30 40 50]" {
		t.Error(got)
	}
	wantFit(t, path, key.Verifier(), path+".points")
}

func TestCheckpointEveryInterval(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	opt, key := pointsIn(t, path, 0)
	opt.Checkpoints.Interval = 10 * time.Millisecond
	l := openLog(t, path, opt)
	for i := range uint64(3) {
		add(t, l, Record{})
		waitCheckpoints(t, l, i+1)
	}
	if got := fmt.Sprint(sizes(t, path+".points", key)); got != "[1 2 3]" {
		t.Error(got)
	}
}

// What happens at the checkpoints' place delays no record, is told and counted, and is over when
// the place is there again.
func TestCheckpointsThatFail(t *testing.T) {
	dir := t.TempDir()
	path, place := filepath.Join(dir, "audit.jsonl"), filepath.Join(dir, "elsewhere")
	var mu sync.Mutex
	var told []string
	opt := Options{
		Checkpoints: &Checkpoints{Path: filepath.Join(place, "points"), Key: newKey(t), Records: 1},
		Warn: func(what string, err error) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, what+": "+err.Error())
		},
	}
	l := openLog(t, path, opt)
	add(t, l, Record{})
	for until := time.Now().Add(20 * time.Second); l.Stats().CheckpointFailures == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("no failure")
		}
	}
	for range 100 {
		add(t, l, Record{})
	}
	mustDo(t, os.Mkdir(place, 0o700))
	mustDo(t, l.Close())
	mu.Lock()
	defer mu.Unlock()
	if len(told) != 1 || !strings.Contains(told[0], "checkpoint") {
		t.Errorf("told: %q", told)
	}
	if rep := wantFit(t, path, opt.Checkpoints.Key.Verifier(), opt.Checkpoints.Path); rep.Checkpoints.UpTo != 101 {
		t.Errorf("%+v", rep.Checkpoints)
	}
}

// One that failed is tried again although the interval is long.
func TestCheckpointIsTriedAgain(t *testing.T) {
	old := retryCheckpoint
	retryCheckpoint = 50 * time.Millisecond
	t.Cleanup(func() { retryCheckpoint = old })
	dir := t.TempDir()
	path, place := filepath.Join(dir, "audit.jsonl"), filepath.Join(dir, "elsewhere")
	key := newKey(t)
	l := openLog(t, path, Options{Checkpoints: &Checkpoints{Path: filepath.Join(place, "points"), Key: key, Records: 2, Interval: time.Hour}})
	add(t, l, Record{})
	l.points.after(time.Hour)
	add(t, l, Record{})
	for until := time.Now().Add(20 * time.Second); l.Stats().CheckpointFailures == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("no failure")
		}
	}
	mustDo(t, os.Mkdir(place, 0o700))
	waitCheckpoints(t, l, 1)
	if got := fmt.Sprint(sizes(t, filepath.Join(place, "points"), key)); got != "[2]" {
		t.Error(got)
	}
}

// A log whose checkpoints begin later, that lost its state, or whose state is damaged, gets the
// tree of all its records.
func TestTreeIsMadeAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	opt, key := pointsIn(t, path, 1000)
	plain := openLog(t, path, Options{})
	for range 9 {
		add(t, plain, Record{})
	}
	mustDo(t, plain.Close())
	for i, spoil := range []func(){
		func() {},
		func() { remove(t, path+stateEnd) },
		func() { writeFile(t, path+stateEnd, []byte("{}")) },
		func() {
			text := readFile(t, path+stateEnd)
			text[len(text)/3] ^= 1
			writeFile(t, path+stateEnd, text)
		},
	} {
		spoil()
		l := openLog(t, path, opt)
		add(t, l, Record{})
		mustDo(t, l.Close())
		if rep := wantFit(t, path, key.Verifier(), path+".points"); rep.Checkpoints.UpTo != uint64(10+i) {
			t.Errorf("%d: %+v", i, rep.Checkpoints)
		}
	}
}

// A start reads only what came after the last checkpoint.
func TestStartDoesNotReadTheWholeLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	opt, key := pointsIn(t, path, 1000)
	l := openLog(t, path, opt)
	for range 20 {
		add(t, l, Record{})
	}
	mustDo(t, l.Close())
	// What the state covers is not read again: a change there does not keep the tree from going on,
	// and the checkpoints that follow show it.
	text := readFile(t, path)
	text[200] ^= 1
	writeFile(t, path, text)
	l = openLog(t, path, opt)
	add(t, l, Record{})
	mustDo(t, l.Close())
	if got := fmt.Sprint(sizes(t, path+".points", key)); got != "[20 21]" {
		t.Error(got)
	}
	if rep := against(t, path, key.Verifier(), path+".points"); rep.Intact() || rep.Problems[0].Kind != KindEdited {
		t.Errorf("%+v", rep)
	}
}

// Records without a chain are in the tree with their whole lines.
func TestCheckpointsWithoutChain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	opt, key := pointsIn(t, path, 1000)
	opt.NoChain = true
	l := openLog(t, path, opt)
	for range 5 {
		add(t, l, Record{Target: "read"})
	}
	mustDo(t, l.Close())
	if rep := against(t, path, key.Verifier(), path+".points"); rep.Checkpoints.Fit != 1 || rep.Checkpoints.UpTo != 5 {
		t.Errorf("%+v", rep.Checkpoints)
	}
	writeFile(t, path, bytes.Replace(readFile(t, path), []byte("read"), []byte("send"), 1))
	rep := against(t, path, key.Verifier(), path+".points")
	if len(rep.Problems) != 2 || rep.Problems[1].Kind != KindForked && rep.Problems[0].Kind != KindForked {
		t.Errorf("%v", rep.Problems)
	}
}
