package relay

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/flow"
	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/quote"
)

// What the gateway says to an agent begins with [sallyport] or [sallyport blocked], and a
// refusal asks the user to run something. A server that begins so too would have the agent pass
// its commands on as the gateway's. So the server's name is put in front of such a text, in the
// results of tools, in errors and in instructions: where the gateway itself speaks. The rest
// of the text stays as it is, and so does every text that does not begin like that.

// attributed is a message with the server's name in front of what begins like the gateway's own
// words. body is where they can be, v is what it holds and at its place in the message.
func (r *Relay) attributed(m mcp.Message, v doc.Value, body []byte, at string) (mcp.Message, error) {
	if m.Own {
		return m, nil
	}
	w := marks{upstream: r.opt.Upstream}
	if m.Error != nil {
		w.text(v.Get("message"), body, []string{at}, "message")
	} else {
		w.text(v.Get("instructions"), body, []string{at}, "instructions")
		w.content(v.Get("content"), body, []string{at})
		if task := v.Get("result"); task.Kind() == doc.Object {
			w.content(task.Get("content"), member(body, "result"), []string{at, "result"})
		}
		if failed := v.Get("error"); failed.Kind() == doc.Object {
			w.text(failed.Get("message"), member(body, "error"), []string{at, "error"}, "message")
		}
	}
	switch {
	case w.failed:
		return m, errNotAttributed
	case w.edits == nil:
		return m, nil
	}
	return mcp.Rewrite(m, w.edits...)
}

var errNotAttributed = errors.New("it cannot be said whose words these are")

// marks collects what is put in front of texts.
type marks struct {
	upstream string
	edits    []mcp.Edit
	failed   bool
}

// text marks the member of an object that is at a path, if it has to be.
func (w *marks) text(text doc.Value, object []byte, at []string, name string) {
	if text.Kind() == doc.String && imitates(text.String()) {
		w.edits = append(w.edits, mcp.Edit{Path: under(at, name), Value: w.before(member(object, name))})
	}
}

// textsOfBlocks are where the blocks of a result have text that an agent reads.
var textsOfBlocks = [][]string{{"text"}, {"resource", "text"}}

// content marks the blocks of a result that is at a path. A list that is marked is built anew of
// the bytes of its elements.
func (w *marks) content(blocks doc.Value, result []byte, at []string) {
	var marked map[int][][]string // paths in blocks
	for i, b := range blocks.Elements() {
		for _, path := range textsOfBlocks {
			t := b
			for _, name := range path {
				t = t.Get(name)
			}
			if t.Kind() != doc.String || !imitates(t.String()) {
				continue
			}
			if marked == nil {
				marked = make(map[int][][]string)
			}
			marked[i] = append(marked[i], path)
		}
	}
	if marked == nil {
		return
	}
	list, i := []byte{'['}, 0
	mcp.Elements(member(result, "content"), func(block []byte) bool {
		for _, path := range marked[i] {
			text := block
			for _, name := range path {
				text = member(text, name)
			}
			after, err := mcp.RewriteObject(block, mcp.Edit{Path: path, Value: w.before(text)})
			if err != nil {
				w.failed = true
				return false
			}
			block = after
		}
		if i++; i > 1 {
			list = append(list, ',')
		}
		list = append(list, block...)
		return true
	})
	w.edits = append(w.edits, mcp.Edit{Path: under(at, "content"), Value: append(list, ']')})
}

// before is a raw text with the lead in front; its own bytes stay.
func (w *marks) before(raw []byte) []byte {
	lead, err := doc.FromGo("The server " + quote.Value(w.upstream, 64) + " says: ")
	if err != nil || len(raw) == 0 || raw[0] != '"' { // it was read as a string
		w.failed = true
		return nil
	}
	b := lead.AppendJSON(make([]byte, 0, len(raw)+128))
	return append(b[:len(b)-1], raw[1:]...)
}

// member is a member of a raw object; nil if there is none.
func member(object []byte, name string) []byte {
	f, err := mcp.Fields(object, name)
	if err != nil {
		return nil
	}
	return f[0]
}

const (
	ownName  = "sallyport"
	likeHead = 256 // bytes behind the bracket that are looked at
)

// imitates reports a text that begins as the gateway's do, for a reader who sees no difference
// in case, width, invisible characters, look-alike letters or what else stands before the first
// word. An ordinary text is known by its first character.
func imitates(text string) bool {
	first := strings.IndexFunc(text, wordly)
	if first <= 0 {
		return false
	}
	open := strings.LastIndexFunc(text[:first], opens)
	if open < 0 {
		return false
	}
	_, size := utf8.DecodeRuneInString(text[open:])
	head := text[open+size:]
	return looksLike(firstWord(head[:min(len(head), likeHead)])) || looksLike(firstWord(visible(head)))
}

// firstWord is the folded word that s begins with; "" if something else does.
func firstWord(s string) string {
	word := strings.TrimLeft(flow.Fold(s), " ")
	if end := strings.IndexFunc(word, func(c rune) bool { return !wordly(c) }); end >= 0 {
		word = word[:end]
	}
	return word
}

// visible is the first likeHead bytes of what a reader sees of s, without marks on letters and
// the white space before the first word: however much that nobody sees stands between.
func visible(s string) string {
	b := make([]byte, 0, likeHead)
	for _, c := range s {
		if len(b) >= likeHead {
			break
		}
		if !unicode.In(c, unicode.Cf, unicode.Mn, unicode.Me, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) && (len(b) > 0 || !unicode.IsSpace(c)) {
			b = utf8.AppendRune(b, c)
		}
	}
	return string(b)
}

// wordly reports a letter or digit that shows something.
func wordly(c rune) bool {
	return (unicode.IsLetter(c) || unicode.IsDigit(c)) && !unicode.Is(unicode.Other_Default_Ignorable_Code_Point, c)
}

// opens reports square brackets, and what looks like one.
func opens(c rune) bool { return strings.ContainsRune("[［【〔〖⟦⁅〚", c) }

// looksLike reports the gateway's name, and words that are spelt like it with other letters in
// place of some: no language has words of both.
func looksLike(word string) bool {
	const least = 3 // letters of the name itself
	same, n := 0, 0
	for _, c := range word {
		switch {
		case n >= len(ownName):
			return false
		case c == rune(ownName[n]):
			same++
		case c < utf8.RuneSelf:
			return false
		}
		n++
	}
	return n == len(ownName) && same >= least
}
