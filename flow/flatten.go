package flow

import (
	"strconv"
	"strings"

	"github.com/sallyport-dev/sallyport/doc"
)

// maxLevels bounds how deep lists, objects and JSON in strings are followed together.
const maxLevels = 600

// Flatten finds the destinations in v, the value of a declared sink at place: in
// lists, objects and the names of their members, strings that hold several
// ("a@x.example, B <b@y.example>", a mailto link), strings that are themselves JSON
// lists or objects, and URLs inside the path or query of others. Every scalar but ""
// and null yields at least one destination, so that a value that cannot be read is
// never lost. It never returns more than [MaxDestinations] and one.
//
// Text that is longer than a name yields the URLs, addresses, IP addresses and hosts
// under a known top-level domain that stand in it, and then itself: what is trusted in
// it never speaks for the whole. A parameter that is named as code (command, script,
// sql, argv) may hold line breaks, backslashes and up to 256 KiB; its text counts as
// seen only from five words on.
func Flatten(place string, v doc.Value) []Destination {
	f := flattener{sink: true}
	f.value(place, v, 0)
	return f.found
}

// FlattenAny is [Flatten] for an argument of which nobody said that it is a destination,
// in a call that may go where any argument says: text of several lines, or longer than a
// name, may be content as well, and is read as code is.
func FlattenAny(place string, v doc.Value) []Destination {
	f := flattener{sink: true, any: true}
	f.value(place, v, 0)
	return f.found
}

// Scan finds destinations in an argument that is not a declared sink: only values
// that are, as a whole, mail addresses, a URL on a network, a host under a top-level
// domain in use, or an IP address. Two-label names that end like a file of source
// code or documents (README.md, run.sh) are taken for files. A short value with a line
// break in it and a header field behind that which names a recipient is Malformed,
// unless the parameter is named as a body.
func Scan(place string, v doc.Value) []Destination {
	f := flattener{}
	f.value(place, v, 0)
	return f.found
}

// ScanText is [Scan] of a name or other text that is no value of its own.
func ScanText(place, s string) []Destination {
	f := flattener{}
	f.str(place, s, jsonLevels)
	return f.found
}

type flattener struct {
	sink  bool // a declared sink: everything is a destination
	any   bool // a sink that nobody declared
	full  bool
	found []Destination
}

func (f *flattener) add(ds ...Destination) {
	for _, d := range ds {
		if f.full {
			return
		}
		if len(f.found) == MaxDestinations {
			f.full = true
			d = Destination{Place: d.Place, Kind: Text, Malformed: "more destinations than one call may have", parts: parts{read: true}}
		}
		f.found = append(f.found, d)
	}
}

func (f *flattener) value(place string, v doc.Value, level int) {
	if f.full {
		return
	}
	if level > maxLevels {
		f.add(placed(place, []Destination{malformed("", Text, "nested too deep")})...)
		return
	}
	switch v.Kind() {
	case doc.String:
		f.str(place, v.String(), level)
	case doc.Number:
		f.scalar(place, v.Number())
	case doc.Bool:
		f.scalar(place, strconv.FormatBool(v.Bool()))
	case doc.List:
		for i, e := range v.Elements() {
			f.value(place+"["+strconv.Itoa(i)+"]", e, level+1)
		}
	case doc.Object:
		for m := range v.Members() {
			at := memberPlace(place, m.Name)
			names := flattener{}
			names.str(at, m.Name, jsonLevels)
			for _, d := range names.found {
				if f.sink || !dottedName(d) {
					f.add(d)
				}
			}
			f.value(at, m.Value, level+1)
		}
	}
}

// dottedName reports a name that is a host, or one with a path, by its letters only: labels
// and settings are named so (app.kubernetes.io/name). What output has shown is found in it
// as carried.
func dottedName(d Destination) bool {
	return d.Malformed == "" && (d.Kind == Host && !isIP(d.parts.host) && d.parts.port == "" ||
		d.Kind == URL && d.parts.scheme == "" && !strings.HasPrefix(d.Raw, "//"))
}

