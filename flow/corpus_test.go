package flow

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"

	"github.com/sallyport-dev/sallyport/doc"
)

// A corpus makes output like that of real tools, the same on every machine.
//
// What the ledger costs depends on how often text repeats itself, so the words are not
// drawn evenly. How often a word comes follows Zipf's law. The vocabulary starts with
// 50,000 words and grows with the root of the length (Heaps's law). A word is followed
// by one of its own usual successors more often than by any other, without which two
// words would hardly ever meet twice. So tuned, of the words of the prose, the share that
// makes a new pair with the word before it, and a new run with the four before it, comes
// near to that in documentation: in a megabyte of the manual of the Vim editor 0.41 and
// 0.91, in all of it (9.5 MB) 0.25 and 0.84. In HTML pages of documentation, JSON of
// recorded tool calls and source code both are a half or less of that.
//
// A sixth of the bytes each: prose, JSON as structured content, JSON in text, HTML,
// mail with headers, and Markdown with links and code. A tenth of the lines of prose
// are not in ASCII: accents, typographic marks, Cyrillic, Chinese.
type corpus struct {
	r     *rand.Rand
	words int // written so far
	prev  uint64
	past  []uint32          // the last words
	after map[uint64]uint32 // what followed a word last
	from  int               // where in past a quotation is
	quote int               // words that it goes on
	made  int
	b     strings.Builder
}

func newCorpus() *corpus { return &corpus{after: map[uint64]uint32{}, r: rand.New(rand.NewPCG(1, 2))} }

// rank draws a word's number by Zipf's law.
func (c *corpus) rank(u float64) uint64 {
	n := 50_000 + 40*math.Sqrt(float64(c.words))
	return uint64(math.Exp(u * math.Log(n)))
}

func mixed(x uint64) uint64 {
	x = (x ^ x>>31) * 0x9E3779B97F4A7C15
	x = (x ^ x>>29) * 0xBF58476D1CE4E5B9
	return x ^ x>>32
}

// next is the number of the next word.
func (c *corpus) next() uint64 {
	c.words++
	w := c.rank(c.r.Float64())
	switch {
	case c.quote > 0: // what was written before, once more
		c.quote--
		if c.from++; c.from < len(c.past) {
			w = uint64(c.past[c.from])
		}
	case c.r.IntN(100) == 0 && len(c.past) > 0:
		c.from, c.quote = c.r.IntN(len(c.past)), 5+c.r.IntN(15)
		w = uint64(c.past[c.from])
	case c.r.IntN(100) < 50 && c.after[c.prev] != 0:
		w = uint64(c.after[c.prev])
	case c.r.IntN(100) < 95:
		many := math.Log(4 + 1500/float64(c.prev+10))
		w = c.rank(float64(mixed(c.prev<<16|uint64(math.Exp(c.r.Float64()*many)))>>11) / (1 << 53))
	}
	if len(c.past) < 1<<20 {
		c.past = append(c.past, uint32(w))
	} else {
		c.past[c.words%(1<<20)] = uint32(w)
	}
	c.after[c.prev] = uint32(w)
	c.prev = w
	return w
}

// word spells a number: common words are short, and all are of syllables.
func corpusWord(n uint64) string {
	const consonants, vowels = "bcdfghjklmnprstvwz", "aeiou"
	x := mixed(n + 77)
	var b []byte
	for left := n; ; left /= 22 {
		b = append(b, consonants[x%18], vowels[x/18%5])
		if x = x / 90; left < 22 {
			break
		}
	}
	if x%3 == 0 {
		b = append(b, "nsrtldmy"[x/3%8])
	}
	return string(b)
}

