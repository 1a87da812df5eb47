package flow

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Every run of five words is found wherever it began in the text that was recorded, whatever
// stood before it and behind it, and however many words the text had.
func TestRunsFoundWhereverTheyBegin(t *testing.T) {
	words := strings.Fields("alfa bravo charlie delta echo foxtrot golf hotel india juliett kilo")
	for n := runWords; n <= len(words); n++ {
		l := observed(t, strings.Join(words[:n], " "))
		for from := 0; from+runWords <= n; from++ {
			for _, around := range []string{"%s", "so %s", "%s so", "so many %s then so"} {
				text := fmt.Sprintf(around, strings.Join(words[from:from+runWords], " "))
				if c := l.Copied(text); c.Copied != runWords {
					t.Errorf("of %d words: %q: %d are copied", n, text, c.Copied)
				}
			}
			for _, other := range []int{from, from + runWords - 1} { // the word that no entry has
				text := append([]string(nil), words[from:from+runWords]...)
				text[other-from] = "xray"
				if c := l.Copied(strings.Join(text, " ")); c.Copied != 0 {
					t.Errorf("of %d words: %q: %d are copied", n, text, c.Copied)
				}
			}
		}
	}
}

// The batches and windows that a text is taken in make no difference.
func TestRunsOfLongText(t *testing.T) {
	var words []string
	for i := range 4*batchLen + 3*aheadWords + 5 {
		words = append(words, fmt.Sprintf("w%d", i))
	}
	for _, cut := range []int{0, 1, 2, 3} {
		l := observed(t, strings.Join(words[cut:], " "))
		for from := cut; from+runWords <= len(words); from += 7 {
			if c := l.Copied(strings.Join(words[from:from+runWords], " ")); c.Copied != runWords {
				t.Fatalf("cut at %d: the words from %d: %d are copied", cut, from, c.Copied)
			}
		}
	}
}

// Four words that stand beside ever another fill no leaf: any word then counts as the fifth.
// Other words beside them still do not.
func TestSameFourWordsAgainAndAgain(t *testing.T) {
	var b strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&b, "one two three four n%d ", i)
	}
	l := observed(t, b.String())
	for _, text := range []string{"one two three four n7", "n7 one two three four", "one two three four n19999", "n9 one two three four n10"} {
		if c := l.Copied(text); c.Copied != c.Words {
			t.Errorf("%q: %d of %d words are copied", text, c.Copied, c.Words)
		}
	}
	if c := l.Copied("one two three five n7"); c.Copied != 0 {
		t.Errorf("%d words of others are copied", c.Copied)
	}
	longest := 0
	for _, g := range l.facts.runs.groups {
		for _, n := range g.used {
			longest = max(longest, int(n))
		}
	}
	if longest > 4*leafMost {
		t.Errorf("a leaf of %d bytes", longest)
	}
}

// A set of entries finds what a list of them does, unless the same four words stood beside
// many: then it may find more, and never less.
func TestEntriesAgainstList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newRunSet()
		s.roomy = rapid.Bool().Draw(t, "roomy")
		type context struct{ four, before, behind uint64 }
		word := rapid.Uint64Range(0, uint64(rapid.SampledFrom([]int{3, 40, 1000}).Draw(t, "words")))
		four := func(n uint64) uint64 { return mixed(n) &^ (1<<keyShift - 1) }
		var added []context
		key := rapid.Uint64Range(0, uint64(rapid.SampledFrom([]int{1, 20, 5000}).Draw(t, "keys")))
		for range rapid.SampledFrom([]int{1, 50, 3000}).Draw(t, "entries") {
			c := context{four(key.Draw(t, "four")), word.Draw(t, "before"), 1 + word.Draw(t, "behind")}
			added = append(added, c)
			if !s.add(runEntry(c.four, c.before, c.behind), always) {
				t.Fatal("refused")
			}
		}
		contexts := map[uint64]map[context]bool{}
		for _, c := range added {
			if contexts[c.four] == nil {
				contexts[c.four] = map[context]bool{}
			}
			contexts[c.four][c] = true
		}
		for range 200 {
			c := context{four(key.Draw(t, "four")), word.Draw(t, "before"), word.Draw(t, "behind")}
			if rapid.Bool().Draw(t, "added") {
				c = added[rapid.IntRange(0, len(added)-1).Draw(t, "which")]
			}
			wantBefore, wantBehind := false, false
			for had := range contexts[c.four] {
				wantBefore = wantBefore || c.before != 0 && had.before == c.before
				wantBehind = wantBehind || c.behind != 0 && had.behind == c.behind
			}
			before, behind := s.fifth(runEntry(c.four, c.before, c.behind))
			if wantBefore && !before || wantBehind && !behind {
				t.Fatalf("%+v is not found: %v %v", c, before, behind)
			}
			if few := len(contexts[c.four]) < maxContexts; few && (before != wantBefore || behind != wantBehind) {
				t.Fatalf("%+v: %v %v, want %v %v", c, before, behind, wantBefore, wantBehind)
			}
		}
	})
}
