package mcp

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// A reader that matches member names without regard to case, as Go's encoding/json does,
// takes "Name" for "name". So a frame is refused when two names in one object fold to
// the same, and when a name folds to one of the protocol's without being it.

// foldedNames maps the folded form of names to the names.
type foldedNames map[string]string

func foldNames(names ...string) foldedNames {
	folded := make(foldedNames, len(names))
	for _, name := range names {
		folded[string(appendFold(nil, []byte(name)))] = name
	}
	return folded
}

var envelopeNames = foldNames("jsonrpc", "id", "method", "params", "result", "error")

// paramNames are the members of params in all protocol versions.
var paramNames = foldNames(
	"_meta", "argument", "arguments", "capabilities", "clientInfo", "context", "cursor", "data",
	"elicitationId", "includeContext", "inputResponses", "level", "logger", "maxTokens", "message",
	"messages", "metadata", "mode", "modelPreferences", "name", "notifications", "progress",
	"progressToken", "protocolVersion", "reason", "ref", "requestId", "requestState",
	"requestedSchema", "stopSequences", "systemPrompt", "task", "taskId", "temperature",
	"toolChoice", "tools", "total", "uri", "url",
)

// isVariant reports whether name is one of known but for case.
func isVariant(name []byte, known foldedNames) bool {
	var buf [64]byte
	if len(name) > len(buf) { // a folded name is at most three times shorter
		return false
	}
	exact, ok := known[string(appendFold(buf[:0], name))]
	return ok && exact != string(name)
}

// appendFold appends name with each letter replaced by the first of those that are equal
// under simple case folding, the relation of bytes.EqualFold.
func appendFold(dst, name []byte) []byte {
	for i := 0; i < len(name); {
		c := name[i]
		if c < utf8.RuneSelf {
			if 'a' <= c && c <= 'z' {
				c -= 'a' - 'A'
			}
			dst = append(dst, c)
			i++
			continue
		}
		r, size := utf8.DecodeRune(name[i:])
		dst = utf8.AppendRune(dst, firstFold(r))
		i += size
	}
	return dst
}

// firstFold returns the smallest rune that is equal to r under simple case folding.
func firstFold(r rune) rune {
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	return least
}

// nameSet finds names that are equal under case folding. The zero value is empty.
type nameSet struct {
	few  [16][]byte
	n    int
	many map[string]struct{}
}

// add reports whether name is equal to one that was added before. It keeps name.
func (s *nameSet) add(name []byte) bool {
	if s.many != nil {
		return s.addMany(name)
	}
	for _, have := range s.few[:s.n] {
		if bytes.EqualFold(have, name) {
			return true
		}
	}
	if s.n < len(s.few) {
		s.few[s.n] = name
		s.n++
		return false
	}
	s.many = make(map[string]struct{}, 4*len(s.few))
	for _, have := range s.few {
		s.addMany(have)
	}
	return s.addMany(name)
}

func (s *nameSet) addMany(name []byte) bool {
	key := string(appendFold(make([]byte, 0, len(name)+8), name))
	if _, ok := s.many[key]; ok {
		return true
	}
	s.many[key] = struct{}{}
	return false
}

// maxShown is how much of a name from a frame an error shows, in characters.
const maxShown = 32
