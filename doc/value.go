package doc

import "iter"

// Kind is the JSON type of a [Value]. The zero Kind is [Absent].
type Kind uint8

// The kinds of a value.
const (
	Absent Kind = iota // no value at all: not null
	Null
	Bool
	Number
	String
	List
	Object
)

// String names the kind in the words of JSON, for messages.
func (k Kind) String() string {
	switch k {
	case Null:
		return "null"
	case Bool:
		return "boolean"
	case Number:
		return "number"
	case String:
		return "string"
	case List:
		return "list"
	case Object:
		return "object"
	default:
		return "absent"
	}
}

// Value is one JSON value. The zero Value is absent. Values are immutable and
// safe for concurrent use; copying one is cheap.
type Value struct {
	str  string // decoded string, or a number's literal
	kids *kids  // nil for scalars and for empty lists and objects
	kind Kind
	flag bool
}

// kids holds what a list or an object contains; one of the two slices is used.
// They are never changed once a Value points here.
type kids struct {
	list    []Value
	members []Member
}

// Member is one name and value of an object, in the order of the source.
type Member struct {
	Name  string
	Value Value
}

// Kind returns the value's JSON type, [Absent] if there is no value.
func (v Value) Kind() Kind { return v.kind }

// Bool returns the boolean, false unless the kind is [Bool].
func (v Value) Bool() bool { return v.flag }

// String returns the decoded string, "" unless the kind is [String].
func (v Value) String() string {
	if v.kind != String {
		return ""
	}
	return v.str
}

// Number returns the number's literal as it was written, "" unless the kind is
// [Number].
func (v Value) Number() string {
	if v.kind != Number {
		return ""
	}
	return v.str
}

// Len returns the count of elements or members, 0 for scalars.
func (v Value) Len() int {
	if v.kids == nil {
		return 0
	}
	return len(v.kids.list) + len(v.kids.members)
}

// At returns a list's element; a negative index counts from the end. The result
// is absent if i is out of range or v is no list.
func (v Value) At(i int) Value {
	if v.kind != List || v.kids == nil {
		return Value{}
	}
	if i < 0 {
		i += len(v.kids.list)
	}
	if i < 0 || i >= len(v.kids.list) {
		return Value{}
	}
	return v.kids.list[i]
}

// Get returns an object's member, absent if there is none of that name. Names
// compare byte for byte. It takes time linear in the count of members.
func (v Value) Get(name string) Value {
	if v.kind != Object || v.kids == nil {
		return Value{}
	}
	for i := range v.kids.members {
		if v.kids.members[i].Name == name {
			return v.kids.members[i].Value
		}
	}
	return Value{}
}

// Elements iterates over a list in order; over nothing if v is no list.
func (v Value) Elements() iter.Seq2[int, Value] {
	return func(yield func(int, Value) bool) {
		if v.kids == nil {
			return
		}
		for i, e := range v.kids.list {
			if !yield(i, e) {
				return
			}
		}
	}
}

// Members iterates over an object in the order of the source; over nothing if v
// is no object.
func (v Value) Members() iter.Seq[Member] {
	return func(yield func(Member) bool) {
		if v.kids == nil {
			return
		}
		for i := range v.kids.members {
			if !yield(v.kids.members[i]) {
				return
			}
		}
	}
}

func listOf(elements []Value) Value {
	if len(elements) == 0 {
		return Value{kind: List}
	}
	return Value{kind: List, kids: &kids{list: elements}}
}

func objectOf(members []Member) Value {
	if len(members) == 0 {
		return Value{kind: Object}
	}
	return Value{kind: Object, kids: &kids{members: members}}
}
