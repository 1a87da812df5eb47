package flow

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const minutes = "The board agreed to move the office to the harbour in spring. Nobody objected to the plan."

func TestCopied(t *testing.T) {
	for _, c := range []struct {
		name, output, text string
		words, copied      int
	}{
		{"all", minutes, minutes, 17, 17},
		{"nothing", minutes, "Lunch is at noon, bring the plan please", 8, 0},
		{"empty", minutes, "", 0, 0},
		{"four words", minutes, "the board agreed to", 4, 0},
		{"five words", minutes, "the board agreed to move", 5, 5},
		{"four of the words", minutes, "the board agreed to leave", 5, 0},
		{"inside", minutes, "hello all the office to the harbour in spring bye", 10, 7},
		{"two runs", minutes, "the board agreed to move on and nobody objected to the plan", 12, 10},
		{"runs that touch", minutes, "board agreed to move the harbour in spring nobody objected", 10, 10},
		{"across a full stop", minutes, "harbour in spring nobody objected", 5, 5},
		{"turned round", minutes, "move to agreed board the", 5, 0},
		{"pairs alone", "a b c x. b c d x. c d e x.", "a b c d e", 5, 0},
		{"case", minutes, strings.ToUpper(minutes), 17, 17},
		{"punctuation", minutes, strings.ReplaceAll(minutes, " ", " -- "), 17, 17},
		{"white space", minutes, strings.ReplaceAll(minutes, " ", "\n\t "), 17, 17},
		{"zero width", minutes, strings.ReplaceAll(minutes, "o", "o\u200b"), 17, 17},
		{"soft hyphen in output", strings.ReplaceAll(minutes, "a", "\u00ada"), minutes, 17, 17},
		{"full width", minutes, wide(minutes), 17, 17},
		{"full width in output", wide(minutes), minutes, 17, 17},
		{"no spaces", "予算を確認して下さい", "では予算を確認して", 9, 7},
		{"numbers", "rows 1 2 3 4 5 6", "1,2,3,4,5", 5, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := observed(t, c.output)
			got := l.Copied(c.text)
			if got.Words != c.words || got.Copied != c.copied {
				t.Errorf("%d of %d words, want %d of %d", got.Copied, got.Words, c.copied, c.words)
			}
			if got.Evidence != (Evidence{}) && (c.copied == 0 || got.Evidence != Evidence{Upstream: "desk", Tool: "read", Call: 1, Time: noon, Place: "content[0].text"}) {
				t.Errorf("evidence %+v", got.Evidence)
			}
		})
	}
}

func wide(s string) string {
	return strings.Map(func(r rune) rune {
		if r > ' ' && r < 0x7f {
			return r + 0xFEE0
		}
		return r
	}, s)
}

// A run is in one string: it does not go on in the next, nor in the name of a member.
func TestRunsEndWithTheString(t *testing.T) {
	l := NewLedger(LedgerOptions{Key: testKey})
	l.Observe(output(t, "read", 1, map[string]any{"content": []any{
		map[string]any{"text": "one two three"}, map[string]any{"text": "four five six"}, map[string]any{"text": "un deux trois quatre cinq six"},
	}}))
	l.Observe(output(t, "read", 2, map[string]any{"structuredContent": map[string]any{"alpha beta": "gamma delta epsilon"}}))
	for _, s := range []string{"one two three four five six", "six un deux trois quatre", "alpha beta gamma delta epsilon"} {
		if c := l.Copied(s); c.Copied != 0 {
			t.Errorf("%q: %+v", s, c)
		}
	}
}

// Evidence is the first place of one of the runs, or none at all; of a long copy it is
// known.
func TestCopyEvidence(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	l := NewLedger(LedgerOptions{Key: [16]byte{1}})
	texts := make([]string, 50)
	for i := range texts {
		words := make([]string, 200)
		for j := range words {
			words[j] = fmt.Sprintf("w%d", r.IntN(20)) // of words that all of them have
		}
		texts[i] = strings.Join(words, " ")
		l.Observe(output(t, "read", uint64(i), result(texts[i])))
	}
	for i, s := range texts {
		c := l.Copied("so: " + s)
		if c.Copied != 200 || c.Words != 201 || c.Evidence.Tool != "read" || c.Evidence.Call != uint64(i) {
			t.Fatalf("text %d: %+v", i, c)
		}
	}
	if c := l.Copied(texts[3][:30]); c.Copied == 0 || c.Evidence != (Evidence{}) && c.Evidence.Call != 3 {
		t.Errorf("a short copy: %+v", c)
	}
	l.facts.goBlind()
	if c := l.Copied(texts[3]); c.Copied != 200 || c.Evidence != (Evidence{}) {
		t.Errorf("without evidence: %+v", c)
	}
}

func TestNoCopies(t *testing.T) {
	l := NewLedger(LedgerOptions{NoCopies: true})
	l.Observe(output(t, "read", 1, result(minutes)))
	if c := l.Copied(minutes); c.Copied != 0 || c.Words != 17 || l.facts.runs.count != 0 {
		t.Errorf("%+v, %d runs", c, l.facts.runs.count)
	}
}

// Copied counts what comparing every run of the text with every run of the output does.
func TestCopiedAgainstComparison(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SampledFrom([]string{"a", "b", "c", "defghijk"})
		seen := rapid.SliceOfN(word, 0, 60).Draw(t, "output")
		text := rapid.SliceOfN(word, 0, 60).Draw(t, "text")
		runs := map[[5]string]bool{}
		for i := 0; i+5 <= len(seen); i++ {
			runs[[5]string(seen[i:])] = true
		}
		copied := make([]bool, len(text))
		for i := 0; i+5 <= len(text); i++ {
			for j := range 5 {
				copied[i+j] = copied[i+j] || runs[[5]string(text[i:])]
			}
		}
		want := 0
		for _, c := range copied {
			if c {
				want++
			}
		}
		l := NewLedger(LedgerOptions{Key: testKey})
		l.Observe(Output{Value: mustValue(t, result(strings.Join(seen, " ")))})
		if c := l.Copied(strings.Join(text, " ")); c.Copied != want || c.Words != len(text) {
			t.Fatalf("%d of %d, want %d of %d", c.Copied, c.Words, want, len(text))
		}
	})
}

// A text longer than a batch and a window.
func TestLongCopy(t *testing.T) {
	c := newCorpus()
	c.prose(300 << 10)
	text := c.b.String()
	l := observed(t, text)
	if got := l.Copied(text); got.Words < 40_000 || got.Copied != got.Words || got.Evidence.Call != 1 {
		t.Errorf("%+v", got)
	}
	if got := observed(t, "other words are here now").Copied(text); got.Copied != 0 {
		t.Errorf("%+v", got)
	}
}

// Letters of another script that are drawn alike are read by people as the text itself.
func TestCopiesInLettersDrawnAlike(t *testing.T) {
	const text = "the board has agreed to postpone the announcement until the numbers are final"
	l := NewLedger(LedgerOptions{Key: testKey})
	l.Observe(output(t, "read", 1, result(text)))
	for _, s := range []string{text, strings.ReplaceAll(text, "a", "а"), strings.ReplaceAll(text, "e", "е"), "Цитата: " + text} {
		if c := l.Copied(s); 2*c.Copied < c.Words {
			t.Errorf("%s: %d of %d words", s, c.Copied, c.Words)
		}
	}
	if c := l.Copied("совет решил отложить объявление до понедельника"); c.Copied != 0 {
		t.Errorf("%d words of another text", c.Copied)
	}
}
