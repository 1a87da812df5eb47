package report

import (
	"crypto/sha256"
	_ "embed" // the style sheet
	"encoding/base64"
	"html"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// oneLine is how many characters of a value are not broken over two lines.
const oneLine = 28

//go:embed style.css
var style string

// contentPolicy lets the page use its own style sheet and nothing else: no script, no
// image, no form, nothing fetched from anywhere.
func contentPolicy() string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
}

// WriteHTML writes the pack as one page that fetches nothing and runs nothing.
func (p *Pack) WriteHTML(w io.Writer) error {
	h := &page{}
	h.b.WriteString("<!DOCTYPE html>\n")
	h.open("html", at("lang", "en"))
	h.open("head")
	h.void("meta", at("charset", "utf-8"))
	h.void("meta", at("http-equiv", "Content-Security-Policy"), at("content", contentPolicy()))
	h.void("meta", at("name", "viewport"), at("content", "width=device-width, initial-scale=1"))
	h.void("meta", at("name", "color-scheme"), at("content", "light dark"))
	h.void("meta", at("name", "referrer"), at("content", "no-referrer"))
	h.wrap("title", p.sheet.title)
	h.open("style")
	h.b.WriteString(style) // a constant: nothing is put into it
	h.close("style")
	h.close("head")
	h.open("body")
	h.open("header")
	h.wrap("h1", p.sheet.title)
	h.blocks(p.sheet.lead)
	h.close("header")
	h.contents(p.sheet.sections)
	h.open("main")
	for i, s := range p.sheet.sections {
		h.open("section", at("id", s.id))
		h.open("h2")
		h.wrap("span", strconv.Itoa(i+1), at("class", "number"))
		h.text(" " + s.title)
		h.close("h2")
		h.blocks(s.blocks)
		h.close("section")
	}
	h.close("main")
	h.close("body")
	h.close("html")
	_, err := io.WriteString(w, h.b.String())
	return err
}

// The names of elements and attributes are constants of this package. Texts become text or
// the value of an attribute in [page.text] and [page.tag], and nowhere else.
type (
	tag  string
	name string
)

type attr struct {
	name  name
	value string
}

func at(n name, value string) attr { return attr{n, value} }

type page struct{ b strings.Builder }

func (h *page) tag(t tag, attrs []attr) {
	h.b.WriteByte('<')
	h.b.WriteString(string(t))
	for _, a := range attrs {
		h.b.WriteString(" " + string(a.name) + `="` + html.EscapeString(clean(a.value)) + `"`)
	}
	h.b.WriteByte('>')
}

// breaks are elements after which a line ends, so that two pages can be compared.
var breaks = map[tag]bool{
	"html": true, "head": true, "body": true, "header": true, "main": true, "nav": true, "section": true, "meta": true, "table": true,
	"thead": true, "tbody": true, "tr": true, "ul": true, "ol": true, "li": true, "p": true, "h1": true, "h2": true, "h3": true,
	"div": true, "figure": true, "figcaption": true, "svg": true, "g": true, "title": true, "style": true, "rect": true,
}

func (h *page) open(t tag, attrs ...attr) {
	h.tag(t, attrs)
	switch t {
	case "p", "li", "h1", "h2", "h3", "title", "figcaption", "style":
	default:
		if breaks[t] {
			h.b.WriteByte('\n')
		}
	}
}

func (h *page) close(t tag) {
	h.b.WriteString("</" + string(t) + ">")
	if breaks[t] {
		h.b.WriteByte('\n')
	}
}

// void writes an element that has no end.
func (h *page) void(t tag, attrs ...attr) {
	h.tag(t, attrs)
	if breaks[t] {
		h.b.WriteByte('\n')
	}
}

func (h *page) text(s string) { h.b.WriteString(html.EscapeString(clean(s))) }

// wrap writes an element that holds text.
func (h *page) wrap(t tag, s string, attrs ...attr) {
	h.tag(t, attrs)
	h.text(s)
	h.close(t)
}

// clean replaces what must not reach a page although it is no markup.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unseen(r) {
			return '\uFFFD'
		}
		return r
	}, s)
}

func (h *page) contents(sections []section) {
	h.open("nav", at("aria-label", "Contents"))
	h.open("ol")
	for _, s := range sections {
		h.open("li")
		h.wrap("a", s.title, at("href", "#"+s.id))
		h.close("li")
	}
	h.close("ol")
	h.close("nav")
}

func (h *page) blocks(blocks []block) {
	for _, b := range blocks {
		switch {
		case b.sub != "":
			h.wrap("h3", b.sub)
		case b.para != nil:
			h.open("p")
			h.line(b.para)
			h.close("p")
		case b.list != nil:
			h.open("ul")
			for _, l := range b.list {
				h.open("li")
				h.line(l)
				h.close("li")
			}
			h.close("ul")
		case b.table != nil:
			h.table(b.table)
		case b.chart != nil:
			h.chart(b.chart)
		case b.note != nil:
			h.open("p", at("class", "note "+b.note.tone.String()))
			h.line(b.note.text)
			h.close("p")
		}
	}
}

func (h *page) table(t *table) {
	h.open("div", at("class", "wide"))
	if t.facts {
		h.open("table", at("class", "facts"))
	} else {
		h.open("table")
	}
	h.open("thead")
	h.open("tr")
	for _, s := range t.head {
		h.wrap("th", s, at("scope", "col"))
	}
	h.close("tr")
	h.close("thead")
	h.open("tbody")
	for _, row := range t.rows {
		h.open("tr")
		for _, cell := range row {
			h.open("td")
			h.line(cell)
			h.close("td")
		}
		h.close("tr")
	}
	h.close("tbody")
	h.close("table")
	h.close("div")
	if t.more > 0 {
		h.wrap("p", "… and "+count(t.more, "row")+" more.", at("class", "more"))
	}
}

func (h *page) line(l line) {
	for _, s := range l {
		switch s.kind {
		case value:
			if s.text == "" {
				h.text("—")
				continue
			}
			if utf8.RuneCountInString(s.text) <= oneLine {
				h.wrap("code", s.text, at("class", "word"))
			} else {
				h.wrap("code", s.text, at("class", "value"))
			}
		case strong:
			h.wrap("strong", s.text)
		case badge:
			h.wrap("span", s.text, at("class", "badge "+s.tone.String()))
		case link:
			h.wrap("a", s.text, at("href", s.to), at("rel", "noreferrer noopener"))
		default:
			h.text(s.text)
		}
	}
}
