package mcp

import "bytes"

// Skim finds out what it can of a frame that is not decoded, because it is too large or
// broken, so that whoever waits for it gets an answer. It reads the frame in pieces, in
// constant memory, and looks only at brackets, strings and the names of the outermost
// object. The zero Skim is ready. Not safe for concurrent use.
type Skim struct {
	state skimState
	depth int
	kinds [(MaxDepth + 63) / 64]uint64 // one bit per level: set for a list

	token   []byte // the name, or the value of id, that is being read
	isID    bool   // the value that is being read is that of id
	tooLong bool   // token was cut

	id                      []byte
	idSeen                  bool // some id stands in the frame, legal or not
	idDoubt                 bool // several of them, or one that is no legal id
	method, result, failure bool
}

type skimState uint8

const (
	skimStart     skimState = iota
	skimFirst               // behind the opening bracket: a name or the closing one
	skimName                // behind a comma: a name
	skimInName              // inside a name
	skimEscName             // behind a backslash inside a name
	skimColon               // behind a name
	skimValue               // behind a colon
	skimScalar              // inside a number or literal
	skimString              // inside a string
	skimEscString           // behind a backslash inside a string
	skimNested              // inside a list or object
	skimInner               // inside a string inside that
	skimEscInner            // behind a backslash inside that
	skimAfter               // behind a value
	skimDone                // behind the object
	skimBroken              // not an object
)

// maxSkimName is enough for each name that matters with all letters escaped.
const maxSkimName = 64

// Feed reads the next piece of the frame. It keeps nothing of p.
func (s *Skim) Feed(p []byte) {
	for i := 0; i < len(p) && s.state != skimBroken; {
		switch s.state {
		case skimInName, skimString, skimInner:
			i += s.text(p[i:])
		case skimEscName, skimEscString, skimEscInner:
			s.keep(p[i : i+1])
			s.state-- // back into the string
			i++
		case skimScalar:
			i += s.scalar(p[i:])
		case skimNested:
			s.nested(p[i])
			i++
		default:
			s.outer(p[i])
			i++
		}
	}
}

// ID returns the id of the frame; the zero ID if there is none, if it is not legal, if
// there are several, or if the frame is not one whole object.
func (s *Skim) ID() ID {
	if s.state != skimDone || s.idDoubt {
		return ID{}
	}
	id, _ := ParseID(s.id)
	return id
}

// Kind returns what the frame was meant to be, 0 if that is not certain.
func (s *Skim) Kind() Kind {
	switch {
	case s.state != skimDone, s.method && (s.result || s.failure):
		return 0
	case s.method && s.idSeen:
		return Request
	case s.method:
		return Notification
	case s.result || s.failure:
		return Response
	}
	return 0
}

// HasMethod reports whether the outermost object has a member "method", as far as it was
// read.
func (s *Skim) HasMethod() bool { return s.method }

// text reads the inside of a string and returns how many bytes it took.
func (s *Skim) text(p []byte) int {
	n := 0
	for n < len(p) && p[n] != '"' && p[n] != '\\' {
		n++
	}
	s.keep(p[:n])
	if n == len(p) {
		return n
	}
	s.keep(p[n : n+1])
	if p[n] == '\\' {
		s.state++ // behind a backslash
		return n + 1
	}
	switch s.state {
	case skimInName:
		s.endName()
	case skimString:
		s.endValue()
	default:
		s.state = skimNested
	}
	return n + 1
}

// scalar reads the inside of a number or literal and returns how many bytes it took.
func (s *Skim) scalar(p []byte) int {
	n := 0
	for n < len(p) && !isSpace(p[n]) && p[n] != ',' && p[n] != '}' {
		n++
	}
	s.keep(p[:n])
	if n < len(p) {
		s.endValue()
	}
	return n
}

// nested reads one byte inside a list or object.
func (s *Skim) nested(c byte) {
	switch c {
	case '"':
		s.state = skimInner
	case '{', '[':
		s.open(c)
	case '}', ']':
		s.close(c)
	}
}

// outer reads one byte between the tokens of the outermost object.
func (s *Skim) outer(c byte) {
	if isSpace(c) {
		return
	}
	switch {
	case s.state == skimStart && c == '{':
		s.state = skimFirst
	case (s.state == skimFirst || s.state == skimName) && c == '"':
		s.state = skimInName
		s.token = append(s.token[:0], c)
		s.tooLong = false
	case (s.state == skimFirst || s.state == skimAfter) && c == '}':
		s.state = skimDone
	case s.state == skimAfter && c == ',':
		s.state = skimName
	case s.state == skimColon && c == ':':
		s.state = skimValue
	case s.state == skimValue:
		s.startValue(c)
	default:
		s.state = skimBroken
	}
}

func (s *Skim) startValue(c byte) {
	s.token = s.token[:0]
	s.tooLong = false
	switch c {
	case '"':
		s.state = skimString
		s.keep([]byte{c})
	case '{', '[':
		s.idDoubt = s.idDoubt || s.isID
		s.isID = false
		s.open(c)
	case ',', '}', ']', ':':
		s.state = skimBroken
	default:
		s.state = skimScalar
		s.keep([]byte{c})
	}
}

func (s *Skim) open(c byte) {
	if s.depth < MaxDepth {
		bit := uint64(1) << (s.depth % 64)
		s.kinds[s.depth/64] &^= bit
		if c == '[' {
			s.kinds[s.depth/64] |= bit
		}
	}
	s.depth++
	s.state = skimNested
}

// close closes a level. Beyond MaxDepth it does not know which bracket was opened.
func (s *Skim) close(c byte) {
	s.depth--
	if s.depth < MaxDepth {
		list := s.kinds[s.depth/64]>>(s.depth%64)&1 == 1
		if list != (c == ']') {
			s.state = skimBroken
			return
		}
	}
	if s.depth == 0 {
		s.state = skimAfter
	}
}

// keep appends p to the token, if that is a name or the value of id.
func (s *Skim) keep(p []byte) {
	limit := 0
	switch {
	case s.state == skimInName || s.state == skimEscName:
		limit = maxSkimName
	case s.isID:
		limit = MaxID
	default:
		return
	}
	if len(s.token)+len(p) > limit {
		s.tooLong = true
		return
	}
	s.token = append(s.token, p...)
}

func (s *Skim) endName() {
	s.state = skimColon
	s.isID = false
	if s.tooLong {
		return
	}
	name, ok := unquote(s.token)
	if !ok {
		return
	}
	switch string(name) {
	case "id":
		s.idDoubt = s.idDoubt || s.idSeen
		s.idSeen = true
		s.isID = true
	case "method":
		s.method = true
	case "result":
		s.result = true
	case "error":
		s.failure = true
	default:
		if bytes.EqualFold(name, []byte("id")) {
			s.idDoubt = true
		}
	}
}

func (s *Skim) endValue() {
	s.state = skimAfter
	if !s.isID {
		return
	}
	s.isID = false
	s.id = append([]byte(nil), s.token...)
	if _, err := ParseID(s.id); err != nil || s.tooLong {
		s.idDoubt = true
	}
}
