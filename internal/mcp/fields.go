package mcp

import "errors"

var errFields = errors.New("not an object with distinct members")

// Fields reads the named members of a raw object (params, result, error) without
// building a tree; the answer has one raw value for each name, nil if it is absent. The
// object was already judged by Parse; other bytes give an error or wrong values, never
// a panic. A nil object has no members.
func Fields(object []byte, names ...string) ([][]byte, error) {
	found := make([][]byte, len(names))
	if object == nil {
		return found, nil
	}
	object = trimSpace(object)
	end := walk(object, 0, func(rawName []byte, i int) int {
		end := skipValue(object, i)
		if end < 0 {
			return -1
		}
		name := unquoteName(rawName)
		for k := range names {
			if names[k] != string(name) {
				continue
			}
			if found[k] != nil {
				return -1
			}
			found[k] = object[i:end:end]
		}
		return end
	})
	if end != len(object) {
		return nil, errFields
	}
	return found, nil
}

// member reads one member of a raw object; nil if it is absent or there is no object.
func member(object []byte, name string) []byte {
	var found []byte
	walk(object, 0, func(rawName []byte, i int) int {
		end := skipValue(object, i)
		if end >= 0 && string(unquoteName(rawName)) == name {
			found = object[i:end:end]
		}
		return end
	})
	return found
}
