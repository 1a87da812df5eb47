package instance

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// State is what a gateway says of itself.
type State struct {
	PID       int       `json:"pid"`
	Config    string    `json:"config"` // absolute
	Transport string    `json:"transport"`
	Started   time.Time `json:"started"`
	Reloads   int       `json:"reloads"` // how often it was asked
	Last      *Outcome  `json:"last,omitempty"`
}

// Outcome is what came of reading the configuration again.
type Outcome struct {
	Done   bool   `json:"done"`
	Before string `json:"before"` // digests of the configuration
	After  string `json:"after,omitempty"`
	Text   string `json:"text,omitempty"` // why not; lines, safe to show
}

const (
	maxText  = 64 << 10 // bytes of an outcome's text
	maxState = 1 << 20  // bytes of a file that is read
	maxFound = 1_000    // files that are looked at

	// heard is after what time whoever asked for a reload has read what came of it.
	heard = 10 * time.Second

	lockName = ".lock"
	fileName = ".json"
	askName  = ".reload"
)

// Instance is this process's entry. Safe for concurrent use.
type Instance struct {
	base string // path without an ending
	lock *flock.Flock

	requests chan struct{} // holds one when somebody has asked
	deaf     func()        // ends the listening

	mu       sync.Mutex // guards all below
	state    State
	reported time.Time // when the last outcome was
	closed   bool
}

// Register enters this process as a gateway that runs by a configuration. dir is created;
// nobody else may be able to write it.
func Register(dir, config, transport string) (*Instance, error) {
	if err := private(dir); err != nil {
		return nil, err
	}
	if _, err := Find(dir, "", 0); err != nil { // what others left
		return nil, err
	}
	i := &Instance{requests: make(chan struct{}, 1), deaf: func() {}, state: State{PID: os.Getpid(), Config: config, Transport: transport, Started: time.Now().UTC().Truncate(time.Second)}}
	i.base = filepath.Join(dir, key(config)+"-"+strconv.Itoa(i.state.PID))
	i.lock = flock.New(i.base+lockName, flock.SetPermissions(0o600))
	// Whoever looks for gateways may just be asking about what another left under this name.
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if ok, err := i.lock.TryLockContext(ctx, time.Millisecond); !ok {
		return nil, fmt.Errorf("%s cannot be locked: %w", i.base+lockName, err)
	}
	i.deaf = i.listen() // before anybody can find it
	if err := i.write(); err != nil {
		i.Close()
		return nil, err
	}
	return i, nil
}

// key stands for a configuration in names of files.
func key(config string) string {
	d := sha256.Sum256([]byte(config))
	return hex.EncodeToString(d[:8])
}

func private(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	st, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !st.IsDir() || runtime.GOOS != "windows" && st.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s is no directory that only you may write", dir)
	}
	return nil
}

// Report says what came of a reload. Whoever asked for it waits for this.
func (i *Instance) Report(o Outcome) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(o.Text) > maxText {
		o.Text = strings.ToValidUTF8(o.Text[:maxText], "") + "\n…"
	}
	i.state.Reloads++
	i.state.Last = &o
	i.reported = time.Now()
	if i.closed {
		return nil // nobody would take away what is written now
	}
	return i.write()
}

// write replaces the file as a whole.
func (i *Instance) write() error {
	data, err := json.Marshal(i.state)
	if err != nil {
		return err
	}
	fresh := i.base + ".new"
	if err := os.WriteFile(fresh, append(data, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, i.base+fileName)
}

// Close takes the entry away. What came of a reload just now is left for whoever may still wait
// for it; it goes when somebody looks for gateways, or another one starts.
func (i *Instance) Close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed = true
	if i.state.Last == nil || time.Since(i.reported) > heard {
		remove(i.base)
	}
	_ = i.lock.Close()
	i.deaf()
}

// remove leaves the lock for last: while it is there and free, nobody takes the rest for
// a gateway.
func remove(base string) {
	for _, end := range []string{fileName, ".new", askName, lockName} {
		_ = os.Remove(base + end)
	}
}

// withoutLock removes a file of an entry that has no lock: no gateway is behind it, since one
// makes the lock before everything else.
func withoutLock(file string) {
	for _, end := range []string{fileName, ".new", askName} {
		if base, ok := strings.CutSuffix(file, end); ok {
			if _, err := os.Lstat(base + lockName); errors.Is(err, os.ErrNotExist) {
				_ = os.Remove(file)
			}
		}
	}
}

// Found is a gateway that runs.
type Found struct {
	State
	base string
}

// Find lists the gateways that run: by this configuration, "" for any, and with this
// process id, 0 for any. What a gateway left that was killed is removed.
func Find(dir, config string, pid int) ([]Found, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := private(dir); err != nil {
		return nil, err
	}
	var found []Found
	for n, e := range entries {
		if n > maxFound {
			break
		}
		base, ok := strings.CutSuffix(filepath.Join(dir, e.Name()), lockName)
		if !ok {
			withoutLock(filepath.Join(dir, e.Name()))
			continue
		}
		if !runs(base) {
			remove(base)
			continue
		}
		s, err := read(base)
		if err != nil || filepath.Base(base) != key(s.Config)+"-"+strconv.Itoa(s.PID) {
			continue // it is about to start or to end
		}
		if (config == "" || s.Config == config) && (pid == 0 || s.PID == pid) {
			found = append(found, Found{s, base})
		}
	}
	return found, nil
}

// runs reports that a process holds the lock. It asks for a shared one: two that ask at
// once must not take each other for a gateway.
func runs(base string) bool {
	l := flock.New(base+lockName, flock.SetFlag(os.O_RDWR))
	defer l.Close()
	ok, err := l.TryRLock()
	return !ok && err == nil
}

func read(base string) (s State, err error) {
	f, err := os.Open(base + fileName)
	if err != nil {
		return s, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxState))
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(data, &s)
}

// Reload asks the gateway to read its configuration again and waits until it says what
// came of it, or ctx ends.
func (f Found) Reload(ctx context.Context) (Outcome, error) {
	s, err := read(f.base)
	if err != nil || !runs(f.base) {
		return Outcome{}, errors.New("it has ended")
	}
	before := s.Reloads
	if err := ask(s.PID, f.base+askName); err != nil {
		return Outcome{}, err
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		ended := !runs(f.base) // asked first: its last word comes before its end
		if s, err := read(f.base); err == nil && s.Reloads > before && s.Last != nil {
			return *s.Last, nil
		}
		if ended {
			return Outcome{}, errors.New("it has ended")
		}
		select {
		case <-ctx.Done():
			return Outcome{}, fmt.Errorf("it was asked and has not answered: %w", ctx.Err())
		case <-tick.C:
		}
	}
}

// Requests tells each time that somebody asked for a reload. Requests that come while one
// waits are one.
func (i *Instance) Requests() <-chan struct{} { return i.requests }

func (i *Instance) asked() {
	select {
	case i.requests <- struct{}{}:
	default:
	}
}

// poll looks for a request in a file, where there is no signal for it.
func (i *Instance) poll(every time.Duration) (stop func()) {
	end := make(chan struct{})
	go func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-end:
				return
			case <-tick.C:
			}
			if os.Remove(i.base+askName) == nil {
				i.asked()
			}
		}
	}()
	return sync.OnceFunc(func() { close(end) })
}