func (c *corpus) sentence() {
	n := 6 + c.r.IntN(16)
	for i := range n {
		w := corpusWord(c.next())
		if i == 0 {
			w = strings.ToUpper(w[:1]) + w[1:]
		}
		c.b.WriteString(w)
		switch {
		case i == n-1:
			c.b.WriteByte('.')
		case c.r.IntN(12) == 0:
			c.b.WriteString(", ")
		case c.r.IntN(60) == 0:
			fmt.Fprintf(&c.b, " %d ", c.r.IntN(2000))
		default:
			c.b.WriteByte(' ')
		}
	}
}

// foreign writes a line that is not in ASCII.
func (c *corpus) foreign() {
	kind := c.r.IntN(4)
	for range 8 + c.r.IntN(8) {
		w := corpusWord(c.next())
		switch kind {
		case 0:
			w = strings.NewReplacer("a", "ä", "o", "ö", "u", "ü").Replace(w)
		case 1:
			if c.r.IntN(3) == 0 {
				w = "“" + strings.ToUpper(w[:1]) + w[1:] + "” — l’" + strings.ReplaceAll(w, "e", "é") + "…"
			}
		case 2:
			w = strings.Map(func(r rune) rune { return 'а' + (r-'a')%32 }, w)
			if c.r.IntN(8) == 0 {
				w = string(unicode.ToUpper([]rune(w)[0])) + w[2:]
			}
		case 3:
			w = strings.Map(func(r rune) rune { return 0x4E00 + (r-'a')*37 }, w[:2]) + "，"[:3*c.r.IntN(2)]
		}
		c.b.WriteString(w)
		if kind != 3 {
			c.b.WriteByte(' ')
		}
	}
}

func (c *corpus) prose(n int) {
	for end := c.b.Len() + n; c.b.Len() < end; {
		if c.r.IntN(10) == 0 {
			c.foreign()
		} else {
			c.sentence()
		}
		c.b.WriteString("\n "[c.r.IntN(2):][:1])
	}
}

// corpusProse is n bytes of prose with links and addresses between the sentences.
func corpusProse(n int, links bool) string {
	c := newCorpus()
	for c.b.Len() < n {
		c.prose(200)
		if links {
			c.b.WriteString(c.mail() + " " + c.link() + "\n")
		}
	}
	return c.b.String()
}

func (c *corpus) name() string { return corpusWord(c.rank(c.r.Float64())) }

func (c *corpus) mail() string {
	return fmt.Sprintf("%s.%s@%s.example", c.name(), c.name(), corpusWord(c.rank(c.r.Float64())%2000))
}

func (c *corpus) link() string {
	return fmt.Sprintf("https://www.%s.example/%s/%s?id=%d", corpusWord(c.rank(c.r.Float64())%2000), c.name(), c.name(), c.r.IntN(100_000))
}

func (c *corpus) row() string {
	c.b.Reset()
	c.sentence()
	return fmt.Sprintf(`{"id":"%08x-%04x","name":"%s %s","email":"%s","url":"%s","status":"%s","created_at":"2026-%02d-%02dT%02d:%02d:00Z","size":%d,"summary":"%s"}`,
		c.r.Uint32(), c.r.IntN(65536), c.name(), c.name(), c.mail(), c.link(), []string{"open", "closed", "in progress"}[c.r.IntN(3)],
		1+c.r.IntN(12), 1+c.r.IntN(28), c.r.IntN(24), c.r.IntN(60), c.r.IntN(1_000_000), c.b.String())
}

func (c *corpus) rows(n int) string {
	rows, size := []string{}, 0
	for size < n {
		rows = append(rows, c.row())
		size += len(rows[len(rows)-1])
	}
	return `{"total":` + fmt.Sprint(len(rows)) + `,"items":[` + strings.Join(rows, ",\n") + `]}`
}

