package report

import (
	"io"
	"strconv"
	"strings"
)

// WriteMarkdown writes the pack in GitHub's Markdown.
func (p *Pack) WriteMarkdown(w io.Writer) error {
	m := &markdown{}
	m.raw("# " + mdPlain(p.sheet.title) + "\n\n")
	m.blocks(p.sheet.lead)
	m.raw("## Contents\n\n")
	for i, s := range p.sheet.sections {
		m.raw(strconv.Itoa(i+1) + ". [" + mdPlain(s.title) + "](#" + s.id + ")\n")
	}
	m.raw("\n")
	for i, s := range p.sheet.sections {
		m.raw(`<a id="` + s.id + `"></a>` + "\n\n## " + strconv.Itoa(i+1) + ". " + mdPlain(s.title) + "\n\n")
		m.blocks(s.blocks)
	}
	_, err := io.WriteString(w, strings.TrimRight(m.b.String(), "\n")+"\n")
	return err
}

type markdown struct{ b strings.Builder }

func (m *markdown) raw(s string) { m.b.WriteString(s) }

func (m *markdown) blocks(blocks []block) {
	for _, b := range blocks {
		switch {
		case b.sub != "":
			m.raw("### " + mdPlain(b.sub) + "\n\n")
		case b.para != nil:
			m.raw(mdLine(b.para) + "\n\n")
		case b.list != nil:
			for _, l := range b.list {
				m.raw("- " + mdLine(l) + "\n")
			}
			m.raw("\n")
		case b.table != nil:
			m.table(b.table)
		case b.chart != nil:
			m.chart(b.chart)
		case b.note != nil:
			m.raw("> " + mdMarks[b.note.tone] + mdLine(b.note.text) + "\n\n")
		}
	}
}

func (m *markdown) table(t *table) {
	m.row(len(t.head), func(i int) string { return mdPlain(t.head[i]) })
	m.row(len(t.head), func(int) string { return "---" })
	for _, row := range t.rows {
		m.row(len(t.head), func(i int) string { return mdCell(row[i]) })
	}
	m.raw("\n")
	if t.more > 0 {
		m.raw("… and " + count(t.more, "row") + " more.\n\n")
	}
}

func (m *markdown) row(n int, cell func(int) string) {
	for i := range n {
		m.raw("| " + cell(i) + " ")
	}
	m.raw("|\n")
}

// chart is a table with bars of full blocks.
func (m *markdown) chart(c *chart) {
	const width = 24
	m.raw("**" + mdPlain(c.title) + "**\n\n")
	head := []string{c.axis}
	for _, s := range c.series {
		head = append(head, s.name)
	}
	m.row(len(head)+1, func(i int) string {
		if i == len(head) {
			return ""
		}
		return mdPlain(head[i])
	})
	m.row(len(head)+1, func(i int) string {
		if i > 0 && i < len(head) {
			return "---:"
		}
		return "---"
	})
	most := c.most()
	for _, bar := range c.bars {
		m.row(len(head)+1, func(i int) string {
			switch {
			case i == 0:
				return mdCell(bar.label)
			case i == len(head):
				return strings.Repeat("█", int(scale(bar.total(), most, width)))
			}
			return strconv.FormatInt(bar.values[i-1], 10)
		})
	}
	m.raw("\n")
}

var mdMarks = [...]string{neutral: "", good: "**Good.** ", caution: "**Look.** ", bad: "**Problem.** "}

// mdLine writes a line that stands in no table, mdCell one that stands in a cell.
func mdLine(l line) string { return mdSpans(l, false) }
func mdCell(l line) string { return mdSpans(l, true) }

func mdSpans(l line, cell bool) string {
	var b strings.Builder
	for _, s := range l {
		switch s.kind {
		case value:
			b.WriteString(mdCode(s.text, cell))
		case strong, badge:
			b.WriteString("**" + mdPlain(s.text) + "**")
		case link:
			b.WriteString("[" + mdPlain(s.text) + "](" + s.to + ")")
		default:
			b.WriteString(mdPlain(s.text))
		}
	}
	return b.String()
}

// mdCode is a code span. Nothing in one is markup, so what could end it (a backtick) or
// begin an element for a reader that does not know code spans (<, &) is written as the
// escapes for invisible characters are. A pipe ends the cell of a table, but for one behind
// a backslash; how readers count several backslashes differs.
func mdCode(s string, cell bool) string {
	if s == "" {
		return "—"
	}
	var b strings.Builder
	b.WriteByte('`')
	var before rune
	for _, r := range s {
		switch {
		case r == '|' && cell && before != '\\':
			b.WriteString(`\|`)
		case r == '`' || r == '<' || r == '&' || r == '|' && cell:
			b.WriteString(`\u{` + strconv.FormatInt(int64(r), 16) + `}`)
		case unseen(r):
			b.WriteRune('\uFFFD')
		default:
			b.WriteRune(r)
		}
		before = r
	}
	b.WriteByte('`')
	return b.String()
}

// mdPlain escapes text that is no value. Words of which a reader would make a link by
// itself (addresses, URLs) become code spans, because no escape keeps it from that.
func mdPlain(s string) string {
	var b strings.Builder
	for i, word := range strings.Split(s, " ") {
		if i > 0 {
			b.WriteByte(' ')
		}
		lower := strings.ToLower(word)
		if strings.Contains(lower, "@") || strings.Contains(lower, ":/") || strings.Contains(lower, "www.") || i == 0 && numbered(word) {
			b.WriteString(mdCode(word, true))
			continue
		}
		for j, r := range word {
			switch {
			case strings.ContainsRune("\\`*_[]<>|~&$", r), j == 0 && i == 0 && strings.ContainsRune("#+-=!", r):
				b.WriteByte('\\')
				b.WriteRune(r)
			case r == '!' || r == '#':
				b.WriteByte('\\')
				b.WriteRune(r)
			case unseen(r):
				b.WriteRune('\uFFFD')
			default:
				b.WriteRune(r)
			}
		}
	}
	return b.String()
}

// numbered reports a word that begins a list where it begins a line: "1." or "1)".
func numbered(word string) bool {
	rest := strings.TrimLeft(word, "0123456789")
	return rest != word && (rest == "." || rest == ")")
}
