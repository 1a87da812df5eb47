package approval

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strings"
	"time"
)

// ErrState is the error of every requestState that is not one of this installation for this
// caller and these questions, or whose time is over.
var ErrState = errors.New("this requestState does not belong to this call")

const (
	statePrefix = "sp1."
	idSize      = 8 // bytes of an approval's id
	stateSize   = 8 + idSize + sha256.Size
)

// IsRequestState reports that a requestState looks like one of a Sallyport's, this or another.
func IsRequestState(text string) bool {
	return strings.HasPrefix(text, statePrefix) && len(text) == len(statePrefix)+base64.RawURLEncoding.EncodedLen(stateSize)
}

// sealState makes the requestState of an input_required result: the approval's id and until
// when, authenticated together with the caller and what is asked. Its content is no secret.
// That it counts once is the approval's matter: it is answered once.
func sealState(key []byte, id, caller string, asked Key, until time.Time) string {
	raw, err := hex.DecodeString(id)
	if err != nil || len(raw) != idSize {
		panic("approval: an id of another size") // ids are made by newID
	}
	b := binary.BigEndian.AppendUint64(make([]byte, 0, stateSize), uint64(until.Unix())) //nolint:gosec // read back the same way
	b = append(b, raw...)
	return statePrefix + base64.RawURLEncoding.EncodeToString(stateMAC(b, key, caller, asked))
}

// stateMAC appends the MAC of until and id, with what is not in the text.
func stateMAC(b, key []byte, caller string, asked Key) []byte {
	m := hmac.New(sha256.New, key)
	bound := keyOf("sallyport requestState 1", caller, string(asked[:]), string(b))
	m.Write(bound[:])
	return m.Sum(b)
}

// openState returns the id in a requestState. Every error is [ErrState].
func openState(key []byte, text, caller string, asked Key, now time.Time) (id string, err error) {
	text, ok := strings.CutPrefix(text, statePrefix)
	if !ok || len(text) != base64.RawURLEncoding.EncodedLen(stateSize) {
		return "", ErrState
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) != stateSize {
		return "", ErrState
	}
	head := b[:stateSize-sha256.Size]
	if !hmac.Equal(stateMAC(head[:len(head):len(head)], key, caller, asked), b) {
		return "", ErrState
	}
	if until := time.Unix(int64(binary.BigEndian.Uint64(head)), 0); !now.Before(until) { //nolint:gosec // as above
		return "", ErrState
	}
	return hex.EncodeToString(head[8:]), nil
}

// stateKey is the key of requestStates, one for each installation.
func (s *Store) stateKey(ctx context.Context) (key []byte, err error) {
	err = s.locked(ctx, func(f files) error {
		key = derive(f.secret, "requestState")
		return nil
	})
	return key, err
}

// RequestState is the requestState of an input_required result that asks an open question.
func (d *Desk) RequestState(ctx context.Context, a Approval) (string, error) {
	key, err := d.store.stateKey(ctx)
	if err != nil {
		return "", err
	}
	return sealState(key, a.ID, d.opt.Caller, a.Bound, a.Expires), nil
}

// Resume returns the id of the question that a requestState asks, if r asks the same: another
// destination, argument, tool or upstream is [ErrState]. Whether it is still open is for
// [Desk.Answer] to find.
func (d *Desk) Resume(ctx context.Context, state string, r Request) (id string, err error) {
	b, why := bind(d.opt.Caller, d.opt.Session, r, d.settings.Load().BindCall)
	if why != nil {
		return "", ErrState
	}
	key, err := d.store.stateKey(ctx)
	if err != nil {
		return "", err
	}
	k, _ := b.key(nil)
	return openState(key, state, d.opt.Caller, k, d.store.opt.Now())
}
