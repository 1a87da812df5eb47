package report

import (
	"strconv"
)

// Measures of the charts in their own units; the page makes them as wide as it is.
const (
	chartWidth  = 720
	labelWidth  = 210
	countWidth  = 50
	barHeight   = 16
	barStep     = 25
	columnsHigh = 120
	maxLabel    = 30 // characters
)

// chart writes a figure: a legend and bars as inline SVG. Colours come from the style sheet
// by class, so that they follow light, dark and print.
func (h *page) chart(c *chart) {
	h.open("figure")
	h.open("figcaption")
	h.wrap("strong", c.title)
	for _, s := range c.series {
		if len(c.series) < 2 {
			break
		}
		h.wrap("span", s.name, at("class", "key "+s.tone.String()))
	}
	h.close("figcaption")
	if c.time {
		h.columns(c)
	} else {
		h.bars(c)
	}
	h.close("figure")
}

func (h *page) svg(height int, label string) {
	h.open("svg", at("viewBox", "0 0 "+itoa(chartWidth)+" "+itoa(height)), at("role", "img"), at("aria-label", label))
}

func (h *page) rect(t tone, x, y, width, height int64, title string) {
	h.open("rect", at("class", t.String()), at("x", itoa(x)), at("y", itoa(y)), at("width", itoa(width)), at("height", itoa(height)))
	h.wrap("title", title)
	h.close("rect")
}

func (h *page) label(class string, x, y int64, s string) {
	h.wrap("text", s, at("class", class), at("x", itoa(x)), at("y", itoa(y)))
}

// bars writes one bar a line, with its label in front and its sum behind.
func (h *page) bars(c *chart) {
	h.svg(len(c.bars)*barStep+4, c.title)
	const room = chartWidth - labelWidth - countWidth
	most := c.most()
	for i, b := range c.bars {
		y := int64(i * barStep)
		text := lineText(b.label)
		h.label("label", labelWidth-10, y+barHeight-3, short(text))
		x := int64(labelWidth)
		for k, v := range b.values {
			if v <= 0 {
				continue
			}
			width := scale(v, most, room)
			h.rect(c.series[k].tone, x, y, width, barHeight, text+": "+c.series[k].name+" "+strconv.FormatInt(v, 10))
			x += width
		}
		h.label("sum", x+6, y+barHeight-3, strconv.FormatInt(b.total(), 10))
	}
	h.close("svg")
}

// columns writes bars beside each other, with the first and the last label below.
func (h *page) columns(c *chart) {
	h.svg(columnsHigh+22, c.title)
	most, n := c.most(), int64(max(len(c.bars), 1))
	step, labelled := min(int64(chartWidth)/n, 60), false
	for i, b := range c.bars {
		y := int64(columnsHigh)
		text := lineText(b.label)
		for k, v := range b.values {
			if v <= 0 {
				continue
			}
			high := scale(v, most, columnsHigh-14)
			y -= high
			h.rect(c.series[k].tone, int64(i)*step+1, y, max(step-2, 1), high, text+": "+c.series[k].name+" "+strconv.FormatInt(v, 10))
		}
		if b.total() == most && !labelled { // the height that the others are compared with
			labelled = true
			h.label("sum", int64(i)*step+1, y-4, strconv.FormatInt(most, 10))
		}
	}
	h.rect(neutral, 0, columnsHigh, step*n, 1, "")
	h.label("axis", 0, columnsHigh+16, lineText(c.bars[0].label))
	if len(c.bars) > 3 {
		h.label("axis end", step*n, columnsHigh+16, lineText(c.bars[len(c.bars)-1].label))
	}
	h.close("svg")
}

func lineText(l line) (s string) {
	for _, part := range l {
		s += part.text
	}
	return s
}

// short cuts a label to what has room.
func short(s string) string {
	r := []rune(s)
	if len(r) <= maxLabel {
		return s
	}
	return string(r[:maxLabel-1]) + "…"
}

func itoa[N int | int64](n N) string { return strconv.FormatInt(int64(n), 10) }
