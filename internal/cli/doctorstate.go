package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/internal/pins"
	"github.com/sallyport-dev/sallyport/internal/quote"
)

// ofState looks whether anybody else of this machine reads or writes what Sallyport goes by.
func (x *examination) ofState() {
	own, err := ownFiles("", "", "")
	switch {
	case err != nil:
		x.add(levelFail, "state", "configuration", quote.Text(err.Error(), 400), "")
		return
	case own.noState != nil:
		x.add(levelFail, "state", "state", quote.Text(own.noState.Error(), 400), "")
		return
	}
	dir := filepath.Dir(own.stateLog)
	open, n, err := openToOthers(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		x.add(levelNote, "state", quote.Text(dir, 1000), "there is no state yet", "")
	case err != nil:
		x.add(levelFail, "state", quote.Text(dir, 1000), "it cannot be looked through: "+quote.Text(err.Error(), 400), "")
	case open != "":
		x.add(levelFail, "state", quote.Text(open, 1000), "others of this machine can read or write it, or it is no plain file", "chmod go= "+quote.Text(open, 1000))
	default:
		x.add(levelOK, "state", quote.Text(dir, 1000), "nobody else of this machine can read or write it ("+count(n, "file")+")", "")
	}
	if _, err := os.Stat(filepath.Join(dir, "pins")); err == nil {
		store, err := pins.Open(filepath.Join(dir, "pins"))
		if err == nil {
			_, err = store.All()
		}
		if err != nil {
			x.add(levelFail, "state", "pins", "they cannot be used, and every tool is refused: "+quote.Text(err.Error(), 400), "")
		}
	}
	if own.config == "" {
		return
	}
	for _, p := range []string{own.config, filepath.Dir(own.config)} {
		if info, err := os.Stat(p); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0 {
			x.add(levelFail, "state", quote.Text(p, 1000), "others of this machine can change the configuration", "chmod go-w "+quote.Text(p, 1000))
			return
		}
	}
	x.add(levelOK, "state", quote.Text(own.config, 1000), "nobody else of this machine can change the configuration", "")
}

const maxStateFiles = 100_000

// openToOthers finds a file below dir that others may use, or that is no plain file.
func openToOthers(dir string) (found string, n int, err error) {
	if info, err := os.Lstat(dir); err != nil {
		return "", 0, err
	} else if !info.IsDir() {
		return dir, 0, nil
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a session that has just ended
		}
		if err != nil {
			return err
		}
		if n++; n > maxStateFiles {
			return errors.New("it holds more files than any state of Sallyport")
		}
		info, err := d.Info()
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case !info.IsDir() && info.Mode()&(fs.ModeType&^fs.ModeSocket) != 0,
			runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
			found = path
			return fs.SkipAll
		}
		return nil
	})
	return found, n, err
}

// ofLogs verifies every log that an entry writes to.
func (x *examination) ofLogs() {
	for _, path := range x.logs {
		rep, err := audit.VerifyFile(path)
		name := quote.Text(path, 1000)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			x.add(levelNote, "log", name, "there is no log yet", "")
		case err != nil:
			x.add(levelFail, "log", name, "it cannot be read: "+quote.Text(err.Error(), 400), "")
		case !rep.Intact():
			x.add(levelFail, "log", name, "it is NOT INTACT", verifyCommand(path)+" says where")
		default:
			x.add(levelOK, "log", name, "it is intact ("+count(int(rep.Records), "record")+")", "")
		}
	}
}
