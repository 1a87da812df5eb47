package audit

import (
	"slices"

	"github.com/sallyport-dev/sallyport/doc"
)

// Show returns arguments as a record would hold them: compact JSON in which what r names is
// replaced by {"redacted":…}, long strings are cut and what goes beyond MaxArguments is left
// out. left is how many values that are. It returns nothing if v is absent or r drops
// arguments.
func (r Redaction) Show(v doc.Value) (shown []byte, left int) {
	if v.Kind() == doc.Absent || r.DropArguments {
		return nil, 0
	}
	e := newEncoder(newRedactor(r))
	defer e.release()
	e.args = v
	e.selectAll(v)
	e.start = len(e.buf)
	e.value(v)
	return slices.Clone(e.buf[e.start:]), e.left
}
