package relay

import (
	"bytes"
	"strings"

	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// readsMeta takes from the _meta of a request what is needed of every one, before others can
// see the call.
func (c *call) readsMeta(m mcp.Message) {
	f, err := mcp.Fields(m.Params, "_meta")
	if err != nil || f[0] == nil {
		return
	}
	c.meta = f[0]
	if f, err = mcp.Fields(c.meta, "traceparent", "progressToken"); err != nil {
		return
	}
	c.trace = traceOf(f[0])
	if _, err := mcp.ParseID(f[1]); err == nil {
		c.token = bytes.Clone(f[1])
	}
}

// readsClient takes from a stateless request what asking its client needs.
func (c *call) readsClient() {
	f, err := mcp.Fields(c.meta, metaCapabilities, "io.modelcontextprotocol/clientInfo")
	if err != nil || f[0] == nil {
		return
	}
	c.client = clientName(f[1])
	if v, err := doc.Parse(f[0], doc.Limits{}); err == nil {
		c.elicits = elicitsForms(v)
	}
}

// clientName reads the name in a clientInfo; "" if there is none.
func clientName(info []byte) string {
	f, err := mcp.Fields(info, "name")
	if err != nil {
		return ""
	}
	name, _ := mcp.Str(f[0])
	return name[:min(len(name), 256)]
}

// traceOf is the trace that a request belongs to, from its traceparent as W3C Trace Context
// has it. "" if there is none, or if it is malformed.
func traceOf(parent []byte) string {
	const version, id, rest = 3, 32, len("-0123456789abcdef-01")
	s, ok := mcp.Str(parent)
	if !ok || len(s) < version+id+rest || s[2] != '-' || s[version+id] != '-' {
		return ""
	}
	trace := s[version : version+id]
	if strings.Trim(trace, "0123456789abcdef") != "" || strings.Trim(trace, "0") == "" {
		return ""
	}
	return trace
}

// early reports that progress is about a call that the server does not have yet, because its
// list is awaited, a write before it, or a person: whatever is said there is not of that call.
func (r *Relay) early(progress mcp.Message) bool {
	f, err := mcp.Fields(progress.Params, "progressToken")
	if err != nil {
		return false
	}
	token, err := mcp.ParseID(f[0])
	if err != nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting == 0 {
		return false
	}
	for _, c := range r.calls {
		if c.forwarded || c.token == nil {
			continue
		}
		if own, err := mcp.ParseID(c.token); err == nil && own.Key() == token.Key() {
			return true
		}
	}
	return false
}
