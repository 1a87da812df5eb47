package policy

import "slices"

// maxStart is how many bytes of the literal start of a glob the index looks at.
const maxStart = 24

// index finds the rules that may name a target, without looking at those that surely do
// not. Lists of rule numbers are in order.
type index struct {
	literal map[string][]int
	starts  [maxStart + 1]map[string][]int // globs by the bytes before their first wildcard
	lengths []int                          // which of starts are not empty, in order
}

func (ix *index) add(at int, g Glob) {
	if g.literal {
		if ix.literal == nil {
			ix.literal = map[string][]int{}
		}
		addNumber(ix.literal, g.source, at)
		return
	}
	start := g.start()
	start = start[:min(len(start), maxStart)]
	n := len(start)
	if ix.starts[n] == nil {
		ix.starts[n] = map[string][]int{}
		ix.lengths = append(ix.lengths, n)
		slices.Sort(ix.lengths)
	}
	addNumber(ix.starts[n], start, at)
}

func addNumber(m map[string][]int, key string, at int) {
	if l := m[key]; len(l) == 0 || l[len(l)-1] != at {
		m[key] = append(l, at)
	}
}

// start is what every name that a glob covers starts with.
func (g Glob) start() string {
	if len(g.parts) == 0 || g.parts[0].kind != literalPart {
		return ""
	}
	return g.parts[0].text
}

// candidates are the rules that may name one target, merged in order.
type candidates struct {
	lists [maxStart + 2][]int
	n     int
}

func (ix *index) candidates(name string, c *candidates) {
	c.add(ix.literal[name])
	for _, n := range ix.lengths {
		if n > len(name) {
			break
		}
		c.add(ix.starts[n][name[:n]])
	}
}

func (c *candidates) add(list []int) {
	if len(list) > 0 {
		c.lists[c.n] = list
		c.n++
	}
}

// next returns the number of the next rule, each once; ok is false at the end.
func (c *candidates) next() (rule int, ok bool) {
	for i := range c.n {
		if l := c.lists[i]; len(l) > 0 && (!ok || l[0] < rule) {
			rule, ok = l[0], true
		}
	}
	for i := range c.n {
		if l := c.lists[i]; ok && len(l) > 0 && l[0] == rule {
			c.lists[i] = l[1:]
		}
	}
	return rule, ok
}
