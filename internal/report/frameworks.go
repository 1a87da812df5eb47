package report

import "slices"

// framework is a list of risks, techniques or requirements that others published. Ids and
// titles are theirs, all other words are this project's. Nothing stands here that was not
// found in the source.
type framework struct {
	name, edition string
	url           string // where it is published
	note          string // on the edition; "" for none
	items         []item
}

// item is one entry of a framework.
type item struct {
	id, title string
	controls  []controlID // what of the gateway bears on it; none: nothing does
	part      string      // what that is, in a few words
	gap       string      // what is left
}

var frameworks = []framework{owaspLLM, owaspAgentic, aiuc1, atlas, nistRMF}

// showFrameworks holds every item against the controls: where there is evidence, where
// there is none, and what is left open in any case.
func (b *builder) showFrameworks() []block {
	blocks := []block{
		paragraph(say("An item is never met by a gateway alone, so none is called met. In part means that a control which bears on the item shows evidence in this log; set up, that there is none in this log; not set up, that it could bear on it and is off; not covered, that nothing of a gateway bears on it. Who has to fill a gap is for the reader.")),
	}
	for i := range frameworks {
		f := &frameworks[i]
		head := join(say("Source: "), source(f.url, f.url), say(". Edition: "+f.edition+"."))
		if f.note != "" {
			head = append(head, say(" "+f.note)...)
		}
		t := &table{head: []string{"Item", "State", "What bears on it, and its evidence", "Gap"}}
		for k := range f.items {
			t.rows = append(t.rows, b.itemRow(&f.items[k]))
		}
		blocks = append(blocks, block{sub: f.name}, block{para: head}, block{table: t})
	}
	return blocks
}

func (b *builder) itemRow(it *item) []line {
	best, gaps := off, []string{}
	l := say(it.part)
	for _, id := range it.controls {
		c := b.controlOf(id)
		best = max(best, c.state)
		if c.gap != "" {
			gaps = append(gaps, c.gap)
		}
		l = append(l, join(say(" "), bold(c.short), say(": "))...)
		switch {
		case len(c.brief) > 0:
			l = append(l, c.brief...)
		case len(c.proof) > 0:
			l = append(l, c.proof...)
		case c.state == off:
			l = append(l, say("not set up")...)
		default:
			l = append(l, say("no event")...)
		}
		l = append(l, say(".")...)
	}
	state := mark(caution, "not covered")
	switch {
	case len(it.controls) == 0:
	case best == atWork:
		state = mark(good, "in part")
	case best == setUp:
		state = mark(neutral, "set up")
	default:
		state = mark(caution, "not set up")
	}
	gap := say(it.gap)
	for _, g := range slices.Compact(gaps) {
		gap = append(gap, say(" "+g)...)
	}
	return []line{join(bold(it.id), say(" "+it.title)), state, l, gap}
}
