package doc

// Equal reports whether a and b are the same JSON value: numbers by exact value
// (1 and 1.0 are equal, 1 and "1" are not), objects without regard to order. Two
// absent values are equal.
func Equal(a, b Value) bool {
	if a.kind != b.kind {
		return false
	}
	switch a.kind {
	case Bool:
		return a.flag == b.flag
	case Number:
		return compareLiterals(a.str, b.str) == 0
	case String:
		return a.str == b.str
	case List:
		return a.kids == b.kids || equalLists(a, b)
	case Object:
		return a.kids == b.kids || equalObjects(a, b)
	default:
		return true
	}
}

func equalLists(a, b Value) bool {
	if a.Len() != b.Len() {
		return false
	}
	for i, e := range a.kids.list {
		if !Equal(e, b.kids.list[i]) {
			return false
		}
	}
	return true
}

// Objects with more members than this are compared through a map, so that hostile
// ones cost no quadratic time.
const fewMembers = 16

func equalObjects(a, b Value) bool {
	if a.Len() != b.Len() {
		return false
	}
	find := b.Get
	if b.Len() > fewMembers {
		var index map[string]int
		find = func(name string) Value {
			if index == nil {
				index = indexOf(b.kids.members)
			}
			if i, ok := index[name]; ok {
				return b.kids.members[i].Value
			}
			return Value{}
		}
	}
	for i, m := range a.kids.members {
		other := b.kids.members[i].Value
		if b.kids.members[i].Name != m.Name {
			other = find(m.Name)
		}
		if !Equal(m.Value, other) {
			return false
		}
	}
	return true
}

func indexOf(members []Member) map[string]int {
	index := make(map[string]int, len(members))
	for i := range members {
		index[members[i].Name] = i
	}
	return index
}
