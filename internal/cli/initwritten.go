package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/sallyport-dev/sallyport/internal/clientconfig"
	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/internal/store"
)

// The list of the files that init wrote, in the state directory: undo finds those of the
// working directory and of the home directory by itself, those of other projects by this.
const (
	writtenDir  = "init"
	writtenFile = "written.json"

	maxWritten     = 1000    // files; the oldest are forgotten
	maxWrittenSize = 1 << 20 // bytes of the list
	writtenWait    = 2 * time.Second
)

// written is the list.
type written struct {
	Version int      `json:"version"` // 1
	Files   []string `json:"files"`   // absolute, the newest last
}

// changeWritten lets change edit the list, one process at a time. Without create a list
// that is not there stays so.
func changeWritten(create bool, change func(*written)) error {
	own, err := ownFiles("", "", "")
	if err != nil || own.noState != nil {
		return errors.Join(err, own.noState)
	}
	dir, err := store.OpenPrivateDir(filepath.Dir(own.stateLog), writtenDir, create)
	if !create && errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	defer dir.Close()
	held, err := store.LockPrivateDir(context.Background(), dir, writtenWait)
	if err != nil {
		return err
	}
	defer held.Close()
	w, err := readWritten(dir)
	if err != nil {
		return err
	}
	before := slices.Clone(w.Files)
	change(&w)
	w.Files = w.Files[max(0, len(w.Files)-maxWritten):]
	if slices.Equal(before, w.Files) {
		return nil
	}
	data, err := json.Marshal(w)
	if err != nil {
		return err
	}
	return store.ReplacePrivateFile(dir, writtenFile, append(data, '\n'))
}

func readWritten(dir *os.Root) (written, error) {
	w := written{Version: 1, Files: []string{}}
	f, err := store.OpenPrivateFile(dir, writtenFile, false)
	if errors.Is(err, fs.ErrNotExist) {
		return w, nil
	} else if err != nil {
		return w, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxWrittenSize+1))
	if err != nil {
		return w, err
	}
	err = json.Unmarshal(data, &w)
	if err != nil || len(data) > maxWrittenSize || w.Version != 1 || len(w.Files) > maxWritten ||
		slices.ContainsFunc(w.Files, func(p string) bool { return !filepath.IsAbs(p) }) {
		return w, fmt.Errorf("%s is not what init wrote: delete it", quote.Text(filepath.Join(dir.Name(), writtenFile), 1000))
	}
	return w, nil
}

// remember puts files that were written on the list.
func (r *initRun) remember(files []*clientconfig.File) {
	if len(files) == 0 {
		return
	}
	err := changeWritten(true, func(w *written) {
		for _, f := range files {
			path, err := filepath.Abs(f.Path)
			if err != nil {
				continue
			}
			w.Files = append(slices.DeleteFunc(w.Files, func(p string) bool { return p == path }), path)
		}
	})
	if err != nil {
		r.say("note: init --undo from another directory will not name these files: %s\n", quote.Text(err.Error(), 400))
	}
}

// remains says, after undo, what of init's is left elsewhere. seen are the files that undo
// was about.
func (r *initRun) remains(places clientconfig.Places, seen []*clientconfig.File) {
	err := changeWritten(false, func(w *written) {
		w.Files = slices.DeleteFunc(w.Files, func(path string) bool {
			f := places.Read(clientconfig.Location{Path: path})
			if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
				return true
			}
			wrapped := slices.ContainsFunc(f.Entries, func(e clientconfig.Entry) bool { return e.State == clientconfig.Wrapped && e.ByInit })
			if f.Err == nil && !wrapped {
				return true
			}
			if slices.ContainsFunc(seen, func(s *clientconfig.File) bool { return sameFile(s.Path, path) }) {
				return false // it was shown what became of it
			}
			shown := quote.Text(path, 1000)
			if f.Err != nil {
				r.say("perhaps still wrapped: %s: %s\n", shown, quote.Text(f.Err.Error(), 400))
			} else {
				r.say("still wrapped: %s: init --undo there, or %s init --undo --config %s\n", shown, typedName(), shellWord(path))
			}
			return false
		})
	})
	if err != nil {
		r.say("which other files init wrote cannot be told: %s\n", quote.Text(err.Error(), 1200))
	}
	if file, ok := ownStarter(); ok {
		r.say("left: %s, the starter configuration that init wrote: it is yours\n", quote.Text(file, 1000))
	}
}

// ownStarter finds a starter configuration by its first line.
func ownStarter() (string, bool) {
	file, err := defaultConfigFile()
	if err != nil || file == "" {
		return "", false
	}
	f, err := os.Open(file)
	if err != nil {
		return "", false
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", false
	}
	first := make([]byte, len(starterMark))
	_, err = io.ReadFull(f, first)
	return file, err == nil && string(first) == starterMark
}
