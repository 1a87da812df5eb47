package strictyaml

import "encoding/json"

// Value reads a value of any type: nil, bool, [json.Number], string, []any or
// map[string]any. Numbers must be written as JSON writes them, and keep every digit.
func (n *Node) Value(p *Problems) (value any, ok bool) {
	switch n.kind {
	case list:
		items := make([]any, len(n.items))
		ok = true
		for i, item := range n.items {
			v, good := item.Value(p)
			items[i], ok = v, ok && good
		}
		return items, ok
	case mapping:
		members := make(map[string]any, len(n.entries))
		ok = true
		for _, e := range n.entries {
			v, good := e.Value.Value(p)
			members[e.Name], ok = v, ok && good
		}
		return members, ok
	case unread:
		return nil, false
	}
	switch n.tag {
	case "!!null":
		return nil, true
	case "!!bool":
		return n.Bool(p)
	case "!!int", "!!float":
		if !json.Valid([]byte(n.text)) {
			p.Add(n, "write the number %s in plain decimal digits, such as 10, -0.5 or 1e6; if text is meant, put it in quotes", Quote(n.text))
			return nil, false
		}
		return json.Number(n.text), true
	}
	return n.Str(p)
}
