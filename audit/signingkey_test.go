//go:build unix

package audit

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"
)

func TestSigningKey(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	for i := range 40 { // the base64 of some has a +
		path := filepath.Join(dir, strings.Repeat("k", i+1))
		made, err := NewSigningKey(path, "")
		if err != nil {
			t.Fatal(err)
		}
		read, err := ReadSigningKey(path)
		if err != nil {
			t.Fatal(err)
		}
		if made.Verifier() != read.Verifier() || made.Name() != read.Name() || CheckKeyName(made.Name()) != nil {
			t.Errorf("made %s, read %s", made.Verifier(), read.Verifier())
		}
		text, err := read.sign(7, [32]byte{1})
		if err != nil {
			t.Fatal(err)
		}
		v, err := note.NewVerifier(made.Verifier())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := note.Open(text, note.VerifierList(v)); err != nil {
			t.Error(err)
		}
		if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
			t.Error(st.Mode(), err)
		}
	}
	path := filepath.Join(dir, "k")
	before := readFile(t, path)
	if _, err := NewSigningKey(path, ""); !errors.Is(err, fs.ErrExist) || !bytes.Equal(before, readFile(t, path)) {
		t.Errorf("written over: %v", err)
	}
	if err := os.Symlink(filepath.Join(dir, "elsewhere"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if _, err := NewSigningKey(filepath.Join(dir, "link"), ""); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a link was followed: %v", err)
	}
	for _, mode := range []fs.FileMode{0o604, 0o620, 0o602, 0o644, 0o666} {
		mustDo(t, os.Chmod(path, mode))
		if _, err := ReadSigningKey(path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("mode %v: %v", mode, err)
		}
	}
	mustDo(t, os.Chmod(path, 0o440))
	if _, err := ReadSigningKey(path); err != nil {
		t.Errorf("a group's secret: %v", err)
	}
}

func TestSigningKeyIsRefused(t *testing.T) {
	for _, name := range []string{"a b", "a+b", "a\nb", "\x7f", "ä", strings.Repeat("n", maxKeyName+1)} {
		path := filepath.Join(t.TempDir(), "key")
		if _, err := NewSigningKey(path, name); err == nil || isThere(path) {
			t.Errorf("name %q: %v", name, err)
		}
	}
	path := filepath.Join(t.TempDir(), "key")
	k, err := NewSigningKey(path, "gateway.example/audit")
	if err != nil {
		t.Fatal(err)
	}
	secret := string(readFile(t, path))
	for name, text := range map[string]string{
		"empty": "", "verifier": k.Verifier(), "cut": secret[:len(secret)-3], "two lines": secret + secret,
		"another name": strings.Replace(secret, "gateway", "other", 1), "long": secret + strings.Repeat("\n", maxKeyFile),
	} {
		writeFile(t, path, []byte(text))
		_, err := ReadSigningKey(path)
		if err == nil || strings.Contains(err.Error(), "PRIVATE") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ReadSigningKey(filepath.Dir(path)); err == nil {
		t.Error("a directory was read")
	}
}
