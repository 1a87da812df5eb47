package bridge

import (
	"errors"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// unnamed stands for whoever does not say who it is where the other era wants to know.
const unnamed = `{"name":"unknown","version":"unknown"}`

// InitializeParams returns the params of the initialize that a handshake server gets for a
// stateless client, from the _meta of the client's request, a raw object: the newest version
// that has a handshake, who the client is, and what it can do. Roots are left out,
// because they cannot be asked for between two requests, and so are extensions that have no
// place before 2026-07-28 (tasks).
func InitializeParams(meta []byte) []byte {
	info := at(meta, keyClientInfo)
	if !isObject(info) {
		info = []byte(unnamed)
	}
	return object(
		pair{"protocolVersion", quoted(mcp.V20251125)},
		pair{"capabilities", without(at(meta, keyCapabilities), []string{"roots"}, []string{"tasks"}, []string{"extensions", tasksExtension})},
		pair{"clientInfo", info},
	)
}

// DiscoverParams returns the params of the server/discover that a stateless server gets for
// a handshake client, from the raw params of the client's initialize. Its _meta is the one
// that every request of that client's gets.
func DiscoverParams(initializeParams []byte) []byte {
	version := negotiated(text(at(initializeParams, "protocolVersion")))
	return object(pair{"_meta", object(
		pair{keyVersion, quoted(mcp.V20260728)},
		pair{keyClientInfo, clientInfo(initializeParams)},
		pair{keyCapabilities, modernCapabilities(at(initializeParams, "capabilities"), version)},
	)})
}

func clientInfo(initializeParams []byte) []byte {
	if info := at(initializeParams, "clientInfo"); isObject(info) {
		return info
	}
	return []byte(unnamed)
}

// modernCapabilities are a handshake client's capabilities for a stateless server: without
// what that has no word for, and without what the client's own version had none for.
func modernCapabilities(capabilities []byte, version string) []byte {
	out := [][]string{{"roots", "listChanged"}, {"tasks"}, {"extensions", tasksExtension}}
	if version < mcp.V20250618 {
		out = append(out, []string{"elicitation"})
	} else if version < mcp.V20251125 {
		out = append(out, []string{"elicitation", "url"})
	}
	if version < mcp.V20251125 {
		out = append(out, []string{"sampling", "tools"}, []string{"sampling", "context"})
	}
	return without(capabilities, out...)
}

// without takes members out of a raw object. Where it cannot, it leaves out the outermost
// of them: a capability that nobody can read is none. What is no object becomes {}.
func without(raw []byte, paths ...[]string) []byte {
	if !isObject(raw) {
		return []byte("{}")
	}
	for _, path := range paths {
		out, err := mcp.RewriteObject(raw, mcp.Edit{Path: path})
		if err != nil {
			out, err = mcp.RewriteObject(raw, mcp.Edit{Path: path[:1]})
		}
		if err != nil {
			return []byte("{}")
		}
		raw = out
	}
	return raw
}

var errHello = errors.New("the server's answer cannot be read")

// initializeResult makes an initialize result of a server/discover result.
func initializeResult(discover []byte, version string) ([]byte, error) {
	if !isObject(discover) || !isObject(at(discover, "capabilities")) {
		return nil, errHello
	}
	info := at(discover, "_meta", keyServerInfo)
	if !isObject(info) {
		info = []byte(unnamed)
	}
	edits := []mcp.Edit{
		{Path: []string{"resultType"}},
		{Path: []string{"supportedVersions"}},
		{Path: []string{"ttlMs"}},
		{Path: []string{"cacheScope"}},
		{Path: []string{"protocolVersion"}, Value: quoted(version)},
		{Path: []string{"serverInfo"}, Value: info},
		{Path: []string{"capabilities"}, Value: without(at(discover, "capabilities"), []string{"tasks"}, []string{"extensions", tasksExtension})},
	}
	if at(discover, "_meta") != nil {
		edits = append(edits, mcp.Edit{Path: []string{"_meta", keyServerInfo}})
	}
	return mcp.RewriteObject(discover, edits...)
}

// discoverResult makes a server/discover result of an initialize result.
func discoverResult(initialize []byte) ([]byte, error) {
	if !isObject(initialize) || !isObject(at(initialize, "capabilities")) {
		return nil, errHello
	}
	info := at(initialize, "serverInfo")
	if !isObject(info) {
		info = []byte(unnamed)
	}
	return mcp.RewriteObject(initialize, append(cacheEdits(),
		mcp.Edit{Path: []string{"protocolVersion"}},
		mcp.Edit{Path: []string{"serverInfo"}},
		mcp.Edit{Path: []string{"resultType"}, Value: []byte(`"complete"`)},
		mcp.Edit{Path: []string{"supportedVersions"}, Value: list(quoted(mcp.V20260728))},
		mcp.Edit{Path: []string{"capabilities"}, Value: without(at(initialize, "capabilities"), []string{"tasks"}, []string{"extensions", tasksExtension})},
		mcp.Edit{Path: []string{"_meta", keyServerInfo}, Value: info},
	)...)
}

// cacheEdits say of a result that it may be kept for this caller only, and for no time:
// a handshake server does not say how long it holds.
func cacheEdits(path ...string) []mcp.Edit {
	return []mcp.Edit{
		{Path: append(path[:len(path):len(path)], "ttlMs"), Value: []byte("0")},
		{Path: append(path[:len(path):len(path)], "cacheScope"), Value: []byte(`"private"`)},
	}
}
