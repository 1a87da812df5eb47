package token

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"strings"
)

// Prefix is what the values begin with that [New] makes, so that scanners for secrets
// find one that was lost.
const Prefix = "sp_"

const secretBytes = 32

// New returns the value of a new token: 256 random bits, in characters that survive a
// shell, a URL and a double click.
func New() string {
	var b [secretBytes]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand
	return Prefix + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b[:]))
}

// Digest is what is kept of a value.
func Digest(value string) [sha256.Size]byte { return sha256.Sum256([]byte(value)) }