func (c *corpus) html(n int) string {
	c.b.Reset()
	c.b.WriteString("<!DOCTYPE html><html><head><title>")
	c.sentence()
	c.b.WriteString("</title></head><body>")
	for c.b.Len() < n {
		fmt.Fprintf(&c.b, "<div class=\"section level-%d\"><h2 id=\"%s\">", c.r.IntN(4), c.name())
		c.sentence()
		fmt.Fprintf(&c.b, "</h2>\n<p>")
		c.prose(300)
		fmt.Fprintf(&c.b, "See <a href=\"%s\" rel=\"nofollow\">%s &amp; %s</a>.</p></div>\n", c.link(), c.name(), c.name())
	}
	return c.b.String() + "</body></html>"
}

func (c *corpus) mails(n int) string {
	c.b.Reset()
	for c.b.Len() < n {
		fmt.Fprintf(&c.b, "From: \"%s %s\" <%s>\nTo: %s, %s\nDate: Mon, %d Nov 2026 10:%02d:00 +0000\nMessage-ID: <%x@%s.example>\nSubject: ",
			c.name(), c.name(), c.mail(), c.mail(), c.mail(), 1+c.r.IntN(30), c.r.IntN(60), c.r.Uint64(), c.name())
		c.sentence()
		c.b.WriteString("\n\n")
		c.prose(1500)
		fmt.Fprintf(&c.b, "\n-- \n%s, %s\n\n", c.name(), c.mail())
	}
	return c.b.String()
}

func (c *corpus) markdown(n int) string {
	c.b.Reset()
	for c.b.Len() < n {
		c.b.WriteString("## ")
		c.sentence()
		c.b.WriteString("\n\n")
		c.prose(600)
		fmt.Fprintf(&c.b, "\n- [%s](%s)\n- `%s_%s.go:%d`\n\n```go\nif err := %s.%s(ctx, %s); err != nil {\n\treturn fmt.Errorf(\"%s: %%w\", err)\n}\n```\n",
			c.name(), c.link(), c.name(), c.name(), c.r.IntN(999), c.name(), c.name(), c.name(), c.name())
	}
	return c.b.String()
}

// output makes the next output, of about n bytes, and says how many the server sent.
func (c *corpus) output(t testing.TB, n int) (Output, int) {
	c.made++
	text := ""
	switch c.made % 6 {
	case 0:
		c.b.Reset()
		c.prose(n)
		text = c.b.String()
	case 1, 2:
		text = c.rows(n)
	case 3:
		text = c.html(n)
	case 4:
		text = c.mails(n)
	case 5:
		text = c.markdown(n)
	}
	out := Output{Upstream: "desk", Tool: "read", Call: uint64(c.made), Time: noon}
	var err error
	if c.made%6 == 1 {
		var v doc.Value
		if v, err = doc.Parse([]byte(`{"structuredContent":`+text+`}`), doc.Limits{}); err == nil {
			out.Value = v
		}
	} else {
		out.Value, err = doc.FromGo(result(text))
	}
	if err != nil {
		t.Fatal(err)
	}
	return out, len(text)
}

// The corpus repeats itself about as much as its comment says.
func TestCorpus(t *testing.T) {
	c := newCorpus()
	pairs, runs, words := map[[2]string]bool{}, map[[5]string]bool{}, 0
	const size = 1 << 20
	for c.b.Len() < size {
		c.sentence()
		c.b.WriteByte('\n')
	}
	fields := strings.FieldsFunc(strings.ToLower(c.b.String()), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	words = len(fields)
	for i := range fields[4:] {
		pairs[[2]string(fields[i:])] = true
		runs[[5]string(fields[i:])] = true
	}
	share := func(n int) float64 { return float64(n) / float64(words) }
	if p, r := share(len(pairs)), share(len(runs)); p < 0.35 || p > 0.45 || r < 0.85 || r > 0.95 {
		t.Errorf("of %d words, %.2f make a new pair and %.2f a new run", words, p, r)
	}
	if b := float64(size) / float64(words); b < 5.5 || b > 7 {
		t.Errorf("%.2f bytes a word", b)
	}
}

func mustValue(t interface{ Fatal(...any) }, v any) doc.Value {
	d, err := doc.FromGo(v)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
