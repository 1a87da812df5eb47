package sallyport

import (
	"fmt"
	"strings"

	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/flow"
)

// maxContent bounds the text of one call that is searched for what it carries, in bytes;
// what is longer counts as carrying something.
const maxContent = 4 << 20

// content looks at what a call carries beside its destinations: secrets in everything,
// references and copies in what is no sink. sinks are the places that were read as
// destinations.
func (e *evaluation) content(sinks map[string]bool) bool {
	if e.s.ledger.Damaged() != nil && !e.verdict(e.by.opt.Flow.Carried, Question{Check: CheckFlow, origin: "carried", Text: "what other servers of this client have shown cannot be read any more, so that nobody knows what the call carries"}) {
		return false
	}
	rest, ok := maxContent, true
	walk := func(v doc.Value) {
		doc.Walk(v, func(scalar Value, isName bool, place func() string) bool {
			var text string
			switch scalar.Kind() {
			case doc.String:
				text = scalar.String()
			case doc.Number:
				text = scalar.Number()
			}
			if text == "" {
				return true
			}
			if rest -= len(text); rest < 0 {
				at := place()
				ok = e.verdict(e.by.opt.Flow.Copies, Question{Check: CheckFlow, Argument: at, origin: "copied", Text: fmt.Sprintf("the call carries more than %d MB of text, which is not searched for what it carries", maxContent>>20)})
				return false
			}
			ok = e.carries(text, isName, place, sinks)
			return ok
		})
	}
	walk(e.p.call.Args)
	return ok
}

// carries checks one text of a call.
func (e *evaluation) carries(text string, isName bool, place func() string, sinks map[string]bool) bool {
	set, l := e.by.opt.Flow, e.s.ledger
	if !e.holdsSecret(text, place) {
		return false
	}
	if inSink(sinks, place) {
		return true
	}
	if set.Carried != Allow {
		for _, c := range l.Carried(text, e.trusted) {
			if l.IsOwnID(e.p.call.Upstream, place(), text) {
				break // back to where it came from
			}
			if isName && c.Origin == flow.Unknown && !c.More {
				continue // many names have dots
			}
			at, named := place(), "a link, address or account"
			switch {
			case c.More:
				named = "more links, addresses or accounts than are listed"
			case c.Text != "":
				named = quoted(c.Text)
			}
			e.carriedEvidence(at, c.Text, "carried", c.Evidence)
			if !e.verdict(set.Carried, Question{
				Check: CheckFlow, Argument: at, Destination: c.Text, origin: "carried",
				Text: fmt.Sprintf("argument %s passes on %s%s", shown(at), named, carriedFrom(e.p.call.Upstream, c)),
			}) {
				return false
			}
		}
	}
	if set.Copies == Allow {
		return true
	}
	if c := l.Copied(text); c.Words > 0 && 2*c.Copied >= c.Words && c.Copied > 0 {
		at := place()
		e.carriedEvidence(at, "", "copied", c.Evidence)
		return e.verdict(set.Copies, Question{
			Check: CheckFlow, Argument: at, origin: "copied",
			Text: fmt.Sprintf("argument %s is copied word for word, half of it or more, from text that nobody vouched for%s", shown(at), from(e.p.call.Upstream, c.Evidence)),
		})
	}
	return true
}

func (e *evaluation) holdsSecret(text string, place func() string) bool {
	ev, found := e.s.ledger.Secret(text)
	if !found {
		return true
	}
	at := place()
	e.carriedEvidence(at, "", "secret", ev)
	return e.verdict(e.by.opt.Flow.Secret, Question{
		Check: CheckFlow, Argument: at, origin: "secret",
		Text: fmt.Sprintf("argument %s holds a value that must not leave; it was read in %s", shown(at), where(e.p.call.Upstream, ev)),
	})
}

// trusted reports what the contract or the user trusts as a destination: it may stand in content too.
func (e *evaluation) trusted(d flow.Destination) bool {
	return e.p.contract != nil && e.trusts(e.p.contract, d)
}

// carriedFrom says where a reference in content comes from.
func carriedFrom(here string, c flow.Carried) string {
	switch {
	case c.More:
		return ""
	case c.Evidence.Tool == "" && c.Evidence.Call == 0, c.Evidence.Partial:
		return ", a link that was never seen before: nobody vouched for it"
	case c.Origin == flow.Inside:
		return ", from the page or file that was fetched in " + where(here, c.Evidence)
	}
	return ", first seen in " + where(here, c.Evidence)
}

func from(here string, ev flow.Evidence) string {
	if ev.Tool == "" && ev.Call == 0 {
		return ""
	}
	return ", in " + where(here, ev)
}

// inSink reports that a place lies in one that was read as destinations.
func inSink(sinks map[string]bool, place func() string) bool {
	if len(sinks) == 0 {
		return false
	}
	for at := place(); ; {
		if sinks[at] {
			return true
		}
		i := strings.LastIndexAny(at, ".[")
		if i < 0 {
			return false
		}
		at = at[:i]
	}
}

func (e *evaluation) carriedEvidence(at, text, origin string, ev flow.Evidence) {
	e.d.Evidence = append(e.d.Evidence, Evidence{
		Argument: at, Destination: text, Origin: origin, Upstream: ev.Upstream, Tool: ev.Tool,
		Call: ev.Call, Time: ev.Time, Place: ev.Place,
	})
}

// typedParams asks about arguments that only the user may have written.
func (e *evaluation) typedParams() bool {
	for _, param := range e.p.contract.TypedParams {
		found, more := param.Select(e.p.call.Args, maxValues)
		text, moreText := param.Blocked(e.p.call.Args, maxValues)
		if more || moreText {
			return e.deny(CheckFlow, "argument %s holds more than %d values", param, maxValues)
		}
		for _, m := range append(found, text...) {
			doc.Walk(m.Value, func(scalar Value, isName bool, _ func() string) bool {
				if isName || e.typed(scalar) {
					return true
				}
				// The value may be a password: it is not shown here, but with the call's arguments.
				e.ask(Question{
					Check: CheckFlow, Argument: m.Place, origin: "not typed",
					Text: fmt.Sprintf("argument %s is for the user alone to choose, and what it holds is not what the user typed", shown(m.Place)),
				})
				return false
			})
		}
	}
	return true
}

func (e *evaluation) typed(v Value) bool {
	switch v.Kind() {
	case doc.String:
		return strings.TrimSpace(v.String()) == "" || e.s.ledger.IsTyped(v.String())
	case doc.Number:
		return e.s.ledger.IsTyped(v.Number())
	}
	return v.Kind() == doc.Null
}
