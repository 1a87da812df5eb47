package mcp

import (
	"bytes"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io"
	"sync"
	"unicode/utf8"

	"github.com/sallyport-dev/sallyport/internal/quote"
)

// Parse decodes one frame strictly: one JSON object, valid UTF-8, no duplicate member
// names at any depth, no names in envelope, params or params.arguments that are equal
// but for case, none in envelope or params that is one of the protocol's but for case,
// "jsonrpc":"2.0", exactly one of method, result and error, a legal id, params an object
// (JSON-RPC 2.0, sections 4 and 5; MCP, basic protocol, messages). A batch is a
// ParseError whose Reason says so. Unknown envelope members are allowed.
//
// It allocates little and builds no tree. The Message aliases frame.
func Parse(frame []byte) (Message, *ParseError) {
	raw := trimSpace(frame)
	if code, reason := judge(raw); code != 0 {
		return Message{}, refuse(raw, code, reason)
	}
	e := envelope{raw: raw}
	m, reason := e.decode()
	if reason != "" {
		bad := refuse(raw, CodeInvalidRequest, reason)
		bad.Name = e.reasonName
		return Message{}, bad
	}
	return m, nil
}

// refuse finds out whom a frame that is no message should be answered to.
func refuse(raw []byte, code int, reason string) *ParseError {
	var s Skim
	s.Feed(raw)
	return &ParseError{Code: code, ID: s.ID(), Reason: reason, Kind: s.Kind()}
}

// judge reports why raw is not a single, unambiguous JSON object. A code of 0 means
// that it is one.
func judge(raw []byte) (code int, reason string) {
	switch {
	case len(raw) == 0:
		return CodeParse, "empty frame"
	case raw[0] == '[':
		return CodeInvalidRequest, "a batch is not accepted here"
	case bytes.HasPrefix(raw, []byte("\xef\xbb\xbf")):
		return CodeParse, "not JSON: it starts with a byte order mark"
	}
	if reason := oversized(raw); reason != "" {
		return CodeInvalidRequest, reason
	}
	if err := validate(raw); err != nil {
		return explain(raw, err)
	}
	if raw[0] != '{' {
		return CodeInvalidRequest, "not a JSON object"
	}
	return 0, ""
}

// decoders are used again because a jsontext.Decoder has large buffers of its own.
var decoders = sync.Pool{New: func() any { return newValidator() }}

func newValidator() *validator {
	v := new(validator)
	v.dec = jsontext.NewDecoder(&v.buf)
	return v
}

type validator struct {
	dec *jsontext.Decoder
	buf bytes.Buffer
}

// keepBelow is the frame size up to which a validator is used again. One that read a
// huge frame may hold large tables.
const keepBelow = 1 << 20

// validate reads raw as exactly one JSON value (RFC 8259, and RFC 7493 for UTF-8 and
// unique names).
func validate(raw []byte) error {
	v := decoders.Get().(*validator)
	err := v.validate(raw)
	if len(raw) < keepBelow {
		decoders.Put(v)
	}
	return err
}

func (v *validator) validate(raw []byte) error {
	v.buf = *bytes.NewBuffer(raw) // jsontext reads a bytes.Buffer in place
	v.dec.Reset(&v.buf)
	_, err := v.dec.ReadValue()
	if err == nil && v.dec.InputOffset() != int64(len(raw)) {
		err = errTrailing
	}
	v.buf = bytes.Buffer{}
	v.dec.Reset(&v.buf) // lets go of the frame
	return err
}

var errTrailing = errors.New("data after the end of the value")

// explain turns an error of validate into a code and a reason.
func explain(raw []byte, err error) (code int, reason string) {
	var syntax *jsontext.SyntacticError
	errors.As(err, &syntax)
	switch {
	case errors.Is(err, errTrailing):
		return CodeParse, "not JSON: " + errTrailing.Error()
	case errors.Is(err, jsontext.ErrDuplicateName):
		return CodeInvalidRequest, "a member name stands twice in one object" + where(syntax)
	case !utf8.Valid(raw):
		return CodeParse, "not valid UTF-8"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return CodeParse, "not JSON: it ends too early"
	}
	return CodeParse, "not JSON" + where(syntax)
}

func where(err *jsontext.SyntacticError) string {
	if err == nil {
		return ""
	}
	return fmt.Sprintf(" (near byte %d)", err.ByteOffset)
}