func (f *flattener) scalar(place, s string) {
	if f.sink {
		f.add(placed(place, []Destination{parseText(s)})...)
	}
}

// jsonLevels marks a string that is not tried as JSON.
const jsonLevels = maxLevels

func (f *flattener) str(place, s string, level int) {
	if s == "" {
		return
	}
	if level < jsonLevels && (len(s) <= MaxDestination || !f.sink && jsonList(s)) {
		if v, ok := jsonText(s); ok {
			if ds := f.inside(v, level); len(ds) > 0 || !f.sink {
				f.add(placed(place, ds)...)
				return
			}
		}
	}
	switch d, bad := injected(place, s); {
	case f.any && bad:
		f.add(placed(place, []Destination{d})...)
	case f.sink && (codeParam(place) || f.any && maybeContent(s)):
		f.add(placed(place, code(s))...)
	case f.sink:
		f.add(placed(place, parseList(s))...)
	case bad:
		f.add(placed(place, []Destination{d})...)
	case messageIDs(place, s):
	default:
		f.add(placed(place, wholly(s))...)
	}
}

// messageIDs reports the ids of mails that an answer names, RFC 5322 section 3.6.4: they
// have the form of addresses, and nothing is sent there.
func messageIDs(place, s string) bool {
	name := ""
	for w := range nameParts(lastName(place)) {
		name += w
	}
	if name != "inreplyto" && name != "references" && name != "messageid" {
		return false
	}
	for id := range strings.FieldsSeq(s) {
		if len(id) < 5 || id[0] != '<' || id[len(id)-1] != '>' || strings.ContainsAny(id[1:len(id)-1], "<>,;\"") || strings.Count(id, "@") != 1 {
			return false
		}
	}
	return true
}

// maybeContent reports text of several lines, or longer than a name.
func maybeContent(s string) bool {
	return strings.ContainsAny(s, "\r\n") || len(s) > MaxDestination || len(strings.Fields(s)) > nameWords && !strings.Contains(s, "@")
}

// jsonList reports long text that may be a JSON list. An object of that size is a
// document.
func jsonList(s string) bool {
	s = strings.TrimSpace(s)
	return s != "" && s[0] == '[' && len(s) <= maxJSONList
}

const maxJSONList = 1 << 20 // bytes

// inside flattens the JSON that a string holds.
func (f *flattener) inside(v doc.Value, level int) []Destination {
	g := flattener{sink: f.sink, any: f.any}
	g.value("", v, level+100) // at most six strings deep
	return g.found
}

// placed gives each destination of one string its place.
func placed(place string, ds []Destination) []Destination {
	for i := range ds {
		ds[i].Place = place
		if len(ds) > 1 {
			ds[i].Place += "#" + strconv.Itoa(i+1)
		}
	}
	return ds
}

func memberPlace(place, name string) string {
	if name != "" && len(name) <= 64 && strings.IndexFunc(name, func(r rune) bool {
		return !(r < 0x80 && (alnum(byte(r)) || r == '_' || r == '-'))
	}) < 0 {
		if place == "" {
			return name
		}
		return place + "." + name
	}
	return place + "[" + strconv.QuoteToASCII(name) + "]"
}

