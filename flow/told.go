package flow

import "strings"

// maxTold and maxToldName bound the names that are remembered, and each of them in bytes.
const (
	maxTold     = 1 << 10
	maxToldName = 64
)

// listName is a name that is recorded already, at the position of a member where it stood
// last.
type listName struct {
	name string
	fam  family
	own  bool // it is one of MCP's own
	id   bool // idName says so
}

// memberName records the name of the member at a position. The rows of a listing have the
// same ones: what was recorded under the same keys has nothing new to say.
func (o *observer) memberName(name string, pos int, f field) {
	if f.secret || f.whole != LabelOutside || len(name) > maxToldName || o.skip != nil || len(o.cuts) > 0 {
		o.str(name, jsonDepth, f)
		return
	}
	fam := o.family(f)
	last := &o.lists[pos%len(o.lists)]
	if last.name == name && last.fam == fam {
		return
	}
	told := o.told[fam]
	kept, ok := told[name]
	if !ok {
		o.str(name, jsonDepth, f)
		if len(told) >= maxTold {
			clear(told)
		}
		kept = strings.Clone(name)
		told[kept] = kept
	}
	*last = listName{kept, fam, protocolNames[name], idName(name)}
}

// ownName reports that the name of a member is one of MCP's own.
func (o *observer) ownName(h *hop) bool {
	if last := &o.lists[h.pos%len(o.lists)]; last.name == h.name {
		return last.own
	}
	return protocolNames[h.name]
}

// idName is idName for the name of a member.
func (o *observer) idName(h *hop) bool {
	if last := &o.lists[h.pos%len(o.lists)]; last.name == h.name {
		return last.id
	}
	return idName(h.name)
}

// plainDigits reports a short number, which has no other reading.
func plainDigits(s string) bool {
	if len(s) >= minRun {
		return false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}