// decode reads the envelope of a valid JSON object. A reason that is not empty says why
// it is no message.
func (e *envelope) decode() (m Message, reason string) {
	if end := walk(e.raw, 0, e.member); end < 0 {
		if e.reason == "" {
			e.reason = "not a JSON object"
		}
		return Message{}, e.reason
	}
	return e.message()
}

// envelope collects the members of a frame.
type envelope struct {
	raw                                       []byte
	jsonrpc, id, method, params, result, fail []byte
	names                                     nameSet
	extra                                     bool
	reason, reasonName                        string
}

// member takes one member of the envelope; see walk.
func (e *envelope) member(rawName []byte, i int) int {
	name := unquoteName(rawName)
	end := -1
	if string(name) == "params" {
		end = e.walkParams(i)
	} else {
		end = skipValue(e.raw, i)
	}
	if end < 0 {
		return -1
	}
	value := e.raw[i:end]
	switch string(name) {
	case "jsonrpc":
		e.jsonrpc = value
	case "id":
		e.id = value
	case "method":
		e.method = value
	case "params":
		e.params = value
	case "result":
		e.result = value
	case "error":
		e.fail = value
	default:
		if isVariant(name, envelopeNames) {
			return e.stop("the envelope has a member that is one of the protocol's but for case", name)
		}
		e.extra = true
	}
	if e.names.add(name) {
		return e.stop("the envelope has names that are equal but for case", name)
	}
	return end
}

func (e *envelope) walkParams(i int) int {
	if at(e.raw, i) != '{' {
		return e.stop("params is not an object", nil)
	}
	var names nameSet
	return walk(e.raw, i, func(rawName []byte, i int) int {
		name := unquoteName(rawName)
		if names.add(name) {
			return e.stop("params has names that are equal but for case", name)
		}
		if isVariant(name, paramNames) {
			return e.stop("params has a member that is one of the protocol's but for case", name)
		}
		if string(name) == "arguments" && at(e.raw, i) == '{' {
			return e.walkArguments(i)
		}
		return skipValue(e.raw, i)
	})
}

func (e *envelope) walkArguments(i int) int {
	var names nameSet
	return walk(e.raw, i, func(rawName []byte, i int) int {
		if name := unquoteName(rawName); names.add(name) {
			return e.stop("arguments has names that are equal but for case", name)
		}
		return skipValue(e.raw, i)
	})
}

// stop ends the walk with a reason and, if name is not nil, a name.
func (e *envelope) stop(reason string, name []byte) int {
	if e.reason == "" {
		e.reason = reason
		if name != nil {
			e.reasonName = quote.Value(string(name[:min(len(name), 4*maxShown)]), maxShown)
		}
	}
	return -1
}

// message puts the members together.
func (e *envelope) message() (m Message, reason string) {
	if v, _ := unquote(e.jsonrpc); string(v) != "2.0" {
		return Message{}, `"jsonrpc" must be "2.0"`
	}
	m = Message{Raw: e.raw, Params: e.params, Result: e.result, Error: e.fail, Extra: e.extra}
	switch {
	case e.method != nil && (e.result != nil || e.fail != nil):
		return Message{}, "both a method and a result or error"
	case e.result != nil && e.fail != nil:
		return Message{}, "both a result and an error"
	case e.method != nil:
		return e.call(m)
	case e.result == nil && e.fail == nil:
		return Message{}, "none of method, result and error"
	}
	return e.response(m)
}

func (e *envelope) call(m Message) (Message, string) {
	method, ok := unquote(e.method)
	if !ok {
		return Message{}, "method is not a string"
	}
	m.Method = methodName(method)
	if e.id == nil {
		m.Kind = Notification
		return m, ""
	}
	m.Kind = Request
	var err error
	if m.ID, err = ParseID(e.id); err != nil {
		return Message{}, err.Error()
	}
	return m, ""
}

func (e *envelope) response(m Message) (Message, string) {
	m.Kind = Response
	if e.params != nil {
		return Message{}, "a response with params"
	}
	if e.fail != nil && e.fail[0] != '{' {
		return Message{}, "error is not an object"
	}
	if e.fail != nil && (e.id == nil || string(e.id) == "null") {
		return m, "" // the answer to a request that could not be read
	}
	if e.id == nil {
		return Message{}, "a result without an id"
	}
	var err error
	if m.ID, err = ParseID(e.id); err != nil {
		return Message{}, err.Error()
	}
	return m, ""
}
