package mcp

import (
	"bytes"
	"slices"
)

// FilterList returns a response without those elements of the list result[name] that
// drop says: they are cut out of the original bytes, with one comma each, and all else
// stays as it is. m itself is returned, without copying, when nothing is dropped or there
// is no such list. drop gets each element's raw bytes, in order.
func FilterList(m Message, name string, drop func(element []byte) bool) Message {
	from, to := resultList(m, name)
	if from < 0 {
		return m
	}
	kept, changed := mapElements(m.Raw[from:to], func(element []byte) ([]byte, bool) {
		return element, !drop(element)
	})
	if !changed {
		return m
	}
	e := envelope{raw: slices.Concat(m.Raw[:from], kept, m.Raw[to:])}
	filtered, _ := e.decode()
	return filtered
}

// Elements calls yield with each element's raw bytes of a raw list that was judged as part
// of a message, in order, until that returns false. Anything else has no elements.
func Elements(list []byte, yield func(element []byte) bool) {
	list = trimSpace(list)
	if at(list, 0) != '[' {
		return
	}
	i := skipSpace(list, 1)
	for i < len(list) && list[i] != ']' {
		end := skipValue(list, i)
		if end < 0 || !yield(list[i:end:end]) {
			return
		}
		if i = skipSpace(list, end); at(list, i) == ',' {
			i = skipSpace(list, i+1)
		}
	}
}

// resultList finds the list result[name] in m.Raw; from is -1 if there is none.
func resultList(m Message, name string) (from, to int) {
	from, to = -1, -1
	walk(m.Raw, 0, func(rawName []byte, i int) int {
		if string(unquoteName(rawName)) != "result" || at(m.Raw, i) != '{' {
			return skipValue(m.Raw, i)
		}
		return walk(m.Raw, i, func(rawName []byte, i int) int {
			end := skipValue(m.Raw, i)
			if string(unquoteName(rawName)) == name && at(m.Raw, i) == '[' {
				from, to = i, end
			}
			return end
		})
	})
	if to < 0 {
		return -1, -1
	}
	return from, to
}

// mapElements copies a raw list with what f makes of each element, without those that f
// does not keep.
func mapElements(list []byte, f func([]byte) (after []byte, keep bool)) (out []byte, changed bool) {
	out = append(make([]byte, 0, len(list)), '[')
	i := skipSpace(list, 1)
	for at(list, i) != ']' {
		end := skipValue(list, i)
		if end < 0 {
			return nil, false
		}
		element := list[i:end:end]
		if after, keep := f(element); !keep {
			changed = true
		} else {
			changed = changed || !bytes.Equal(after, element)
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(out, after...)
		}
		if i = skipSpace(list, end); at(list, i) == ',' {
			i = skipSpace(list, i+1)
		} else if at(list, i) != ']' {
			return nil, false
		}
	}
	return append(out, ']'), changed
}
