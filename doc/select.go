package doc

// DefaultMatches is the bound of [Selector.Select] when none is given.
const DefaultMatches = 10_000

// longName is the length in bytes above which a place names a member by its
// position, so that places stay short whatever the document is.
const longName = 64

// Match is one value that a selector found, and where it stands, for example
// items[2].id. A place always parses as a [Selector] that finds the same value.
// Names in it are the document's own words: escape it before showing it.
type Match struct {
	Place string
	Value Value
}

// Select returns what s finds in root, in document order, at most limit matches
// (limit <= 0: [DefaultMatches]); more is set when there were more. A path that finds
// nothing returns none.
func (s Selector) Select(root Value, limit int) (found []Match, more bool) {
	if limit <= 0 {
		limit = DefaultMatches
	}
	if s.plain || len(s.steps) == 0 {
		v := root
		for _, st := range s.steps {
			v = st.child(v)
		}
		if v.kind == Absent {
			return nil, false
		}
		return []Match{{Place: s.text, Value: v}}, false
	}
	f := finder{limit: limit}
	f.find(s.steps, root)
	return f.found, f.more
}

// Gaps returns the values in root at which s wants to go on to an element or a member
// and there is none. Limit and more are as in Select.
func (s Selector) Gaps(root Value, limit int) (found []Match, more bool) {
	return s.gaps(root, limit, allGaps)
}

// Blocked returns those of the gaps that are strings: text that another reader may take
// apart.
func (s Selector) Blocked(root Value, limit int) (found []Match, more bool) {
	return s.gaps(root, limit, textGaps)
}

func (s Selector) gaps(root Value, limit int, want gapKind) (found []Match, more bool) {
	if limit <= 0 {
		limit = DefaultMatches
	}
	f := finder{limit: limit, gaps: want}
	f.find(s.steps, root)
	return f.found, f.more
}

// child returns what a step that is not [*] finds.
func (s step) child(v Value) Value {
	switch s.kind {
	case stepIndex:
		return v.At(s.index)
	case stepPosition:
		if v.kind == Object && s.index < v.Len() {
			return v.kids.members[s.index].Value
		}
		return v.At(s.index)
	default:
		return v.Get(s.name)
	}
}

type finder struct {
	path  path
	limit int
	gaps  gapKind // what to look for instead of values
	found []Match
	more  bool
}

type gapKind uint8

const (
	noGaps gapKind = iota
	allGaps
	textGaps
)

func (f *finder) find(steps []step, v Value) {
	if f.more || v.kind == Absent {
		return
	}
	if len(steps) == 0 {
		if f.gaps == noGaps {
			f.add(v)
		}
		return
	}
	if f.gaps != noGaps && !steps[0].leads(v) {
		if f.gaps == allGaps || v.kind == String {
			f.add(v)
		}
		return
	}
	if steps[0].kind == stepAll {
		for i := range v.Len() {
			if f.more {
				return
			}
			f.descend(steps[1:], v, i)
		}
		return
	}
	if i, ok := steps[0].position(v); ok {
		f.descend(steps[1:], v, i)
	}
}

func (f *finder) add(v Value) {
	if len(f.found) == f.limit {
		f.more = true
		return
	}
	f.found = append(f.found, Match{Place: f.path.String(), Value: v})
}

// leads reports that a step can go on from v, though an empty list leads to nothing.
func (s step) leads(v Value) bool {
	if s.kind == stepAll {
		return v.kind == List || v.kind == Object
	}
	_, ok := s.position(v)
	return ok
}

func (f *finder) descend(steps []step, v Value, i int) {
	var child Value
	if v.kind == Object {
		child = v.kids.members[i].Value
	} else {
		child = v.kids.list[i]
	}
	f.path = append(f.path, hop{v, i})
	f.find(steps, child)
	f.path = f.path[:len(f.path)-1]
}

// position returns where in v the step leads.
func (s step) position(v Value) (int, bool) {
	switch s.kind {
	case stepName:
		if v.kind != Object || v.kids == nil {
			return 0, false
		}
		for i := range v.kids.members {
			if v.kids.members[i].Name == s.name {
				return i, true
			}
		}
		return 0, false
	case stepIndex:
		if v.kind != List {
			return 0, false
		}
		i := s.index
		if i < 0 {
			i += v.Len()
		}
		return i, i >= 0 && i < v.Len()
	default:
		return s.index, s.index < v.Len()
	}
}

// path is the way from the root to a value: each hop goes from a list or object to
// its element or member at a position.
type path []hop

type hop struct {
	from     Value
	position int
}

// String writes the place. The document's depth and longName bound its length.
func (p path) String() string {
	var b []byte
	for _, h := range p {
		if h.from.kind == List {
			b = step{kind: stepIndex, index: h.position}.append(b)
			continue
		}
		name := h.from.kids.members[h.position].Name
		if len(name) > longName {
			b = step{kind: stepPosition, index: h.position}.append(b)
		} else {
			b = appendName(b, name)
		}
	}
	return string(b)
}

// Walk calls visit for every string, number and bool in v, and for the name of
// every object member (isName true, the name as a string), in document order. It
// stops when visit returns false. place gives the place of the value, for a name that
// of the member; it is built only when called, and only valid during visit.
func Walk(v Value, visit func(scalar Value, isName bool, place func() string) bool) {
	w := &walker{visit: visit}
	w.place = func() string { return w.path.String() }
	w.walk(v)
}

type walker struct {
	path  path
	visit func(Value, bool, func() string) bool
	place func() string
}

func (w *walker) walk(v Value) bool {
	switch v.kind {
	case Bool, Number, String:
		return w.visit(v, false, w.place)
	case List, Object:
		if v.kids == nil {
			return true
		}
	default:
		return true
	}
	w.path = append(w.path, hop{from: v})
	here := len(w.path) - 1
	for i, e := range v.kids.list {
		w.path[here].position = i
		if !w.walk(e) {
			return false
		}
	}
	for i, m := range v.kids.members {
		w.path[here].position = i
		if !w.visit(Value{kind: String, str: m.Name}, true, w.place) || !w.walk(m.Value) {
			return false
		}
	}
	w.path = w.path[:here]
	return true
}
