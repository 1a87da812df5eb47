package sallyport

import (
	"fmt"
	"strings"

	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/flow"
	"github.com/sallyport-dev/sallyport/policy"
)

// flow finds where every destination of a sink call is known from.
func (e *evaluation) flow() bool {
	switch {
	case e.p.call.Subject == policy.Resource:
		return e.resourceFlow()
	case e.p.contract == nil || !e.p.contract.Exfiltrating:
		return true
	}
	c := e.p.contract
	destinations, declared, ok := e.destinations(c)
	if !ok {
		return false
	}
	// A trusted value elsewhere says nothing of where the call goes.
	if declared == 0 && !e.unknown(Question{Check: CheckFlow, Text: fmt.Sprintf("call %s, which sends something out, though no destination was found in its arguments", quoted(e.p.call.Name))}) {
		return false
	}
	for _, d := range destinations {
		if trusts(c, d) && d.Malformed == "" {
			continue
		}
		if !e.judge(d) {
			return false
		}
	}
	return true
}

func trusts(c *contract.Contract, d flow.Destination) bool {
	for _, p := range c.TrustedDestinations {
		if p.Matches(d) {
			return true
		}
	}
	return false
}

// members finds every top-level argument with its place.
var members = func() doc.Selector {
	s, err := doc.ParseSelector("[*]")
	if err != nil {
		panic(err)
	}
	return s
}()

// destinations reads every argument: declared sinks whole, others when they are a
// destination as they stand. declared is how many the sinks hold.
func (e *evaluation) destinations(c *contract.Contract) (all []flow.Destination, declared int, ok bool) {
	args := e.p.call.Args
	read := make(map[string]bool)
	for _, param := range c.SinkParams {
		found, more := param.Select(args, flow.MaxDestinations)
		// items[*].email of a list that came as text: the server may well parse it.
		text, moreText := param.Blocked(args, flow.MaxDestinations)
		if more || moreText {
			return nil, 0, e.deny(CheckFlow, "argument %s holds more than %d destinations", param, flow.MaxDestinations)
		}
		for _, m := range append(found, text...) {
			if !read[m.Place] {
				read[m.Place] = true
				all = append(all, flow.Flatten(m.Place, m.Value)...)
			}
		}
	}
	others, more := members.Select(args, maxValues)
	if more {
		return nil, 0, e.deny(CheckFlow, "the call has more than %d arguments", maxValues)
	}
	var scanned []flow.Destination
	for _, m := range others {
		switch {
		case read[m.Place]:
		case len(c.SinkParams) == 0:
			all = append(all, flow.Flatten(m.Place, m.Value)...)
		default:
			scanned = append(scanned, flow.Scan(m.Place, m.Value)...)
		}
	}
	for m := range args.Members() {
		if strings.ContainsAny(m.Name, "@.:") {
			scanned = append(scanned, flow.ScanText("(name)", m.Name)...)
		}
	}
	all, declared = append(all, scanned...), len(all)
	return all, declared, e.bounded(all)
}

func (e *evaluation) bounded(all []flow.Destination) bool {
	if len(all) > flow.MaxDestinations {
		return e.deny(CheckFlow, "the call names more than %d destinations", flow.MaxDestinations)
	}
	return true
}

// judge turns what is known of a destination into a refusal, a question or nothing.
func (e *evaluation) judge(d flow.Destination) bool {
	if d.Malformed != "" {
		e.d.Evidence = append(e.d.Evidence, Evidence{Argument: d.Place, Destination: d.Raw, Origin: flow.Malformed.String()})
		return e.deny(CheckFlow, "destination %s=%s is refused: %s", shown(d.Place), quoted(d.Raw), d.Malformed)
	}
	f := e.s.ledger.Lookup(d)
	full := f.Origin == flow.Unknown && e.s.ledger.Full()
	if f.Origin >= flow.Typed {
		return true
	}
	e.evidence(d, f)
	if f.Origin == flow.Unknown && !full {
		return e.unknown(Question{
			Check: CheckFlow, Argument: d.Place, Destination: d.Canonical, origin: f.Origin.String(),
			Text: fmt.Sprintf("destination %s=%s is not a vouched recipient%s", shown(d.Place), quoted(d.Raw), partly(f)),
		})
	}
	text := fmt.Sprintf("destination %s=%s %s", shown(d.Place), quoted(d.Raw), seen(f, full))
	if e.s.engine.opt.Flow.AskUntrusted {
		e.ask(Question{Check: CheckFlow, Argument: d.Place, Destination: d.Canonical, Text: text, origin: flow.Untrusted.String()})
		return true
	}
	return e.deny(CheckFlow, "%s; untrusted text does not choose where things go. Ask the user for the destination, or have it added to trusted_destinations", text)
}

// unknown gives a destination that nobody vouched for the verdict that the settings say.
func (e *evaluation) unknown(q Question) bool {
	switch e.s.engine.opt.Flow.Unknown {
	case AllowUnknown:
		return true
	case DenyUnknown:
		return e.deny(CheckFlow, "%s", q.Text)
	default:
		e.ask(q)
		return true
	}
}

func (e *evaluation) evidence(d flow.Destination, f flow.Finding) {
	if len(f.Evidence) == 0 {
		e.d.Evidence = append(e.d.Evidence, Evidence{Argument: d.Place, Destination: d.Canonical, Origin: f.Origin.String()})
	}
	for _, ev := range f.Evidence {
		e.d.Evidence = append(e.d.Evidence, Evidence{
			Argument: d.Place, Destination: d.Canonical, Origin: f.Origin.String(), Upstream: ev.Upstream, Tool: ev.Tool,
			Call: ev.Call, Time: ev.Time, Place: ev.Place, Partial: ev.Partial,
		})
	}
}

// seen says where a destination was first seen.
func seen(f flow.Finding, full bool) string {
	if full {
		return "was never seen, but the ledger of this session is full, so it counts as untrusted"
	}
	if len(f.Evidence) == 0 {
		return "was first seen in untrusted output"
	}
	return "was first seen in " + where(f.Evidence[0])
}

func partly(f flow.Finding) string {
	if len(f.Evidence) == 0 {
		return ""
	}
	return "; only its domain was seen, in " + where(f.Evidence[0])
}

func where(ev flow.Evidence) string {
	var b strings.Builder
	fmt.Fprintf(&b, "the output of %s", quoted(ev.Tool))
	if ev.Call != 0 {
		fmt.Fprintf(&b, " (call %d, %s)", ev.Call, ev.Time.Format("15:04:05"))
	} else {
		fmt.Fprintf(&b, " (%s)", ev.Time.Format("15:04:05"))
	}
	if ev.Place != "" {
		fmt.Fprintf(&b, " at %s", ev.Place)
	}
	return b.String()
}

// resourceFlow treats a resource URI that a server would fetch over a network as a
// destination, unless the upstream lists it as its own.
func (e *evaluation) resourceFlow() bool {
	c := e.p.call
	if e.s.lists(c.Upstream, c.Name) {
		return true
	}
	for _, d := range flow.Reference("uri", c.Name) {
		if !e.judge(d) {
			return false
		}
	}
	return true
}
