package decide

import (
	"bytes"
	"encoding/json/jsontext"
	"fmt"
	"strings"

	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/policy"
)

const (
	maxName  = 256    // bytes of a session, a caller or an upstream
	maxTools = 10_000 // in one list
	maxShown = 120    // characters of a value in an error
)

// message is one line, decoded.
type message struct {
	op       string
	session  string
	caller   string
	upstream string
	subject  policy.Subject
	name     string // of the tool or prompt, or the resource's URI
	id       mcp.ID
	text     string
	approve  bool
	args     doc.Value
	result   doc.Value
	tools    []contract.Tool
	list     doc.Value // tools, as they came
}

// members are the names that a message may have, as bits.
type members uint16

const (
	hasOp members = 1 << iota
	hasSession
	hasCaller
	hasUpstream
	hasTool
	hasResource
	hasPrompt
	hasID
	hasText
	hasApprove
	hasArguments
	hasResult
	hasTools
)

var memberNames = map[string]members{
	"op": hasOp, "session": hasSession, "caller": hasCaller, "upstream": hasUpstream, "tool": hasTool, "resource": hasResource,
	"prompt": hasPrompt, "id": hasID, "text": hasText, "approve": hasApprove, "arguments": hasArguments, "result": hasResult, "tools": hasTools,
}

// target is what a call names: one of them.
const target = hasTool | hasResource | hasPrompt

// shapes are the members of each message.
var shapes = map[string]struct{ need, may members }{
	"tools":   {need: hasUpstream | hasTools},
	"session": {need: hasSession, may: hasCaller},
	"prompt":  {need: hasSession | hasText},
	"call":    {need: hasSession | hasID | hasUpstream, may: target | hasArguments},
	"result":  {need: hasSession | hasID | hasResult},
	"answer":  {need: hasSession | hasID | hasApprove},
	"end":     {need: hasSession},
}

// parse decodes one line strictly. The message holds what was understood before an
// error; the error is safe to print.
func parse(line []byte) (message, error) {
	var m message
	v, err := doc.Parse(line, doc.Limits{})
	if err != nil {
		return m, err
	}
	if v.Kind() != doc.Object {
		return m, fmt.Errorf("a message is an object, this is a %s", v.Kind())
	}
	var seen members
	var wrong error
	for f := range v.Members() {
		bit := memberNames[f.Name]
		if bit == 0 {
			wrong = first(wrong, fmt.Errorf("there is no member %s", quote.Value(f.Name, maxShown)))
			continue
		}
		seen |= bit
		wrong = first(wrong, m.set(bit, f))
	}
	return m, first(wrong, m.complete(seen))
}

func first(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// complete holds the members to the shape of the message, and to one target in a call.
func (m *message) complete(seen members) error {
	shape, ok := shapes[m.op]
	switch {
	case seen&hasOp == 0:
		return fmt.Errorf("op is missing")
	case !ok:
		return fmt.Errorf("there is no op %s", quote.Value(m.op, maxShown))
	}
	seen &^= hasOp
	if extra := seen &^ (shape.need | shape.may); extra != 0 {
		return fmt.Errorf("%s has no member %s", m.op, extra)
	}
	if missing := shape.need &^ seen; missing != 0 {
		return fmt.Errorf("%s needs %s", m.op, missing)
	}
	if t := seen & target; m.op == "call" && (t == 0 || t&(t-1) != 0) {
		return fmt.Errorf("call needs one of tool, resource and prompt")
	}
	return nil
}

// String names the first of them, in the order of the constants.
func (m members) String() string {
	for name, bit := range memberNames {
		if m&-m == bit {
			return name
		}
	}
	return ""
}

func (m *message) set(bit members, f doc.Member) error {
	switch bit {
	case hasOp:
		return text(&m.op, f, 0)
	case hasSession:
		return text(&m.session, f, maxName)
	case hasCaller:
		return text(&m.caller, f, maxName)
	case hasUpstream:
		return text(&m.upstream, f, maxName)
	case hasTool:
		m.subject = policy.Tool
		return text(&m.name, f, 0)
	case hasResource:
		m.subject = policy.Resource
		return text(&m.name, f, 0)
	case hasPrompt:
		m.subject = policy.Prompt
		return text(&m.name, f, 0)
	case hasText:
		return text(&m.text, f, 0)
	case hasID:
		var err error
		m.id, err = mcp.ParseID(f.Value.AppendJSON(nil))
		return err
	case hasApprove:
		m.approve = f.Value.Bool()
		return kind(f, doc.Bool)
	case hasArguments:
		if f.Value.Kind() != doc.Null {
			m.args = f.Value
			return kind(f, doc.Object)
		}
	case hasResult:
		m.result = f.Value
		return kind(f, doc.Object)
	case hasTools:
		return m.definitions(f)
	}
	return nil
}

// text reads a string; max bounds one that names something, in bytes: it has at least one.
func text(to *string, f doc.Member, max int) error {
	s := f.Value.String()
	switch {
	case f.Value.Kind() != doc.String:
		return kind(f, doc.String)
	case max > 0 && s == "":
		return fmt.Errorf("%s is empty", f.Name)
	case max > 0 && len(s) > max:
		return fmt.Errorf("%s is longer than %d bytes", f.Name, max)
	}
	*to = s
	return nil
}

func kind(f doc.Member, want doc.Kind) error {
	if got := f.Value.Kind(); got != want {
		article := "a"
		if want == doc.Object {
			article = "an"
		}
		return fmt.Errorf("%s has to be %s %s, this is %s", f.Name, article, want, got)
	}
	return nil
}

func (m *message) definitions(f doc.Member) error {
	m.list = f.Value
	if err := kind(f, doc.List); err != nil {
		return err
	}
	if n := f.Value.Len(); n > maxTools {
		return fmt.Errorf("tools lists %d tools; at most %d are read", n, maxTools)
	}
	for i, t := range f.Value.Elements() {
		name := t.Get("name")
		if name.Kind() != doc.String {
			return fmt.Errorf("tools[%d] has no name: it has to be a definition as tools/list has it", i)
		}
		m.tools = append(m.tools, contract.Tool{Name: name.String(), Definition: t})
	}
	return nil
}

// blank reports whether a line holds nothing but white space.
func blank(line []byte) bool { return len(bytes.Trim(line, " \t\r")) == 0 }

// skim reads what a refused line says of itself, as far as it can be read: without
// strictness, and up to the first place that is no JSON. The first of several members of
// one name counts.
func skim(line []byte) message {
	var m message
	d := jsontext.NewDecoder(bytes.NewReader(line), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return m
	}
	for d.PeekKind() == '"' {
		t, err := d.ReadToken()
		if err != nil {
			return m
		}
		name := t.String()
		if name != "op" && name != "session" && name != "id" {
			if d.SkipValue() != nil {
				return m
			}
			continue
		}
		raw, err := d.ReadValue()
		if err != nil {
			return m
		}
		switch s, _ := mcp.Str(raw); {
		case name == "op" && m.op == "":
			m.op = strings.Clone(s)
		case name == "session" && m.session == "" && len(s) <= maxName:
			m.session = strings.Clone(s)
		case name == "id" && m.id.IsZero():
			m.id, _ = mcp.ParseID(raw)
		}
	}
	return m
}
