package clientconfig

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const small = `{"mcpServers":{"a":{"command":"x"}}}`

func leftovers(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, ".sallyport-*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Until the new file takes its place the old bytes are there, and when that fails they
// stay, with a backup beside them and nothing half written.
func TestFailingRename(t *testing.T) {
	f := put(t, "mcp.json", small)
	c, err := f.Wrap(program, all)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rename = os.Rename })
	asked := false
	rename = func(from, to string) error {
		asked = true
		if contents(t, from) != string(c.data) || contents(t, to) != small {
			t.Error("at the last step something else stands there")
		}
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: errors.New("no")}
	}
	if err := c.Write(); err == nil || !strings.Contains(err.Error(), "nothing is changed") {
		t.Errorf("error %v", err)
	}
	if !asked || contents(t, f.Path) != small || contents(t, f.BackupPath()) != small {
		t.Error("the file is not as it was")
	}
	if l := leftovers(t, filepath.Dir(f.Path)); len(l) > 0 {
		t.Errorf("left: %q", l)
	}
	rename = os.Rename
	if err := c.Write(); err != nil {
		t.Errorf("a second try: %v", err)
	}
}

// A crash at the last step leaves the old bytes.
func TestCrashBeforeRename(t *testing.T) {
	f := put(t, "mcp.json", small)
	c, err := f.Wrap(program, all)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rename = os.Rename })
	rename = func(string, string) error { panic("crash") }
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no crash")
			}
		}()
		_ = c.Write()
	}()
	rename = os.Rename
	if contents(t, f.Path) != small {
		t.Error("the file changed")
	}
	if again := again(t, f.Path); again.Err != nil || again.Entries[0].State != Plain {
		t.Errorf("%+v", again)
	}
}

// A directory that takes no file: nothing changes, whoever runs the test.
func TestNoPlaceForABackup(t *testing.T) {
	f := put(t, "mcp.json", small)
	c, err := f.Wrap(program, all)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(f.BackupPath(), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := c.Write(); err == nil || !strings.Contains(err.Error(), "is no plain file") {
		t.Errorf("error %v", err)
	}
	if contents(t, f.Path) != small {
		t.Error("the file changed")
	}
}

// A link in the place of the backup is not followed.
func TestBackupIsNoLink(t *testing.T) {
	f := put(t, "mcp.json", small)
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.Symlink(victim, f.BackupPath()); err != nil {
		t.Fatal(err)
	}
	c, err := f.Wrap(program, all)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Write(); err == nil {
		t.Error("it was written")
	}
	if _, err := os.Lstat(victim); !os.IsNotExist(err) {
		t.Error("the link was followed")
	}
}

// B116: what another program wrote between reading and writing stays.
func TestB116ChangedMeanwhile(t *testing.T) {
	f := put(t, "mcp.json", small)
	c, err := f.Wrap(program, all)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.Path, []byte(`{"new":1}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := c.Write(); !errors.Is(err, ErrChanged) {
		t.Errorf("error %v", err)
	}
	if contents(t, f.Path) != `{"new":1}` {
		t.Error("it was overwritten")
	}
}

func TestModeLinkAndBackupStay(t *testing.T) {
	f := put(t, "mcp.json", small)
	if err := os.Chmod(f.Path, 0o640); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link.json")
	if err := os.Symlink(f.Path, link); err != nil {
		t.Fatal(err)
	}
	l := again(t, link)
	if !l.Linked || l.Target == link {
		t.Errorf("%+v", l)
	}
	wrapWrite(t, l)
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link is gone")
	}
	for path, want := range map[string]os.FileMode{f.Path: 0o640, l.BackupPath(): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v %v", path, info.Mode(), err)
		}
	}
	// A second server later does not replace the backup, and undo of a file that was
	// changed elsewhere keeps it.
	more := strings.Replace(contents(t, f.Path), `{"a"`, `{"b":{"command":"y"},"a"`, 1)
	if err := os.WriteFile(f.Path, []byte(more), 0o640); err != nil {
		t.Fatal(err)
	}
	wrapWrite(t, again(t, link))
	if contents(t, l.BackupPath()) != small {
		t.Error("the backup was replaced")
	}
	unwrapWrite(t, link)
	if got := contents(t, f.Path); got != `{"mcpServers":{"b":{"command":"y"},"a":{"command":"x"}}}` {
		t.Errorf("restored %s", got)
	}
	if contents(t, l.BackupPath()) != small {
		t.Error("the backup is gone")
	}
}

func TestReadOnlyFileStays(t *testing.T) {
	f := put(t, "mcp.json", small)
	if err := os.Chmod(f.Path, 0o444); err != nil {
		t.Fatal(err)
	}
	c, err := again(t, f.Path).Wrap(program, all)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Write(); err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("error %v", err)
	}
}

func TestWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	if f := again(t, dir); f.Err == nil || !strings.Contains(f.Err.Error(), "no plain file") {
		t.Errorf("a directory: %v", f.Err)
	}
	loop := filepath.Join(dir, "loop")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	if f := again(t, loop); f.Err == nil {
		t.Error("a link to itself is read")
	}
	if f := again(t, filepath.Join(dir, "none")); f.Err == nil {
		t.Error("what is not there is read")
	}
	big := filepath.Join(dir, "big.json")
	if err := os.WriteFile(big, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(big, maxFile+1); err != nil {
		t.Fatal(err)
	}
	if f := again(t, big); f.Err == nil || !strings.Contains(f.Err.Error(), "more than 32 MiB") {
		t.Errorf("a large file: %v", f.Err)
	}
}
