package mcp

import "bytes"

// ReservedPrefix is removed from _meta members of whatever an upstream sends.
const ReservedPrefix = "io.sallyport/"

// StripReserved returns m with every member of an object named _meta, at any depth, whose
// decoded name starts with ReservedPrefix cut out of the original bytes; m itself when
// there are none, the common case, without allocating. "_meta" is matched without regard
// to case, because some readers do.
func StripReserved(m Message) Message {
	// No name can decode to one that begins with the prefix unless the letters stand in
	// the frame as they are, or some of them as \u00XX.
	if !bytes.Contains(m.Raw, []byte("io.sallyport")) && !bytes.Contains(m.Raw, []byte(`\u00`)) {
		return m
	}
	c := cutter{src: m.Raw}
	c.value(0, false)
	if c.out == nil {
		return m
	}
	c.out = append(c.out, c.src[c.done:]...)
	e := envelope{raw: c.out}
	stripped, _ := e.decode()
	stripped.Own = m.Own
	return stripped
}

// cutter copies src to out without the members that are cut. out is nil until the first.
type cutter struct {
	src, out []byte
	done     int // src up to here was copied or cut
}

// value reads the value at src[i] and returns the index behind it. inMeta says that it
// is the value of a member named _meta.
func (c *cutter) value(i int, inMeta bool) int {
	switch at(c.src, i) {
	case '{':
		return walk(c.src, i, func(rawName []byte, i int) int {
			name := unquoteName(rawName)
			if inMeta && bytes.HasPrefix(name, []byte(ReservedPrefix)) {
				return c.cut(rawName, i)
			}
			return c.value(i, bytes.EqualFold(name, []byte("_meta")))
		})
	case '[':
		return c.list(i)
	}
	return skipValue(c.src, i)
}

func (c *cutter) list(i int) int {
	i = skipSpace(c.src, i+1)
	if at(c.src, i) == ']' {
		return i + 1
	}
	for {
		if i = c.value(i, false); i < 0 {
			return -1
		}
		i = skipSpace(c.src, i)
		switch at(c.src, i) {
		case ',':
			i = skipSpace(c.src, i+1)
		case ']':
			return i + 1
		default:
			return -1
		}
	}
}

// cut leaves out the member whose value starts at src[i], with one comma, and returns the
// index behind the value.
func (c *cutter) cut(rawName []byte, i int) int {
	end := skipValue(c.src, i)
	if end < 0 {
		return -1
	}
	start := i
	for c.src[start-1] != '"' { // over the colon and white space
		start--
	}
	start -= len(rawName)
	if c.out == nil {
		c.out = make([]byte, 0, len(c.src))
	}
	c.out = append(c.out, c.src[c.done:start]...)
	c.done = end
	if next := skipSpace(c.src, end); at(c.src, next) == ',' {
		c.done = next + 1
		return end
	}
	// The last member: the comma to go is the one before it, if any member is left.
	c.out = trimSpace(c.out)
	c.out = bytes.TrimSuffix(c.out, []byte{','})
	return end
}
