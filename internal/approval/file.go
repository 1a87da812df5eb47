package approval

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sallyport-dev/sallyport/internal/store"
)

const (
	dirName   = "approvals"
	keyFile   = "key"
	stateFile = "state"
	trustFile = "trust"

	secretSize = 32
	magic      = "sallyport approvals 1\n\x00\x00" // 24 bytes
	headSize   = len(magic) + 8
	maxFile    = 32 << 20 // bytes
)

// ErrDamaged is what every error about a file is that does not verify, is missing or is an
// older one. Nothing is overwritten then.
var ErrDamaged = errors.New("it is damaged")

// files are those of the directory, with the lock held.
type files struct {
	s      *Store
	dir    *os.Root
	secret []byte
}

// locked runs do with the directory's lock held.
func (s *Store) locked(ctx context.Context, do func(files) error) error {
	f := files{s: s}
	dir, err := store.OpenPrivateDir(s.opt.Dir, dirName, true)
	if err != nil {
		return f.unusable("", err)
	}
	defer dir.Close()
	held, err := store.LockPrivateDir(ctx, dir, s.opt.LockWait)
	if err != nil {
		return f.unusable("", err)
	}
	defer held.Close()
	f.dir = dir
	if f.secret, err = f.key(); err != nil {
		return f.unusable(keyFile, err)
	}
	return do(f)
}

// unusable says which file cannot be used; every error about files is one of these.
func (f files) unusable(name string, err error) error {
	if errors.Is(err, store.ErrUnsafe) {
		name = "" // the error says it
	}
	return fmt.Errorf("approvals cannot be used: %s: %w", filepath.Join(f.s.opt.Dir, dirName, name), err)
}

// key reads the secret, and makes it where nothing is sealed by one yet.
func (f files) key() ([]byte, error) {
	h, err := store.OpenPrivateFile(f.dir, keyFile, false)
	if errors.Is(err, fs.ErrNotExist) {
		for _, name := range []string{stateFile, trustFile} {
			if _, err := f.dir.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf("%w: it is missing, and %s is sealed by it; %s", ErrDamaged, name, moveAway)
			}
		}
		secret := make([]byte, secretSize)
		_, _ = rand.Read(secret) // never fails
		return secret, store.ReplacePrivateFile(f.dir, keyFile, secret)
	}
	if err != nil {
		return nil, err
	}
	defer h.Close()
	secret, err := io.ReadAll(io.LimitReader(h, secretSize+1))
	if err == nil && len(secret) != secretSize {
		err = fmt.Errorf("%w: it has another size; %s", ErrDamaged, moveAway)
	}
	return secret, err
}

const moveAway = "find out who changed it; once the directory is moved away, it begins anew"

// derive returns the key of one purpose.
func derive(secret []byte, purpose string) []byte {
	k, err := hkdf.Expand(sha256.New, secret, "sallyport approvals 1 "+purpose, 32)
	if err != nil {
		panic("approval: " + err.Error()) // only for a length that no hash can give
	}
	return k
}

func (f files) aead(name string) cipher.AEAD {
	block, err := aes.NewCipher(derive(f.secret, name))
	if err == nil {
		var a cipher.AEAD
		if a, err = cipher.NewGCMWithRandomNonce(block); err == nil {
			return a
		}
	}
	panic("approval: " + err.Error()) // only for a key of another size
}

// read returns the content of a sealed file, nil if it was never there.
func (f files) read(name string) (content []byte, generation uint64, err error) {
	defer func() {
		if err != nil {
			err = f.unusable(name, err)
		}
	}()
	seen := f.s.seenGeneration(name, 0)
	h, err := store.OpenPrivateFile(f.dir, name, false)
	if errors.Is(err, fs.ErrNotExist) {
		if seen > 0 {
			return nil, 0, fmt.Errorf("%w: it was removed; %s", ErrDamaged, moveAway)
		}
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	defer h.Close()
	data, err := io.ReadAll(io.LimitReader(h, maxFile+1))
	if err != nil {
		return nil, 0, err
	}
	if len(data) < headSize || len(data) > maxFile || string(data[:len(magic)]) != magic {
		return nil, 0, fmt.Errorf("%w: it was cut or replaced; %s", ErrDamaged, moveAway)
	}
	head := data[:headSize]
	generation = binary.BigEndian.Uint64(head[len(magic):])
	content, err = f.aead(name).Open(nil, nil, data[headSize:], append([]byte(name), head...))
	switch {
	case err != nil:
		return nil, 0, fmt.Errorf("%w: it does not verify; %s", ErrDamaged, moveAway)
	case generation < seen:
		return nil, 0, fmt.Errorf("%w: it is an older one; %s", ErrDamaged, moveAway)
	}
	f.s.seenGeneration(name, generation)
	return content, generation, nil
}

// write replaces a file that was read as generation before.
func (f files) write(name string, content []byte, before uint64) error {
	head := binary.BigEndian.AppendUint64([]byte(magic), before+1)
	data := f.aead(name).Seal(head, nil, content, append([]byte(name), head...))
	if len(data) > maxFile {
		return f.unusable(name, fmt.Errorf("it would be larger than %d MiB", maxFile>>20))
	}
	if err := store.ReplacePrivateFile(f.dir, name, data); err != nil {
		return f.unusable(name, err)
	}
	f.s.seenGeneration(name, before+1)
	return nil
}

// seenGeneration notes a generation and returns the highest so far.
func (s *Store) seenGeneration(name string, g uint64) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[name] = max(s.seen[name], g)
	return s.seen[name]
}
