package mcp

import (
	"bytes"
	"fmt"
)

// The functions in this file move over JSON that was already found to be valid. On
// anything else they return -1, or an end that is wrong, but never run past the end of
// b and never loop.

// at returns b[i], or 0 behind the end.
func at(b []byte, i int) byte {
	if i < 0 || i >= len(b) {
		return 0
	}
	return b[i]
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

func skipSpace(b []byte, i int) int {
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	return i
}

// trimSpace cuts the white space of JSON off both ends, and none but that.
func trimSpace(b []byte) []byte {
	b = b[skipSpace(b, 0):]
	for len(b) > 0 && isSpace(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

// skipString returns the index behind the string that opens at b[i].
func skipString(b []byte, i int) int {
	for j := i + 1; ; {
		k := bytes.IndexByte(b[j:], '"')
		if k < 0 {
			return -1
		}
		j += k
		n := 0
		for b[j-1-n] == '\\' { // ends at the opening quote at the latest
			n++
		}
		j++
		if n%2 == 0 {
			return j
		}
	}
}

// skipValue returns the index behind the value that starts at b[i].
func skipValue(b []byte, i int) int {
	switch at(b, i) {
	case 0:
		return -1
	case '"':
		return skipString(b, i)
	case '{', '[':
		return skipNested(b, i)
	}
	start := i
	for i < len(b) && !isSpace(b[i]) && b[i] != ',' && b[i] != '}' && b[i] != ']' {
		i++
	}
	if i == start {
		return -1
	}
	return i
}

func skipNested(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			if i = skipString(b, i); i < 0 {
				return -1
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return -1
}

// oversized says which bound the brackets and names of b break, "" if none. It works on
// any bytes.
func oversized(b []byte) string {
	// Most frames do not even have as many of these bytes.
	if bytes.Count(b, []byte{'{'})+bytes.Count(b, []byte{'['}) <= MaxDepth && bytes.Count(b, []byte{':'}) <= MaxNames {
		return ""
	}
	var names [MaxDepth + 1]int // of each object that is open
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			if i = skipString(b, i); i < 0 {
				return ""
			}
			i--
		case '{', '[':
			if depth++; depth > MaxDepth {
				return fmt.Sprintf("nested deeper than %d", MaxDepth)
			}
			names[depth] = 0
		case '}', ']':
			depth = max(depth-1, 0)
		case ':':
			if names[depth]++; names[depth] > MaxNames {
				return fmt.Sprintf("an object with more than %d members", MaxNames)
			}
		}
	}
	return ""
}

// walk calls visit for each member of the object that opens at b[i], with the raw name
// and the index at which the value starts. visit returns the index behind the value, or
// -1 to stop. walk returns the index behind the object, or -1.
func walk(b []byte, i int, visit func(name []byte, value int) int) int {
	if at(b, i) != '{' {
		return -1
	}
	i = skipSpace(b, i+1)
	if at(b, i) == '}' {
		return i + 1
	}
	for at(b, i) == '"' {
		end := skipString(b, i)
		if end < 0 {
			return -1
		}
		name := b[i:end]
		i = skipSpace(b, end)
		if at(b, i) != ':' {
			return -1
		}
		if i = visit(name, skipSpace(b, i+1)); i < 0 {
			return -1
		}
		i = skipSpace(b, i)
		switch at(b, i) {
		case ',':
			i = skipSpace(b, i+1)
		case '}':
			return i + 1
		default:
			return -1
		}
	}
	return -1
}
