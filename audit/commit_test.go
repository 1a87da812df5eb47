//go:build unix

package audit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// slowDisk counts the syncs of a log and lets each one wait for a sign.
type slowDisk struct {
	begun chan struct{} // one for each sync that begins
	end   chan error    // its result
}

func (d *slowDisk) sync(*os.File) error {
	d.begun <- struct{}{}
	return <-d.end
}

// Under always nothing counts before it is on the disk, and all who wait meanwhile
// share the next sync.
func TestGroupCommit(t *testing.T) {
	l := openLog(t, filepath.Join(t.TempDir(), "audit.jsonl"), Options{Sync: SyncAlways})
	disk := &slowDisk{make(chan struct{}), make(chan error)}
	l.commits.fsync = disk.sync
	const writers = 20
	var returned atomic.Int32
	var wg sync.WaitGroup
	write := func() {
		defer wg.Done()
		if _, err := l.Append(Record{Event: "x", Phase: PhaseVerdict}); err != nil {
			t.Error(err)
		}
		returned.Add(1)
	}
	wg.Add(1)
	go write()
	<-disk.begun
	wg.Add(writers)
	for range writers {
		go write()
	}
	written := func() uint64 {
		l.commits.mu.Lock()
		defer l.commits.mu.Unlock()
		return l.commits.written
	}
	for written() < writers+1 {
		runtime.Gosched() // a writer says nothing between writing and waiting
	}
	if n := returned.Load(); n != 0 {
		t.Errorf("%d records counted before they were on the disk", n)
	}
	disk.end <- nil
	<-disk.begun // one for all others
	disk.end <- nil
	wg.Wait()
	if n := l.Stats().Syncs; n != 2 {
		t.Errorf("%d syncs for %d writers", n, writers+1)
	}
	l.commits.fsync = (*os.File).Sync
}

// A record that cannot be forced to the disk does not count; the next is tried again.
func TestSyncThatFails(t *testing.T) {
	l := openLog(t, filepath.Join(t.TempDir(), "audit.jsonl"), Options{Sync: SyncAlways})
	broken := errors.New("input/output error")
	l.commits.fsync = func(*os.File) error { return broken }
	if _, err := l.Append(Record{Event: "x"}); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	if _, err := l.Append(Record{Event: "x", Phase: PhaseOutcome}); err != nil {
		t.Errorf("an outcome waits: %v", err)
	}
	l.commits.fsync = (*os.File).Sync
	add(t, l, Record{})
	if s := l.Stats(); s.Failures != 1 || s.Records != 2 {
		t.Errorf("stats %+v", s)
	}
}

// In the background a failed sync is told at once, and every writer until one works.
func TestSyncInBackground(t *testing.T) {
	old := syncEvery
	syncEvery = time.Millisecond
	defer func() { syncEvery = old }()
	told := make(chan string, 10)
	l := openLog(t, filepath.Join(t.TempDir(), "audit.jsonl"), Options{Warn: func(what string, err error) { told <- what + ": " + err.Error() }})
	broken := errors.New("input/output error")
	var works atomic.Bool
	synced := make(chan struct{}, 100)
	l.commits.fsync = func(*os.File) error {
		if !works.Load() {
			return broken
		}
		synced <- struct{}{}
		return nil
	}
	add(t, l, Record{})
	if got := <-told; !strings.Contains(got, "input/output") {
		t.Errorf("told %q", got)
	}
	if _, err := l.Append(Record{Event: "x"}); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	works.Store(true)
	add(t, l, Record{})
	<-synced // of the writer that tries again
	<-synced // of the background
	wantIntact(t, l.Path(), 2)
}

func TestSyncPolicies(t *testing.T) {
	for policy, want := range map[Sync]uint64{SyncNone: 0, SyncInterval: 1, SyncAlways: 3} {
		l := openLog(t, filepath.Join(t.TempDir(), "audit.jsonl"), Options{Sync: policy})
		for range 3 {
			add(t, l, Record{})
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if n := l.Stats().Syncs; n != want {
			t.Errorf("policy %d: %d syncs, want %d", policy, n, want)
		}
	}
}

// A rotation settles what waits for the old file.
func TestSyncAcrossRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := openLog(t, path, Options{Sync: SyncAlways, Rotate: Rotation{MaxSize: 5000}})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 40 {
				if _, err := l.Append(Record{Event: "x", Detail: strings.Repeat("d", 200)}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if rep := verifySet(t, path); !rep.Intact() || rep.Files < 4 {
		t.Errorf("report: %+v", rep)
	}
}

// What may write the log is looked at with every record, and the log goes on when it is
// well again.
func TestPermissionsLost(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := openLog(t, path, Options{})
	add(t, l, Record{})
	mustDo(t, os.Chmod(path, 0o666))
	if _, err := l.Append(Record{Event: "x"}); err == nil || !strings.Contains(err.Error(), "others may write it") {
		t.Errorf("error %v", err)
	}
	mustDo(t, os.Chmod(path, 0o600))
	add(t, l, Record{})
	// A directory in which nothing can be created any more, while the log is gone.
	dir := filepath.Dir(path)
	mustDo(t, os.Rename(dir, dir+".away"))
	mustDo(t, os.WriteFile(dir, nil, 0o600))
	for range 3 {
		if _, err := l.Append(Record{Event: "x"}); err == nil {
			t.Error("written to nowhere")
		}
	}
	mustDo(t, os.Remove(dir))
	add(t, l, Record{})
	if rep := verify(t, readFile(t, path)); rep.Records != 2 || len(rep.Problems) != 1 || rep.Problems[0].Kind != KindRemoved {
		t.Errorf("report: %+v", rep)
	}
}

// Records a second, one writer and many, without and with syncs.
func BenchmarkWriters(b *testing.B) {
	for _, policy := range []struct {
		name string
		sync Sync
	}{{"none", SyncNone}, {"interval", SyncInterval}, {"always", SyncAlways}} {
		for _, writers := range []int{1, 8, 64} {
			b.Run(fmt.Sprintf("%s/%d", policy.name, writers), func(b *testing.B) {
				l := openLog(b, filepath.Join(b.TempDir(), "audit.jsonl"), Options{Sync: policy.sync})
				r := benchRecord(b)
				b.ResetTimer()
				var wg sync.WaitGroup
				var next atomic.Int64
				for range writers {
					wg.Go(func() {
						for next.Add(1) <= int64(b.N) {
							if _, err := l.Append(r); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				wg.Wait()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
				b.ReportMetric(float64(l.Stats().Syncs)/float64(b.N), "syncs/record")
			})
		}
	}
}
