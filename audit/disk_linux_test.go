package audit

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A real disk that is full, and then is not: a small one in memory. No record counts
// while there is no room, nothing of the chain is lost, and rotation does not make it worse.
func TestFullTmpfs(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=256k,mode=0700"); err != nil {
		// Only root can mount. The limit on the size of files shows the same without.
		t.Skip("cannot mount:", err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	filler, path := filepath.Join(dir, "filler"), filepath.Join(dir, "log", "audit.jsonl")
	l := openLog(t, path, Options{Sync: SyncAlways, Rotate: Rotation{MaxSize: 20_000, Keep: 2}})
	defer l.Close()
	r := Record{Event: "x", Detail: strings.Repeat("d", 1000)}
	for round := range 3 {
		for range 30 {
			add(t, l, r)
		}
		text := make([]byte, 256<<10)
		f, err := os.Create(filler)
		mustDo(t, err)
		if _, err := f.Write(text); !errors.Is(err, unix.ENOSPC) {
			t.Fatalf("the disk is not full: %v", err)
		}
		mustDo(t, f.Close())
		failed := 0
		for range 50 { // the page that is begun may have room still
			if _, err := l.Append(r); errors.Is(err, unix.ENOSPC) {
				failed++
			} else if err != nil {
				t.Fatal(err)
			}
		}
		if failed < 40 {
			t.Fatalf("round %d: %d of 50 were refused", round, failed)
		}
		if rep := verifySet(t, path); !rep.Intact() {
			t.Fatalf("round %d, while it is full: %v", round, rep.Problems)
		}
		mustDo(t, os.Remove(filler))
		l.mu.Lock()
		l.later = l.later.Add(-retryRotation)
		l.mu.Unlock()
		add(t, l, r)
	}
	rep := verifySet(t, path)
	if !rep.Intact() || len(rep.Repairs) != 0 || rep.Files != 3 {
		t.Errorf("report: %+v", rep)
	}
}

// A directory that becomes read-only, and writable again.
func TestReadOnlyDisk(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=256k,mode=0700"); err != nil {
		t.Skip("cannot mount:", err) // as above
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	path := filepath.Join(dir, "audit.jsonl")
	l := openLog(t, path, Options{})
	add(t, l, Record{})
	mustDo(t, l.Close())
	mustDo(t, unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	if _, err := Open(path, Options{}); !errors.Is(err, unix.EROFS) {
		t.Errorf("opened on a read-only disk: %v", err)
	}
	mustDo(t, unix.Mount("", dir, "", unix.MS_REMOUNT, ""))
	l = openLog(t, path, Options{})
	add(t, l, Record{})
	wantIntact(t, path, 2)
	mustDo(t, l.Close())
}
