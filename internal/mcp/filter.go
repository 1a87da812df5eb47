package mcp

// FilterList returns a response without those elements of the list result[name] that
// drop says: they are cut out of the original bytes, with one comma each, and all else
// stays as it is. m itself is returned, without copying, when nothing is dropped or there
// is no such list. drop gets each element's raw bytes, in order.
func FilterList(m Message, name string, drop func(element []byte) bool) Message {
	from, to := -1, -1
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
	if from < 0 || to < 0 {
		return m
	}
	kept, changed := filterElements(m.Raw[from:to], drop)
	if !changed {
		return m
	}
	out := make([]byte, 0, len(m.Raw))
	out = append(out, m.Raw[:from]...)
	out = append(out, kept...)
	out = append(out, m.Raw[to:]...)
	e := envelope{raw: out}
	filtered, _ := e.decode()
	return filtered
}

// filterElements copies a raw list without what drop says.
func filterElements(list []byte, drop func([]byte) bool) (kept []byte, changed bool) {
	kept = append(make([]byte, 0, len(list)), '[')
	i := skipSpace(list, 1)
	for at(list, i) != ']' {
		end := skipValue(list, i)
		if end < 0 {
			return nil, false
		}
		if drop(list[i:end]) {
			changed = true
		} else {
			if len(kept) > 1 {
				kept = append(kept, ',')
			}
			kept = append(kept, list[i:end]...)
		}
		if i = skipSpace(list, end); at(list, i) == ',' {
			i = skipSpace(list, i+1)
		} else if at(list, i) != ']' {
			return nil, false
		}
	}
	return append(kept, ']'), changed
}