// parseList reads a sink's string: one destination or several. It never returns none.
func parseList(s string) []Destination {
	s = trimSpace(s)
	if len(s) > MaxDestination {
		return []Destination{malformed(s, guessKind(s), "too long")}
	}
	if scheme, rest := cutScheme(s); scheme == "mailto" {
		return mailto(s, rest)
	}
	if why := hostileText(s); why != "" {
		return []Destination{malformed(s, guessKind(s), why)}
	}
	pieces := splitList(s)
	if d := parseOne(s); len(pieces) < 2 && len(strings.Fields(s)) < 2 || d.Malformed == "" && d.Kind != Text {
		return append(withHidden(d), laterPieces(d, pieces)...)
	}
	if all := eachOf(strings.Fields(s), Email); len(pieces) < 2 && len(all) > 1 {
		return all
	}
	if len(pieces) < 2 || !anyAddressed(pieces) {
		d := parseOne(s)
		if d.Kind == Text && d.Malformed == "" && (len(strings.Fields(s)) > nameWords || strings.Contains(s, "://")) {
			return append(inText(s, false), d)
		}
		return withHidden(d)
	}
	var ds []Destination
	for _, p := range pieces {
		if scheme, rest := cutScheme(p); scheme == "mailto" {
			ds = append(ds, mailto(p, rest)...)
			continue
		}
		ds = append(ds, withHidden(parseOne(p))...)
	}
	return append(ds, commaForDot(s, pieces)...)
}

// commaForDot reads eve@attacker,example as the address that it is meant for as well.
func commaForDot(s string, pieces []string) (ds []Destination) {
	for i := range len(pieces) - 1 {
		if !strings.Contains(s, pieces[i]+","+pieces[i+1]) {
			continue
		}
		a, b := parseOne(pieces[i]), parseOne(pieces[i+1])
		if a.Kind != Email || b.Kind != Text || strings.ContainsAny(pieces[i+1], " @") {
			continue
		}
		if d := parseOne(pieces[i] + "." + pieces[i+1]); d.Kind == Email && d.Malformed == "" && strings.IndexByte(a.parts.host, '.') < 0 {
			ds = append(ds, d)
		}
	}
	return ds
}

// laterPieces returns what follows a comma or semicolon inside a URL, if it could be
// another destination to a tool that splits there.
func laterPieces(d Destination, pieces []string) []Destination {
	var ds []Destination
	if d.Kind != URL || len(pieces) < 2 {
		return nil
	}
	for _, p := range pieces[1:] {
		ds = append(ds, wholly(p)...)
	}
	return ds
}

// withHidden adds the destinations that one destination carries: URLs in a URL, an
// address as the display name of another.
func withHidden(d Destination) []Destination {
	ds := []Destination{d}
	if d.Malformed != "" {
		return ds
	}
	switch d.Kind {
	case URL:
		inner := nested(d)
		if len(inner) > maxNested {
			return append(ds, malformed(d.Raw, URL, "too many URLs in a URL"))
		}
		for _, u := range inner {
			if n := parseOne(u); n.Kind == URL && (n.Malformed != "" || n.parts.host != d.parts.host) {
				ds = append(ds, n)
			}
		}
	case Email:
		if name, ok := displayAddress(d.Raw); ok {
			n := parseOne(name)
			if n.Kind != Email {
				n = malformed(name, Email, "an address in a display name that cannot be read")
			}
			if n.Malformed != "" || n.Canonical != d.Canonical {
				ds = append(ds, n)
			}
		}
	}
	return ds
}

func anyAddressed(pieces []string) bool {
	for _, p := range pieces {
		if strings.IndexByte(p, '@') >= 0 {
			return true
		}
		if d := parseOne(p); d.Kind != Text {
			return true
		}
	}
	return false
}

// eachOf parses pieces that must all be of one kind; none if one is not.
func eachOf(pieces []string, k DestKind) []Destination {
	ds := make([]Destination, 0, len(pieces))
	for _, p := range pieces {
		d := parseOne(p)
		if d.Kind != k || d.Malformed != "" {
			return nil
		}
		ds = append(ds, d)
	}
	return ds
}

// splitList cuts at commas and semicolons outside quotes and angle brackets. Empty
// pieces are dropped.
func splitList(s string) []string {
	var pieces []string
	quoted, angle, start := false, false, 0
	cut := func(end int) {
		if p := trimSpace(s[start:end]); p != "" {
			pieces = append(pieces, p)
		}
		start = end + 1
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '<':
			angle = true
		case c == '>':
			angle = false
		case (c == ',' || c == ';') && !angle:
			cut(i)
		}
	}
	cut(len(s))
	return pieces
}
