package streamhttp

import (
	"encoding/json/jsontext"
	"net/http"
	"slices"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// checkHeaders compares the headers of a POST with its one message (2026-07-28, "Request
// Metadata" and "Server Validation") and says which version is in force if no session
// says so. Headers that are there are compared in every version: something on the way may
// have believed them.
func (h *Handler) checkHeaders(header http.Header, m mcp.Message) (version string, isStateless bool, no *refusal) {
	for _, name := range []string{headerVersion, headerMethod, headerName} {
		if len(header.Values(name)) > 1 {
			return "", false, bad(m.ID, CodeHeaderMismatch, "a header stands there more than once: "+name)
		}
	}
	version, isStateless, no = h.checkVersion(header, m)
	if no == nil {
		no = checkMirror(header, m, isStateless && m.Kind == mcp.Request)
	}
	return version, isStateless, no
}

// checkVersion finds out whether a message is stateless. What _meta says counts, and the
// header must say the same.
func (h *Handler) checkVersion(header http.Header, m mcp.Message) (version string, isStateless bool, no *refusal) {
	inMeta, present := metaVersion(m)
	inHeader := header.Get(headerVersion)
	switch {
	case present && inMeta == "":
		no = bad(m.ID, mcp.CodeInvalidParams, "_meta has a protocol version that is no text")
	case present && inHeader == "":
		no = bad(m.ID, CodeHeaderMismatch, "the header MCP-Protocol-Version is missing")
	case present && inHeader != inMeta:
		no = bad(m.ID, CodeHeaderMismatch, "the header MCP-Protocol-Version differs from _meta")
	case present && !(stateless(inMeta) && h.supported(inMeta)):
		no = h.unsupported(m.ID, inMeta)
	case present:
		return inMeta, true, nil
	case !stateless(inHeader):
		if inHeader != "" && !h.supported(inHeader) {
			no = bad(m.ID, mcp.CodeInvalidRequest, "this protocol version is not supported")
		}
	case !h.supported(inHeader):
		no = h.unsupported(m.ID, inHeader)
	case m.Kind == mcp.Request:
		no = bad(m.ID, mcp.CodeInvalidParams, "_meta has no protocol version")
	case m.Kind == mcp.Response:
		no = bad(mcp.ID{}, mcp.CodeInvalidRequest, "this protocol version has no responses of clients")
	default:
		return inHeader, true, nil
	}
	return "", false, no
}

// unsupported is UnsupportedProtocolVersionError (2026-07-28, versioning).
func (h *Handler) unsupported(id mcp.ID, requested string) *refusal {
	no := bad(id, CodeUnsupportedVersion, "Unsupported protocol version")
	no.data = append(no.data, `{"supported":[`...)
	for i, v := range h.opt.Versions {
		if i > 0 {
			no.data = append(no.data, ',')
		}
		no.data, _ = jsontext.AppendQuote(no.data, v)
	}
	no.data = append(no.data, `],"requested":`...)
	no.data, _ = jsontext.AppendQuote(no.data, requested[:min(len(requested), 64)])
	no.data = append(no.data, '}')
	return no
}

// checkMirror compares Mcp-Method and Mcp-Name with the body. needed says that they must
// be there.
func checkMirror(header http.Header, m mcp.Message, needed bool) *refusal {
	methods := header.Values(headerMethod)
	switch {
	case len(methods) == 0 && needed:
		return bad(m.ID, CodeHeaderMismatch, "the header Mcp-Method is missing")
	case len(methods) == 1 && methods[0] != m.Method:
		return bad(m.ID, CodeHeaderMismatch, "the header Mcp-Method differs from the body")
	}
	names := header.Values(headerName)
	_, hasName := nameSource[m.Method]
	if len(names) == 0 {
		if needed && hasName {
			return bad(m.ID, CodeHeaderMismatch, "the header Mcp-Name is missing")
		}
		return nil
	}
	got, ok := DecodeValue(names[0])
	if !ok || !slices.Contains(bodyNames(m), got) {
		return bad(m.ID, CodeHeaderMismatch, "the header Mcp-Name differs from the body")
	}
	return nil
}

// bodyNames returns what Mcp-Name may say of a message. Methods of which nothing is known
// may mirror any of the members that others do.
func bodyNames(m mcp.Message) []string {
	if name, needed, ok := bodyName(m); needed {
		if !ok {
			return nil
		}
		return []string{name}
	}
	found, err := mcp.Fields(m.Params, "name", "uri", "taskId")
	if err != nil {
		return nil
	}
	var names []string
	for _, raw := range found {
		if s, ok := mcp.Str(raw); ok {
			names = append(names, s)
		}
	}
	return names
}
