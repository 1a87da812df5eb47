package auditread

import (
	"cmp"
	"slices"
)

// MaxRows is how many rows a table of a [Summary] keeps. Whatever comes after it was
// full, in the order of the log, is counted together as the table's Others. Names are cut to 256
// bytes, so that longer ones that begin alike share a row.
const MaxRows = 4096

// ToolRow is a tool: calls with the event tools/call.
type ToolRow struct {
	Upstream string `json:"upstream,omitempty"`
	Tool     string `json:"tool"`
	Tally
}

// RuleRow is a rule that decided.
type RuleRow struct {
	Policy string `json:"policy,omitempty"`
	Rule   string `json:"rule"`
	Tally
}

// PolicyRow is a policy as it was loaded. A digest that changes is a policy that changed.
type PolicyRow struct {
	Policy string `json:"policy"`
	Digest string `json:"digest,omitempty"`
	Tally
}

// NameRow is a caller, or a check that decided.
type NameRow struct {
	Name string `json:"name"`
	Tally
}

// EventRow is an event, calls or not.
type EventRow struct {
	Event string `json:"event"`
	Tally
}

// Table holds rows, those with the most calls first.
type Table[Row any] struct {
	Rows []Row `json:"rows"`
	// Others counts together what came when there were [MaxRows] rows. If its Records is not
	// 0, something that has no row may still be in the log.
	Others Tally `json:"others,omitzero"`
}

// pair is a key: a name within another.
type pair struct{ group, name string }

// counter counts by key, with a bounded number of them.
type counter struct {
	rows   map[pair]*Tally
	others Tally
}

func (c *counter) add(group, text string, r *Record) {
	key := pair{name(group), name(text)}
	t, ok := c.rows[key]
	switch {
	case ok:
	case len(c.rows) >= MaxRows:
		t = &c.others
	default:
		if c.rows == nil {
			c.rows = make(map[pair]*Tally)
		}
		t = new(Tally)
		c.rows[key] = t
	}
	t.add(r)
}

// table makes rows of what was counted.
func table[Row any](c *counter, row func(pair, Tally) Row) Table[Row] {
	t := Table[Row]{Rows: make([]Row, 0, len(c.rows)), Others: c.others}
	for _, key := range c.keys() {
		t.Rows = append(t.Rows, row(key, *c.rows[key]))
	}
	return t
}

// keys in the order of the table.
func (c *counter) keys() []pair {
	keys := make([]pair, 0, len(c.rows))
	for k := range c.rows {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b pair) int {
		return cmp.Or(
			cmp.Compare(c.rows[b].Calls, c.rows[a].Calls), cmp.Compare(c.rows[b].Records, c.rows[a].Records),
			cmp.Compare(a.group, b.group), cmp.Compare(a.name, b.name),
		)
	})
	return keys
}

func nameRow(p pair, t Tally) NameRow { return NameRow{p.name, t} }
