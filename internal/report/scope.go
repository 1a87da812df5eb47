package report

import (
	"slices"
	"strings"
	"time"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/internal/config"
)

// facts is a table of two columns.
func facts(rows ...[]line) block {
	return block{table: &table{head: []string{"What", "Value"}, rows: rows, facts: true}}
}

func fact(what string, value line) []line { return []line{say(what), value} }

func (b *builder) scope() []block {
	c := b.in.Config
	rows := [][]line{
		fact("Made", say(date(b.in.Made))),
		fact("Program", join(say("sallyport "), val(b.in.Program))),
		fact("Built with", join(val(b.in.Go), say(" for "), val(b.in.Platform))),
	}
	if c.File == "" {
		rows = append(rows, fact("Configuration", say("none: the built-in defaults")))
	} else {
		rows = append(rows, fact("Configuration", val(c.File)))
		for _, s := range c.Sources {
			if s.File != c.File {
				rows = append(rows, fact("Contracts file", val(s.File)))
			}
		}
		rows = append(rows, fact("Configuration digest", join(say("SHA-256 "), val(c.Digest))))
	}
	for _, p := range b.in.Policies {
		rows = append(rows, fact("Policy", join(val(p.Name()), say(", digest "), val(p.Digest()))))
	}
	rows = append(rows, fact("Mode", b.mode()), fact("Flow", b.flowWords()))
	if l := b.in.Log; l != nil {
		rows = append(rows, fact("Log", val(l.Path)), fact("Days looked at", say(daysWords(l.Since, l.Until))))
		if b.log.Matched > 0 {
			rows = append(rows, fact("Records looked at", sayf("%d, numbers %d to %d, %s to %s", b.log.Matched, b.log.FirstSeq, b.log.LastSeq, date(b.log.Total.First), date(b.log.Total.Last))))
		} else {
			rows = append(rows, fact("Records looked at", say("none in that time")))
		}
	} else {
		rows = append(rows, fact("Log", say("none was read")))
	}
	switch {
	case len(b.in.Tools) == 0:
		rows = append(rows, fact("Tools", say("no list was given: only tools that the configuration or the log names are shown")))
	case b.in.FromPins:
		rows = append(rows, fact("Tools", say("as they are pinned: no list was given")))
	default:
		rows = append(rows, fact("Tools", say("as the given lists have them")))
	}
	blocks := []block{facts(rows...)}
	if ups := c.Upstreams; len(ups) > 0 {
		t := &table{head: []string{"Upstream", "Reached by", "What"}}
		for _, u := range ups {
			t.rows = append(t.rows, []line{val(u.Name), say(u.Transport.String()), val(reach(u))})
		}
		blocks = append(blocks, block{sub: "Upstreams"}, block{table: t.capped(100)})
	}
	if len(c.Tokens) > 0 {
		t := &table{head: []string{"Caller", "Policy", "Valid until"}}
		for _, k := range c.Tokens {
			until := say("no end")
			if !k.Expires.IsZero() {
				until = say(date(k.Expires))
			}
			t.rows = append(t.rows, []line{val(k.Name), val(k.Policy), until})
		}
		blocks = append(blocks, block{sub: "Callers"}, block{table: t.capped(200)})
	}
	return blocks
}

// reach is where an upstream is, without what may be secret.
func reach(u *config.Upstream) string {
	if u.Transport == config.HTTP {
		at, _, _ := strings.Cut(u.URL, "?")
		return audit.RedactText(at)
	}
	return u.Command
}

func (b *builder) mode() line {
	var dry []string
	for _, p := range b.in.Policies {
		if b.dry(p) {
			dry = append(dry, p.Name())
		}
	}
	if len(dry) == 0 {
		return say("everything is enforced")
	}
	return join(say("dry run, nothing of it is enforced: "), vals(dry, 20))
}

// daysWords is two days in words. until is the first moment after.
func daysWords(since, until time.Time) string {
	const day = "2006-01-02"
	switch {
	case since.IsZero() && until.IsZero():
		return "all"
	case until.IsZero():
		return since.Format(day) + " and later"
	case since.IsZero():
		return "up to " + until.AddDate(0, 0, -1).Format(day)
	}
	return since.Format(day) + " to " + until.AddDate(0, 0, -1).Format(day)
}

// profile is the name of a flow profile with these settings, "" if none has them.
func profile(f sallyport.FlowSettings) string {
	f.LedgerBytes = 0
	i := slices.IndexFunc(sallyport.Profiles(), func(name string) bool {
		s, _ := sallyport.Profile(name)
		return s == f
	})
	if i < 0 {
		return ""
	}
	return sallyport.Profiles()[i]
}

func (b *builder) flowWords() line {
	f := b.in.Config.Flow
	name := profile(f)
	if name == "" {
		name = "settings of its own"
	} else {
		name = "profile " + name
	}
	words := name + ": a destination first seen in untrusted output is " + verdictWord(f.Untrusted) +
		", in text by people inside " + verdictWord(f.Inside) + ", in a field that names a party " + verdictWord(f.Party) +
		", one that was never seen " + verdictWord(f.Unknown)
	if f.Endorse {
		words += "; a page or file that the user named counts as text from inside"
	}
	return say(words)
}

func verdictWord(v sallyport.Verdict) string {
	switch v {
	case sallyport.Allow:
		return "allowed"
	case sallyport.Ask:
		return "asked about"
	}
	return "refused"
}
