package mcp

// Kind of a message.
type Kind uint8

// The kinds of message. The zero Kind is none of them.
const (
	Request      Kind = iota + 1
	Notification      // a method without an id
	Response          // a result or an error
)

// String returns the kind in lower case, or "message" for none.
func (k Kind) String() string {
	switch k {
	case Request:
		return "request"
	case Notification:
		return "notification"
	case Response:
		return "response"
	}
	return "message"
}

// MaxDepth is how deep lists and objects may nest in a frame, the envelope included.
// Deeper is refused.
const MaxDepth = 500

// MaxNames is how many members one object in a frame may have. More are refused: finding
// duplicates among them takes memory, some 200 bytes for each.
const MaxNames = 1 << 18

// Error codes of JSON-RPC 2.0, section 5.1, and of this program.
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
	CodeRefused        = -31403 // a policy or flow refusal of a method that has no result of its own for it
)

// Message is one decoded envelope. The byte slices alias the frame it was parsed from:
// whoever keeps the Message keeps the frame unchanged.
type Message struct {
	Raw    []byte // the whole frame, without line end, leading and trailing white space
	Kind   Kind
	ID     ID     // zero for notifications, and for error responses to a request that nobody could read
	Method string // decoded; "" for responses
	Params []byte // raw object, nil if absent
	Result []byte // raw value, nil if absent
	Error  []byte // raw object, nil if absent
	Extra  bool   // the envelope has members besides those above, in Raw only
	Own    bool   // this program built it in the place of one that a server sends: its words are no server's
}

// ParseError is why a frame is no message. It is safe to print and to send.
type ParseError struct {
	Code   int    // CodeParse or CodeInvalidRequest
	ID     ID     // the frame's id when one could be read without doubt
	Reason string // bounded, one printable line; quotes nothing from the frame
	Name   string // the member that Reason is about, "" if none: text from the frame, short, quoted and escaped
	Kind   Kind   // Request, Notification or Response if that much is certain, else 0
}

// Error returns the reason and the name.
func (e *ParseError) Error() string {
	if e.Name != "" {
		return e.Reason + ": " + e.Name
	}
	return e.Reason
}
