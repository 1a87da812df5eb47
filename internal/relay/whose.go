package relay

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/quote"
)

// A person has to see who asks: a server could imitate a question of the gateway's, and would
// get a yes for it. So the message of each question that a server asks begins with the
// server's name, as it is configured; the gateway's own begin with Sallyport.

// maxQuestion bounds what a server's question may say, in runes.
const maxQuestion = 16 << 10

// namedQuestion is a server's elicitation with the server's name in front.
func (r *Relay) namedQuestion(m mcp.Message) (mcp.Message, error) {
	f, err := mcp.Fields(m.Params, "message")
	if err != nil {
		return m, err
	}
	text, _ := mcp.Str(f[0])
	return mcp.Rewrite(m, mcp.Edit{Path: []string{"params", "message"}, Value: r.saysWho(text)})
}

// codePageRequired is URLElicitationRequiredError of 2025-11-25: the client is to open pages.
var codePageRequired, _ = doc.FromGo(-32042)

// namedAnswer is an answer with the server's name in each question that stands in it; v is
// what it holds.
func (r *Relay) namedAnswer(m mcp.Message, v doc.Value) (mcp.Message, error) {
	switch {
	case m.Error == nil && v.Get("inputRequests").Kind() == doc.Absent:
		return m, nil
	case m.Error == nil:
		return r.namedWishes(m, m.Result, "result")
	case !doc.Equal(v.Get("code"), codePageRequired):
		return m, nil
	}
	if text, err := mcp.Fields(m.Error, "message"); err == nil {
		said, _ := mcp.Str(text[0])
		if broken, err := doc.FromGo(unlinked(said)); err == nil && broken.String() != said {
			if m, err = mcp.Rewrite(m, mcp.Edit{Path: []string{"error", "message"}, Value: broken.AppendJSON(nil)}); err != nil {
				return m, err
			}
		}
	}
	data, err := mcp.Fields(m.Error, "data")
	if err != nil || data[0] == nil {
		return m, nil //nolint:nilerr // there are none
	}
	pages, err := mcp.Fields(data[0], "elicitations")
	if err != nil || pages[0] == nil || pages[0][0] != '[' {
		return m, nil //nolint:nilerr // there are none that a client could read
	}
	list := []byte{'['}
	mcp.Elements(pages[0], func(page []byte) bool {
		f, fieldsErr := mcp.Fields(page, "message")
		if fieldsErr == nil {
			text, _ := mcp.Str(f[0])
			page, err = mcp.RewriteObject(page, mcp.Edit{Path: []string{"message"}, Value: r.saysWho(unlinked(text))})
		} // what is no object asks nothing
		if len(list) > 1 {
			list = append(list, ',')
		}
		list = append(list, page...)
		return err == nil
	})
	if err != nil {
		return m, err
	}
	return mcp.Rewrite(m, mcp.Edit{Path: []string{"error", "data", "elicitations"}, Value: append(list, ']')})
}

// namedWishes is a message with the server's name in each question of the inputRequests that
// stand in body, which is at in the message. A question that cannot be read gets no name, and
// no client can read it.
func (r *Relay) namedWishes(m mcp.Message, body []byte, at string) (mcp.Message, error) {
	f, err := mcp.Fields(body, "inputRequests")
	if err != nil || f[0] == nil {
		return m, nil //nolint:nilerr // it is no object: there are none
	}
	v, err := doc.Parse(f[0], doc.Limits{})
	if err != nil {
		return m, err
	}
	var edits []mcp.Edit
	for q := range v.Members() {
		if q.Value.Get("method").String() != "elicitation/create" {
			continue
		}
		text := q.Value.Get("params").Get("message").String()
		edits = append(edits, mcp.Edit{Path: []string{at, "inputRequests", q.Name, "params", "message"}, Value: r.saysWho(text)})
	}
	if edits == nil {
		return m, nil
	}
	return mcp.Rewrite(m, edits...)
}

// saysWho is the message of a server's question with its name, as JSON. Lines after the first
// are marked as the server's too; what could move a cursor or turn the text round is made
// visible.
func (r *Relay) saysWho(text string) []byte {
	lead := "The server " + quote.Value(r.opt.Upstream, 64) + " asks:"
	lines := strings.FieldsFunc(text, endsLine)
	var b strings.Builder
	b.WriteString(lead)
	if len(lines) == 1 {
		b.WriteString(" ")
	}
	left := maxQuestion
	for i, line := range lines {
		if len(lines) > 1 {
			b.WriteString("\n> ")
		}
		line = quote.Unpadded(line)
		for j, c := range line {
			if left--; left < 0 {
				fmt.Fprintf(&b, "… (%d bytes more)", len(line)-j+len(strings.Join(lines[i+1:], "\n")))
				break
			}
			writeShown(&b, c)
		}
		if left < 0 {
			break
		}
	}
	v, err := doc.FromGo(b.String())
	if err != nil {
		panic(err) // valid text
	}
	return v.AppendJSON(nil)
}

// writeShown writes a character, and one that moves a cursor or turns the text round as an escape.
func writeShown(b *strings.Builder, c rune) {
	if unicode.Is(unicode.Cc, c) && c != '\t' || unicode.Is(unicode.Bidi_Control, c) {
		b.WriteString(quote.Text(string(c), 0))
	} else {
		b.WriteRune(c)
	}
}

// label is a text of a form's field, on one line.
func label(text string) string {
	var b strings.Builder
	for i, line := range strings.FieldsFunc(text, endsLine) {
		if i > 0 {
			b.WriteString(" / ")
		}
		for _, c := range quote.Unpadded(line) {
			writeShown(&b, c)
		}
	}
	return b.String()
}

func endsLine(c rune) bool {
	return c == '\n' || c == '\r' || c == '\v' || c == '\f' || c == 0x85 || c == 0x2028 || c == 0x2029
}
