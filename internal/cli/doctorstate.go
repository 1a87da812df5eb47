package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/internal/config"
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
		if othersMayWrite(p) {
			x.add(levelFail, "state", quote.Text(p, 1000), "others of this machine can change the configuration", "chmod go-w "+quote.Text(p, 1000))
			return
		}
	}
	x.add(levelOK, "state", quote.Text(own.config, 1000), "nobody else of this machine can change the configuration", "")
}

// othersMayWrite reports whether others of this machine may change what a path leads to; in a
// directory with the sticky bit they may not change what is somebody else's.
func othersMayWrite(path string) bool {
	info, err := os.Stat(path)
	return err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0 && !(info.IsDir() && info.Mode()&fs.ModeSticky != 0)
}

// othersMayReplace is for a program and what is above it. A group that may write a directory is
// often the user's own, or that of whoever installs programs for all.
func othersMayReplace(path string) bool {
	info, err := os.Stat(path)
	return err == nil && othersMayWrite(path) && (!info.IsDir() || info.Mode().Perm()&0o002 != 0)
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

// examinedLog is a log, and where its checkpoints go; nil for none.
type examinedLog struct {
	path   string
	points *config.Checkpoints
}

func (l examinedLog) same(o examinedLog) bool {
	return l.path == o.path && (l.points == nil) == (o.points == nil) && (l.points == nil || l.points.Path == o.points.Path && l.points.Key == o.points.Key)
}

// verify holds a log against its checkpoints too, if they go into a file that is here.
func (l examinedLog) verify() (audit.Report, error) {
	if l.points == nil {
		return audit.VerifyFile(l.path)
	}
	if info, err := os.Stat(l.points.Path); err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return audit.VerifyFile(l.path)
	}
	path, err := keyPath(l.points)
	if err != nil {
		return audit.Report{}, err
	}
	key, err := audit.ReadSigningKey(path)
	if err != nil {
		return audit.Report{}, err
	}
	noted, err := audit.NewNoted(key.Verifier())
	if err != nil {
		return audit.Report{}, err
	}
	if err := noted.ReadFile(l.points.Path); err != nil { // before the log: it may grow
		return audit.Report{}, err
	}
	return noted.VerifyFile(l.path)
}

// ofLogs verifies every log that an entry writes to.
func (x *examination) ofLogs() {
	for _, l := range x.logs {
		rep, err := l.verify()
		name := quote.Text(l.path, 1000)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			x.add(levelNote, "log", name, "there is no log yet", "")
		case err != nil:
			x.add(levelFail, "log", name, "it cannot be read: "+quote.Text(err.Error(), 400), "")
		case !rep.Intact():
			how := verifyCommand(l.path)
			if rep.Checkpoints != nil {
				how += " --checkpoint " + shellWord(l.points.Path)
			}
			x.add(levelFail, "log", name, "it is NOT INTACT", how+" says where")
		case rep.Checkpoints != nil:
			x.add(levelOK, "log", name, fmt.Sprintf("it is intact (%s), and up to record %d the one that was signed", count(int(rep.Records), "record"), rep.Checkpoints.UpTo), "")
		default:
			x.add(levelOK, "log", name, "it is intact ("+count(int(rep.Records), "record")+")", "")
		}
	}
}
