package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

const (
	sessionsDir = "sessions"
	newPrefix   = "new-"
	gonePrefix  = "gone-"

	defaultLockWait = 2 * time.Second
)

// Open joins a session, and makes it if no process has yet.
func Open(ctx context.Context, o Options) (*Store, error) {
	if o.LockWait <= 0 {
		o.LockWait = defaultLockWait
	}
	if o.MaxLog <= 0 {
		o.MaxLog = DefaultMaxLog
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if err := checkName(o.Session); err != nil {
		return nil, err
	}
	s, err := open(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("store: session %s in %s: %w", o.Session, o.Dir, err)
	}
	return s, nil
}

func checkName(name string) error {
	ok := len(name) >= 1 && len(name) <= 200
	for _, c := range []byte(name) {
		ok = ok && c > ' ' && c < 0x7f
	}
	if !ok {
		return fmt.Errorf("store: a session's name has 1 to 200 visible ASCII characters, not %.220q", name)
	}
	return nil
}

// dirOf is the name of a session's directory.
func dirOf(session string) string {
	sum := sha256.Sum256([]byte("sallyport session 1\n" + session))
	return hex.EncodeToString(sum[:nameSize])
}

func open(ctx context.Context, o Options) (*Store, error) {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, err
	}
	sessions, err := openSessions(o.Dir, true)
	if err != nil {
		return nil, err
	}
	defer sessions.Close()
	held, err := lockSessions(ctx, sessions, o.LockWait)
	if err != nil {
		return nil, err
	}
	defer held.Close()
	if _, err := sessions.Lstat(dirOf(o.Session)); errors.Is(err, fs.ErrNotExist) {
		if err := makeSession(sessions, o.Session); err != nil {
			return nil, err
		}
	}
	return join(ctx, sessions, o)
}

// openSessions opens the directory of all sessions.
func openSessions(dir string, create bool) (*os.Root, error) {
	return openWithin(dir, sessionsDir, create)
}

