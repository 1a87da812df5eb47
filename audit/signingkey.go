package audit

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// SigningKey signs checkpoints. Its name is the origin of the log whose checkpoints it signs, so
// that each log has a key of its own. Safe for concurrent use.
type SigningKey struct {
	signer   note.Signer
	verifier string
}

// Name is the key's name, and the origin of its checkpoints.
func (k *SigningKey) Name() string { return k.signer.Name() }

// Verifier is the key that checks the signatures, as text: name, hash and public key in the form
// of the package note. It is no secret.
func (k *SigningKey) Verifier() string { return k.verifier }

const maxKeyFile = 4 << 10 // bytes

// maxKeyName bounds a key's name in bytes: a whole checkpoint goes through a pipe at once.
const maxKeyName = 200

var errKeyName = fmt.Errorf("a key's name has up to %d printable ASCII characters, and neither spaces nor +", maxKeyName)

// CheckKeyName says what is wrong with a key's name, if something is.
func CheckKeyName(name string) error {
	if name == "" || len(name) > maxKeyName {
		return errKeyName
	}
	for _, c := range []byte(name) {
		if c <= ' ' || c >= 0x7f || c == '+' {
			return errKeyName
		}
	}
	return nil
}

// DefaultKeyPath is where the signing key is when nothing else is said: beside the default log.
func DefaultKeyPath() (string, error) {
	log, err := DefaultPath()
	if err != nil {
		return "", err
	}
	return filepath.Join(dirOf(log), "checkpoint.key"), nil
}

// NewSigningKey makes a key and writes it to a new file, 0600 from the first byte, in a directory
// that it makes if it is not there. An empty name gets a random one. It never writes over a file:
// the error is then fs.ErrExist.
func NewSigningKey(path, name string) (*SigningKey, error) {
	if name == "" {
		random := make([]byte, 8)
		if _, err := rand.Read(random); err != nil {
			return nil, err
		}
		name = "sallyport/" + hex.EncodeToString(random)
	}
	if err := CheckKeyName(name); err != nil {
		return nil, err
	}
	secret, verifier, err := note.GenerateKey(rand.Reader, name)
	if err != nil {
		return nil, err
	}
	signer, err := note.NewSigner(secret)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dirOf(path), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = io.WriteString(f, secret+"\n")
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	return &SigningKey{signer, verifier}, syncDir(dirOf(path))
}

// ReadSigningKey reads what NewSigningKey wrote. A file that everybody may read, or others than
// its owner may write, is refused. Errors quote nothing of the key.
func ReadSigningKey(path string) (*SigningKey, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", path)
	}
	if err := private(st.Mode()); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if err != nil {
		return nil, err
	}
	secret := strings.TrimSuffix(string(text), "\n")
	signer, err := note.NewSigner(secret)
	if err != nil || len(text) > maxKeyFile || CheckKeyName(signer.Name()) != nil {
		return nil, fmt.Errorf("%s is no signing key; sallyport audit keygen makes one", path)
	}
	// NewSigner has checked the form: PRIVATE, KEY, name, hash, and the algorithm's byte and seed in
	// base64, which can have a + too.
	raw, err := base64.StdEncoding.DecodeString(strings.SplitN(secret, "+", 5)[4])
	if err != nil || len(raw) != 1+ed25519.SeedSize {
		return nil, fmt.Errorf("%s is no signing key", path)
	}
	public := ed25519.NewKeyFromSeed(raw[1:]).Public().(ed25519.PublicKey)
	verifier, err := note.NewEd25519VerifierKey(signer.Name(), public)
	if err != nil {
		return nil, err
	}
	return &SigningKey{signer, verifier}, nil
}

// private refuses the mode of a key that is no secret. A group may read it: where the system
// hands out secrets as files, that is how.
func private(mode fs.FileMode) error {
	if !modesCount || mode.Perm()&0o037 == 0 {
		return nil
	}
	return fmt.Errorf("others may use this key (mode %04o); chmod 600 makes it usable, and a new key makes sure", mode.Perm())
}
