package approval

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/quote"
)

// Key is a SHA-256 of things that have to be the same.
type Key [sha256.Size]byte

// String is the key in hexadecimal.
func (k Key) String() string { return hex.EncodeToString(k[:]) }

// MarshalText is for the state file.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText is for the state file.
func (k *Key) UnmarshalText(b []byte) error {
	if len(b) != 2*len(k) {
		return errors.New("not a key")
	}
	_, err := hex.Decode(k[:], b)
	return err
}

// keyOf hashes parts so that no two lists of parts give the same bytes.
func keyOf(parts ...string) Key {
	h := sha256.New()
	var n [8]byte
	for _, p := range parts {
		binary.BigEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:])
		h.Write([]byte(p))
	}
	return Key(h.Sum(nil))
}

// Request is a call that was decided and that a person has to agree to.
type Request struct {
	Call     sallyport.Call
	Decision sallyport.Decision // with the verdict Ask
	Policy   string             // digest of what decided: another policy is another question
}

// bound is what the answer to a request is bound to.
type bound struct {
	questions []Question
	arguments Key
	all       bool // the setting bind: call
}

// key stands for exactly these questions.
func (b bound) key(covered func(Key) bool) (k Key, left int) {
	var parts []string
	for _, q := range b.questions {
		if covered == nil || !covered(q.Key) {
			parts = append(parts, string(q.Key[:]))
		}
	}
	slices.Sort(parts)
	return keyOf(append([]string{"sallyport approval 1"}, parts...)...), len(parts)
}

// bind finds what the answer to r is bound to, or why nobody can be asked.
func bind(caller, session string, r Request, all bool) (bound, error) {
	c, d := r.Call, r.Decision
	switch {
	case d.Verdict != sallyport.Ask || len(d.Questions) == 0:
		return bound{}, errors.New("there is nothing to ask about this call")
	case len(d.Questions) > MaxQuestions:
		return bound{}, fmt.Errorf("this one call raises %d questions, and nobody is asked more than %d at once: split it", len(d.Questions), MaxQuestions)
	case len(c.Upstream) > maxName || len(c.Name) > maxName || len(c.Shown) > maxName:
		return bound{}, fmt.Errorf("a name of more than %d bytes cannot be shown to a person", maxName)
	}
	b := bound{arguments: digestCall(c), all: all}
	base := []string{caller, session, c.Subject.String(), c.Upstream, c.Name, r.Policy}
	for _, q := range d.Questions {
		if len(q.Destination) > MaxDestination {
			return bound{}, fmt.Errorf("a destination of %d bytes cannot be shown to a person as a whole", len(q.Destination))
		}
		if len(q.Argument) > maxName {
			return bound{}, fmt.Errorf("the place of an argument of %d bytes cannot be shown to a person", len(q.Argument))
		}
		is := Question{Check: q.Check, Argument: q.Argument, Destination: q.Destination, Origin: q.Origin(), Text: q.Text, Evidence: evidenceFor(d, q)}
		arguments, kind := "", kindAt(c.Args, q.Argument)
		if all || q.Destination == "" || kind == doc.Absent || c.Answers.Len() > 0 {
			arguments = string(b.arguments[:])
		}
		is.Key = keyOf(append([]string{"sallyport question 1", string(q.Check), q.Argument, kind.String(), q.Destination, is.Origin, arguments}, base...)...)
		is.NoKey = is.Key
		if q.Destination != "" {
			is.NoKey = keyOf("sallyport no 1", caller, session, q.Destination)
		}
		if !slices.ContainsFunc(b.questions, func(o Question) bool { return o.Key == is.Key }) {
			b.questions = append(b.questions, is)
		}
	}
	return b, nil
}

// evidenceFor is the evidence of one question.
func evidenceFor(d sallyport.Decision, q sallyport.Question) (all []sallyport.Evidence) {
	for _, e := range d.Evidence {
		if e.Argument == q.Argument && (q.Destination == "" || e.Destination == q.Destination) && len(all) < maxEvidence {
			e.Tool, e.Place = quote.Text(e.Tool, 120), quote.Text(e.Place, 120)
			e.Argument, e.Destination = "", "" // the question has them
			all = append(all, e)
		}
	}
	return all
}

// kindAt is the type of the value at a place in the arguments, Absent if the place leads to
// none. to#2 is the second destination in the text at to.
func kindAt(args doc.Value, place string) doc.Kind {
	if i := strings.LastIndexByte(place, '#'); i >= 0 {
		if _, err := strconv.ParseUint(place[i+1:], 10, 32); err == nil {
			place = place[:i]
		}
	}
	sel, err := doc.ParseSelector(place)
	if place == "" || err != nil {
		return doc.Absent
	}
	found, more := sel.Select(args, 1)
	if len(found) != 1 || more {
		return doc.Absent
	}
	return found[0].Value.Kind()
}

// digestCall stands for everything that a call carries, whatever the order of members.
func digestCall(c sallyport.Call) Key {
	b := appendSorted(nil, c.Args)
	if c.Args.Len() == 0 {
		b = []byte("{}") // absent arguments are an empty object
	}
	if c.Answers.Len() > 0 {
		b = appendSorted(append(b, '\n'), c.Answers)
	}
	return sha256.Sum256(b)
}

// appendSorted writes a value with the members of objects in the order of their names.
func appendSorted(b []byte, v doc.Value) []byte {
	switch v.Kind() {
	case doc.Object:
		members := slices.SortedFunc(v.Members(), func(a, c doc.Member) int { return cmp.Compare(a.Name, c.Name) })
		b = append(b, '{')
		for _, m := range members {
			b = append(strconv.AppendQuote(b, m.Name), ':')
			b = append(appendSorted(b, m.Value), ',')
		}
		return append(b, '}')
	case doc.List:
		b = append(b, '[')
		for _, e := range v.Elements() {
			b = append(appendSorted(b, e), ',')
		}
		return append(b, ']')
	}
	return v.AppendJSON(b)
}
