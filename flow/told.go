package flow

import "strings"

// maxTold and maxToldName bound the names that are remembered, and each of them in bytes.
const (
	maxTold     = 1 << 10
	maxToldName = 64
)

// memberName records the name of a member. The rows of a listing have the same ones: what
// was recorded under the same keys has nothing new to say.
func (o *observer) memberName(name string, f field) {
	if f.secret || f.whole != LabelOutside || len(name) > maxToldName || o.skip != nil || len(o.cuts) > 0 {
		o.str(name, jsonDepth, f)
		return
	}
	told := o.told[o.family(f)]
	if _, ok := told[name]; ok {
		return
	}
	o.str(name, jsonDepth, f)
	if len(told) >= maxTold {
		clear(told)
	}
	told[strings.Clone(name)] = struct{}{}
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
