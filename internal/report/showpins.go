package report

import (
	"slices"
	"strings"
	"time"

	"github.com/sallyport-dev/sallyport/internal/pins"
)

// showPins says what is pinned of each server, and what waits for a person.
func (b *builder) showPins() []block {
	blocks := []block{{sub: "Pins"}}
	if len(b.in.Pins) == 0 {
		return append(blocks, paragraph(say("No pins of these servers are kept where this command looked. The gateway keeps them with its state and refuses a tool whose definition changes; see "), say("sallyport pins list"), say(".")))
	}
	t := &table{head: []string{"Server", "Tools pinned", "How", "Since", "Waiting for a person"}}
	for _, f := range b.in.Pins {
		for _, s := range f.Sets {
			t.rows = append(t.rows, []line{val(f.Shown), num(len(s.Pins)), say(howWords(s)), say(day(s.First)), waiting(s)})
		}
	}
	return append(blocks,
		paragraph(say("A definition is pinned when a server first lists it. A tool that is new or changed later is refused until a person has accepted the difference.")),
		block{table: t.capped(100)})
}

func howWords(s *pins.Set) string {
	n := map[pins.How]int{}
	for _, p := range s.Pins {
		n[p.How]++
	}
	var l []string
	for _, h := range []struct {
		how  pins.How
		what string
	}{{pins.First, "on first use"}, {pins.Same, "as for another client"}, {pins.Accepted, "accepted by a person"}} {
		if n[h.how] > 0 {
			l = append(l, num(n[h.how])[0].text+" "+h.what)
		}
	}
	return strings.Join(l, ", ")
}

func waiting(s *pins.Set) line {
	if len(s.Waiting) == 0 {
		return say("none")
	}
	names := make([]string, 0, len(s.Waiting))
	for n := range s.Waiting {
		names = append(names, n)
	}
	slices.Sort(names)
	return vals(names, 10)
}

func day(t time.Time) string { return t.UTC().Format("2006-01-02") }
