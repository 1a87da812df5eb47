package policy

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"slices"
	"strings"
)

func ruleDigest(r *Rule) [sha256.Size]byte {
	h := sha256.New()
	writeFields(h, r.Name, r.Effect.String(), r.Reason)
	for _, globs := range [][]Glob{r.globs[Tool], r.globs[Resource], r.globs[Prompt], r.upstreams} {
		sources := make([]string, len(globs))
		for i, glob := range globs {
			sources[i] = glob.source
		}
		slices.Sort(sources)
		writeFields(h, slices.Compact(sources)...)
	}
	limits := slices.Clone(r.RateLimits)
	slices.Sort(limits)
	writeFields(h, limits...)
	constraints := make([]string, len(r.when))
	for i := range r.when {
		constraints[i] = r.when[i].canonical()
	}
	slices.Sort(constraints)
	writeFields(h, constraints...)
	return [sha256.Size]byte(h.Sum(nil))
}

// canonical writes a constraint so that two with the same text judge the same.
func (c *Constraint) canonical() string {
	ops := make([]string, len(c.ops))
	for i := range c.ops {
		o := &c.ops[i]
		operands := make([]string, len(o.operands))
		for j, v := range o.operands {
			operands[j] = string(v.AppendJSON(nil))
		}
		if o.Operator == Present || o.Operator == Absent {
			operands = nil // false was turned into the other
		}
		slices.Sort(operands)
		ops[i] = o.Operator.String() + " [" + strings.Join(operands, ",") + "]"
	}
	slices.Sort(ops)
	return fmt.Sprintf("%q %t %s %s", c.Selector, c.Optional, c.Quantifier, strings.Join(ops, " "))
}

func writeFields(h hash.Hash, fields ...string) {
	b := binary.BigEndian.AppendUint64(nil, uint64(len(fields)))
	for _, f := range fields {
		b = binary.BigEndian.AppendUint64(b, uint64(len(f)))
		b = append(b, f...)
	}
	h.Write(b)
}
