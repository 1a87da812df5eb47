package flow

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A place is the same whatever was written of it for the values before.
func TestPlacesAreWrittenInPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drawHop := func() hop {
			return hop{
				kind: hopKind(rapid.IntRange(0, int(hopHeader)).Draw(t, "kind")),
				pos:  rapid.IntRange(0, 1200).Draw(t, "pos"),
				name: rapid.SampledFrom([]string{"", "x", "content", "text", "structuredContent"}).Draw(t, "name"),
			}
		}
		var o observer
		for range 60 {
			n := len(o.path)
			switch what := rapid.IntRange(0, 9).Draw(t, "step"); {
			case what < 5 || n == 0:
				o.push(drawHop())
			case what < 7:
				o.pop()
			case what < 8:
				o.path[n-1] = drawHop()
			}
			if rapid.Bool().Draw(t, "mark") {
				if got, want := string(o.appendPlace([]byte("before"))), "before"+spelledPlace(o.path); got != want {
					t.Fatalf("%q, not %q", got, want)
				}
			}
		}
	})
}

func spelledPlace(path []hop) string {
	s, cut := "", false
	for i, h := range path {
		if cut = len(s) > maxPlace; cut {
			break
		}
		switch own := protocolNames[h.name]; {
		case h.kind == hopElement:
			s += fmt.Sprintf("[%d]", h.pos)
		case h.kind == hopName:
			s += " (name)"
		case h.kind == hopJSON:
			s += " (JSON) "
		case h.kind == hopHeader:
			s += fmt.Sprintf(" (header %d)", h.pos+1)
		case !own:
			s += fmt.Sprintf("[#%d]", h.pos)
		case i > 0 && path[i-1].kind != hopJSON:
			s += "." + h.name
		default:
			s += h.name
		}
	}
	if cut {
		return s[:maxPlace] + "…"
	}
	return s
}

// Names that are said to be none at a glance are none.
func TestIDNamesAtAGlance(t *testing.T) {
	for word := range idWords {
		for _, name := range []string{word, "message_" + word, "issue" + string(word[0]-32) + word[1:]} {
			if want := name != "key"; idName(name) != want {
				t.Errorf("%s: %v", name, !want)
			}
		}
	}
	if slices.ContainsFunc([]string{"status", "summary", "name", "d", "", "paid", "grid"}, idName) {
		t.Error("a name of something else is taken for that of an id")
	}
}

// Texts that are said to be ids at a glance are what the rule says.
func TestIDTextsAtAGlance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOfN(rapid.RuneFrom([]rune("azAZ09-_-_@./: \t\n\\\u00a0\uff0e\uff21=?\u202e")), 0, 12, -1).Draw(t, "text")
		want := s != "" && !strings.ContainsAny(s, "@./:") && hostileText(s) == "" && !strings.ContainsAny(Fold(s), "@./: ")
		if idText(s) != want {
			t.Fatalf("%q: %v", s, !want)
		}
	})
	if idText(strings.Repeat("a", maxGrant+1)) || !idText(strings.Repeat("a", maxGrant)) {
		t.Error("the length of an id is not bounded as it should be")
	}
}
