package bridge

import (
	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// CodeMissingCapability is the error of 2026-07-28 for a request that does not declare what
// it needs.
const CodeMissingCapability = -32021

const (
	codeResourceNotFound = -32002 // to 2025-11-25
	codeURLElicitation   = -32042 // 2025-11-25
)

// Refusal says why something cannot be carried from one version to another, as the error
// that whoever sent it is to be answered with. Reason is fixed text: it quotes neither side.
type Refusal struct {
	Code   int
	Reason string
	Data   []byte // raw JSON, nil if there is none
}

// Error returns the reason.
func (r *Refusal) Error() string { return r.Reason }

// Answer is the refusal as the answer to the request with this id. Its text begins with
// mcp.Said.
func (r *Refusal) Answer(id mcp.ID) mcp.Message {
	m := built(mcp.ErrorResponse(id, r.Code, mcp.Said+r.Reason, r.Data))
	m.Own = true
	return m
}

func refuse(code int, reason string) *Refusal { return &Refusal{Code: code, Reason: reason} }

// missing refuses a request that does not declare the capability, a raw object.
func missing(reason, capability string) *Refusal {
	return &Refusal{CodeMissingCapability, reason, []byte(`{"requiredCapabilities":` + capability + `}`)}
}

// built reads a frame that this package wrote.
func built(frame []byte) mcp.Message {
	m, err := mcp.Parse(frame)
	if err != nil {
		// The parts are values that were judged; what is nested too deep together is refused.
		m, _ = mcp.Parse(mcp.ErrorResponse(mcp.ID{}, mcp.CodeInternal, mcp.Said+"the message cannot be carried: "+err.Reason, nil))
	}
	return m
}

// resultOf is the answer to id with a raw result.
func resultOf(id mcp.ID, result []byte) mcp.Message {
	b := make([]byte, 0, len(result)+len(id.Raw())+40)
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = append(b, id.Raw()...)
	b = append(b, `,"result":`...)
	b = append(b, result...)
	m, err := mcp.Parse(append(b, '}'))
	if err != nil {
		return refuse(mcp.CodeInternal, "the answer cannot be carried: "+err.Reason).Answer(id)
	}
	return m
}

// rawID is an id as a JSON value.
func rawID(id mcp.ID) []byte { return []byte(id.Raw()) }
