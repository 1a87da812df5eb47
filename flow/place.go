package flow

import (
	"bytes"
	"strings"
)

// maxPath bounds how much of a path tells places apart, in bytes.
const maxPath = 512

// placeKey is a host with the path behind it, both folded: what an output showed as a
// place of its own, whatever its scheme, port and query.
func placeKey(host string, path []byte) string { return string(appendPlaceKey(nil, host, path)) }

// appendPlaceKey appends a place key.
func appendPlaceKey(b []byte, host string, path []byte) []byte {
	if bytes.IndexByte(path, '%') >= 0 {
		if d, ok := percentDecode(nil, string(path)); ok {
			path = []byte(Fold(string(d)))
		}
	}
	b = append(b, host...)
	n := len(b)
	b = append(b, path...)
	for i := n; i < len(b); i++ {
		if b[i] == '\\' {
			b[i] = '/'
		}
	}
	return trimPlace(b, n)
}

// trimPlace drops what prose puts behind a link from the end of a place, of which the host
// ends at n.
func trimPlace(b []byte, n int) []byte {
	for len(b) > n && strings.IndexByte("/.,;:!?'*_~ ", b[len(b)-1]) >= 0 {
		b = b[:len(b)-1]
	}
	return b
}

// pathBehind reads the path of what follows a host in folded text, an optional port
// included; empty if there is none.
func pathBehind(rest []byte) []byte {
	i := 0
	if i < len(rest) && rest[i] == ':' {
		for i++; i < len(rest) && rest[i] >= '0' && rest[i] <= '9'; i++ {
		}
	}
	if i == len(rest) || rest[i] != '/' && rest[i] != '\\' {
		return nil
	}
	end := i
	for end < len(rest) && end-i < maxPath && chars[rest[end]]&chrPath != 0 {
		end++
	}
	return rest[i:end]
}