// openWithin opens a directory of the state directory.
func openWithin(dir, name string, create bool) (*os.Root, error) {
	state, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer state.Close()
	if st, err := state.Stat("."); err != nil {
		return nil, err
	} else if err := checkDir(st, 0o022); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	if create {
		if err := state.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	return openDir(state, name)
}

// openDir opens a directory that must be this user's alone, and no link.
func openDir(parent *os.Root, name string) (*os.Root, error) {
	before, err := parent.Lstat(name)
	if err != nil {
		return nil, err
	}
	if err := checkDir(before, 0o077); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	dir, err := parent.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	after, err := dir.Stat(".")
	if err == nil && !os.SameFile(before, after) {
		err = fmt.Errorf("%s: %w: it was replaced", name, ErrUnsafe)
	}
	if err != nil {
		dir.Close()
		return nil, err
	}
	return dir, nil
}

// lockSessions takes the lock under which sessions are made, joined, left and removed.
// Closing the file gives it back.
func lockSessions(ctx context.Context, sessions *os.Root, wait time.Duration) (*os.File, error) {
	for range 10 {
		f, err := openFile(sessions, "lock", true)
		if err != nil {
			return nil, err
		}
		if err := lock(ctx, f, true, wait); err != nil {
			f.Close()
			return nil, err
		}
		// A lock on a file that lost its name in the meantime keeps nobody out.
		mine, err := f.Stat()
		if err == nil {
			var st fs.FileInfo
			if st, err = sessions.Lstat("lock"); err == nil && os.SameFile(mine, st) {
				return f, nil
			}
		}
		f.Close()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("lock: %w: it is removed again and again", ErrUnsafe)
}

// makeSession needs the lock. The session gets its name when it is complete.
func makeSession(sessions *os.Root, session string) error {
	temp := newPrefix + randomName()
	if err := sessions.Mkdir(temp, 0o700); err != nil {
		return err
	}
	err := fillSession(sessions, temp, session)
	if err == nil {
		err = sessions.Rename(temp, dirOf(session))
	}
	if err != nil {
		return errors.Join(err, sessions.RemoveAll(temp))
	}
	return nil
}

func fillSession(sessions *os.Root, temp, session string) error {
	dir, err := openDir(sessions, temp)
	if err != nil {
		return err
	}
	defer dir.Close()
	secret := make([]byte, secretSize)
	_, _ = rand.Read(secret) // never fails
	for _, f := range []struct {
		name string
		text []byte
	}{
		{"session", []byte(session)},
		{"key", secret},
		{"live", nil},
		{"table", newTable(newSealer(secret))},
	} {
		if err := writeFile(dir, f.name, f.text); err != nil {
			return err
		}
	}
	return nil
}

func randomName() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// join needs the lock. A session that is not complete is never made good: whoever took its
// key away would have taken away what it knows.
func join(ctx context.Context, sessions *os.Root, o Options) (_ *Store, err error) {
	dir, err := openDir(sessions, dirOf(o.Session))
	if err != nil {
		return nil, err
	}
	s := &Store{opt: o, dir: dir, wait: o.LockWait, maxLog: o.MaxLog, logs: make(map[string]*Log)}
	defer func() {
		if err == nil {
			return
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		dir.Close()
		if s.live != nil {
			s.live.Close()
		}
	}()
	name, err := readSmall(dir, "session")
	if err != nil {
		return nil, err
	}
	if string(name) != o.Session {
		return nil, fmt.Errorf("%w: it is that of %.220q", ErrDamaged, name)
	}
	if s.secret, err = readSmall(dir, "key"); err != nil {
		return nil, err
	}
	if len(s.secret) != secretSize {
		return nil, fmt.Errorf("%w: its key has %d bytes", ErrDamaged, len(s.secret))
	}
	if s.live, err = openFile(dir, "live", false); err != nil {
		return nil, err
	}
	if err := lock(ctx, s.live, false, o.LockWait); err != nil {
		return nil, err
	}
	f, err := openFile(dir, "table", false)
	if err != nil {
		return nil, err
	}
	s.names = newSealer(s.secret)
	s.table = &tableFile{
		now: o.Now, wait: o.LockWait, sem: make(chan struct{}, 1), f: f, sealer: s.names,
	}
	return s, nil
}

// readSmall reads a file of at most 1 KiB.
func readSmall(dir *os.Root, name string) ([]byte, error) {
	f, err := openFile(dir, name, false)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, 1<<10))
}

// Close leaves the session. The last process to leave removes it if [Options.Ended]
// agrees; if the session cannot be removed now, [Sweep] does it later. It waits for uses
// that are under way.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	for _, l := range s.logs {
		l.close()
	}
	s.table.close()
	now := time.Now()
	_ = s.dir.Chtimes("live", now, now) // for Sweep's idle; without it the entries count
	mine, err := s.dir.Stat(".")
	err = errors.Join(err, s.dir.Close())
	sessions, openErr := openSessions(s.opt.Dir, false)
	if openErr != nil {
		return errors.Join(err, s.live.Close(), openErr)
	}
	defer sessions.Close()
	held, lockErr := lockSessions(context.Background(), sessions, s.wait)
	err = errors.Join(err, s.live.Close(), lockErr)
	if err != nil {
		return err
	}
	st, err := sessions.Lstat(dirOf(s.opt.Session))
	if err != nil || !os.SameFile(st, mine) {
		return held.Close() // it is another's now, or nobody's
	}
	gone, err := retire(sessions, dirOf(s.opt.Session), s.opt.Ended, 0)
	err = errors.Join(err, held.Close())
	if gone != "" {
		err = errors.Join(err, sessions.RemoveAll(gone))
	}
	return err
}

// writeFile writes a file that was not there.
func writeFile(dir *os.Root, name string, b []byte) error {
	f, err := openFile(dir, name, true)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Close())
}
