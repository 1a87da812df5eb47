package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"
)

// Sweep removes the sessions under dir that no process is in and of which ended says that
// they are over (nil: all of them), and what killed processes left behind. idle is for how
// long nothing was written to a session. It returns how many sessions it removed.
//
// A session whose files are damaged is treated alike. One that does not even say its name
// is removed after a week.
func Sweep(ctx context.Context, dir string, ended func(session string, idle time.Duration) bool) (removed int, err error) {
	sessions, err := openSessions(dir, false)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("store: sweep %s: %w", dir, err)
	}
	defer sessions.Close()
	gone, removed, err := sweepLocked(ctx, sessions, ended)
	for _, name := range gone {
		err = errors.Join(err, sessions.RemoveAll(name))
	}
	if err != nil {
		return removed, fmt.Errorf("store: sweep %s: %w", dir, err)
	}
	return removed, nil
}

// sweepLocked renames what is to go, so that the lock is not held while files are removed.
func sweepLocked(ctx context.Context, sessions *os.Root, ended func(string, time.Duration) bool) (gone []string, removed int, err error) {
	held, err := lockSessions(ctx, sessions, defaultLockWait)
	if err != nil {
		return nil, 0, err
	}
	defer held.Close()
	names, err := list(sessions)
	if err != nil {
		return nil, 0, err
	}
	for _, name := range names {
		switch {
		case ctx.Err() != nil:
			return gone, removed, ctx.Err()
		case strings.HasPrefix(name, newPrefix), strings.HasPrefix(name, gonePrefix):
			gone = append(gone, name)
		case len(name) == 2*nameSize:
			away, retireErr := retire(sessions, name, ended, -1)
			if away != "" {
				gone = append(gone, away)
				removed++
			}
			err = errors.Join(err, retireErr)
		}
	}
	return gone, removed, err
}

func list(dir *os.Root) ([]string, error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(10_000)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return names, err
}

// nameless is for how long a session that does not say its name is kept.
const nameless = 7 * 24 * time.Hour

// retire renames a session that is over and that no process is in, and returns the new
// name, "" if it stays. It needs the lock. idle < 0 asks the files.
func retire(sessions *os.Root, name string, ended func(string, time.Duration) bool, idle time.Duration) (string, error) {
	over, err := isOver(sessions, name, ended, idle)
	if err != nil || !over {
		return "", err
	}
	gone := gonePrefix + randomName()
	if err := sessions.Rename(name, gone); err != nil {
		return "", err
	}
	return gone, nil
}

func isOver(sessions *os.Root, name string, ended func(string, time.Duration) bool, idle time.Duration) (bool, error) {
	dir, err := openDir(sessions, name)
	if err != nil {
		return false, err
	}
	defer dir.Close()
	if live, err := openFile(dir, "live", false); err == nil {
		defer live.Close()
		if free, err := tryLock(live, true); err != nil || !free {
			return false, err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if idle < 0 {
		if idle, err = unused(dir); err != nil {
			return false, err
		}
	}
	session, err := readSmall(dir, "session")
	if err != nil || checkName(string(session)) != nil || dirOf(string(session)) != name {
		return idle > nameless, nil //nolint:nilerr // a name that cannot be read is none
	}
	return ended == nil || ended(string(session), idle), nil
}

// unused is for how long nothing was written in dir.
func unused(dir *os.Root) (time.Duration, error) {
	names, err := list(dir)
	if err != nil {
		return 0, err
	}
	var last time.Time
	for _, n := range append(names, ".") {
		if st, err := dir.Lstat(n); err == nil && st.ModTime().After(last) {
			last = st.ModTime()
		}
	}
	return max(0, time.Since(last)), nil
}
