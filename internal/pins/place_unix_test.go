//go:build unix

package pins

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestModes(t *testing.T) {
	store := open(t, storeDir(t))
	run(t, store, `{}`, named("a"))
	for path, want := range map[string]os.FileMode{store.Dir(): 0o700, file(t, store): 0o600, filepath.Join(store.Dir(), "lock"): 0o600} {
		st, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if st.Mode().Perm() != want {
			t.Errorf("%s: %v", path, st.Mode())
		}
	}
}

func TestUnusablePlaces(t *testing.T) {
	for name, prepare := range map[string]func(t *testing.T, store *Store, file string){
		"a file that others may write": func(t *testing.T, _ *Store, file string) { chmod(t, file, 0o622) },
		"a link":                       func(t *testing.T, s *Store, file string) { link(t, file) },
		"a directory": func(t *testing.T, _ *Store, file string) {
			if err := errors.Join(os.Remove(file), os.Mkdir(file, 0o700)); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			store := open(t, storeDir(t))
			run(t, store, `{}`, named("a"))
			prepare(t, store, file(t, store))
			if _, err := store.Book(here, "u"); !errors.Is(err, ErrUnusable) {
				t.Errorf("%v", err)
			}
		})
	}
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(plain); !errors.Is(err, ErrUnusable) {
		t.Errorf("a file: %v", err)
	}
	if _, err := Open(filepath.Join(plain, "pins")); !errors.Is(err, ErrUnusable) {
		t.Errorf("below a file: %v", err)
	}
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, path string) {
	t.Helper()
	if err := errors.Join(os.Rename(path, path+".moved"), os.Symlink(path+".moved", path)); err != nil {
		t.Fatal(err)
	}
}
