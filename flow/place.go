package flow

import "strings"

// maxPath bounds how much of a path tells places apart, in bytes.
const maxPath = 512

// placeKey is a host with the path behind it, both folded: what an output showed as a
// place of its own, whatever its scheme, port and query.
func placeKey(host, path string) string {
	if strings.IndexByte(path, '%') >= 0 {
		if d, ok := percentDecode(nil, path); ok {
			path = Fold(string(d))
		}
	}
	path = strings.ReplaceAll(path, `\`, "/")
	return host + strings.TrimRight(path, "/.,;:!?'*_~ ")
}

// pathBehind reads the path of what follows a host in folded text, an optional port
// included; "" if there is none.
func pathBehind(rest []byte) string {
	i := 0
	if i < len(rest) && rest[i] == ':' {
		for i++; i < len(rest) && rest[i] >= '0' && rest[i] <= '9'; i++ {
		}
	}
	if i == len(rest) || rest[i] != '/' && rest[i] != '\\' {
		return ""
	}
	end := i
	for end < len(rest) && end-i < maxPath && rest[end] > ' ' && strings.IndexByte("?#\"<>()[]{}|^`", rest[end]) < 0 {
		end++
	}
	return string(rest[i:end])
}
