package sallyport

import (
	"fmt"
	"strings"

	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/flow"
	"github.com/sallyport-dev/sallyport/policy"
)

// flow finds where every destination of a sink call is known from, and looks at what the
// call carries there.
func (e *evaluation) flow() bool {
	e.p.echo, e.p.wrote = nil, nil
	if e.p.call.Answers.Len() > 0 && !e.answers(e.p.call.Answers) {
		return false
	}
	c := e.p.contract
	switch {
	case e.p.call.Subject == policy.Resource:
		return e.resourceFlow() && e.holdsSecret(e.p.call.Name, func() string { return "uri" }) && e.content(nil)
	case c == nil:
		return e.content(nil) // a prompt's arguments
	case !c.Exfiltrating:
		return e.typedParams()
	}
	destinations, declared, sinks, ok := e.destinations(c)
	if !ok {
		return false
	}
	if declared == 0 && e.s.ledger.Damaged() != nil {
		return e.deny(CheckFlow, "call %s names no destination, and what other servers of this client have shown cannot be read any more", quoted(e.p.call.shown()))
	}
	// A trusted value elsewhere says nothing of where the call goes.
	if declared == 0 && !c.DestinationOptional && !e.verdict(e.by.opt.Flow.Unknown, Question{Check: CheckFlow, Text: fmt.Sprintf("%s sends something out, and no destination was found in its arguments", quoted(e.p.call.shown()))}) {
		return false
	}
	joined, ok := e.joined(c)
	if !ok {
		return false
	}
	for _, d := range destinations {
		if joined[d.Place] || e.trusts(c, d) && d.Malformed == "" {
			if !joined[d.Place] {
				e.listEvidence(c, d)
			}
			e.p.echo = append(e.p.echo, d)
			if !joined[d.Place] && !e.query(d) {
				return false
			}
			continue
		}
		if !e.judge(d) {
			return false
		}
	}
	return e.typedParams() && e.content(sinks)
}

// query looks at what a trusted URL carries in its path and query: trust goes by the host,
// and a host may send on, or write to, what a request names.
func (e *evaluation) query(d flow.Destination) bool {
	set := e.by.opt.Flow
	if d.Kind != flow.URL || set.Carried == Allow {
		return true
	}
	for _, c := range e.s.ledger.Carried(d.Raw, e.trusted) {
		if c.Origin != flow.Untrusted || c.Text != "" && !strings.ContainsAny(c.Text, "@.") {
			continue // an account: ids of the server's own look the same
		}
		named := "a link or address"
		if c.Text != "" {
			named = quoted(c.Text)
		}
		e.carriedEvidence(d.Place, c.Text, "carried", c.Evidence)
		if !e.verdict(set.Carried, Question{
			Check: CheckFlow, Argument: d.Place, Destination: c.Text, origin: "carried",
			Text: fmt.Sprintf("argument %s passes on %s%s", shown(d.Place), named, carriedFrom(e.p.call.Upstream, c)),
		}) {
			return false
		}
	}
	return true
}

// knownApart reports that somebody answers for each of the arguments alone: the user named
// the owner and the repository, though not together.
func (e *evaluation) knownApart(places []string) bool {
	for _, p := range places {
		ds := flow.Flatten(p, e.p.call.Args.Get(p))
		if len(ds) == 0 { // deeper than an argument
			return false
		}
		for _, d := range ds {
			if d.Malformed != "" || e.s.ledger.Lookup(d).Origin < flow.Vouched {
				return false
			}
		}
	}
	return true
}

// joined returns the places of arguments that name a destination together for which
// somebody answers. ok is false if text from outside named one.
func (e *evaluation) joined(c *contract.Contract) (known map[string]bool, ok bool) {
	for _, j := range c.JoinedSinks {
		text, places, ok := j.Join(e.p.call.Args)
		if !ok {
			continue
		}
		v, ok := doc.Text(text)
		if !ok {
			continue
		}
		ds := flow.Flatten(j.Text, v)
		if len(ds) != 1 || ds[0].Malformed != "" {
			continue
		}
		if !e.trusts(c, ds[0]) {
			switch o := e.s.ledger.Lookup(ds[0]).Origin; {
			case o == flow.Untrusted && !e.knownApart(places) && !e.judge(ds[0]):
				return nil, false
			case o < flow.Vouched:
				continue
			}
		}
		if known == nil {
			known = make(map[string]bool)
		}
		for _, p := range places {
			known[p] = true
		}
		e.listEvidence(c, ds[0])
		e.p.echo = append(e.p.echo, ds[0])
	}
	return known, true
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
// destination as they stand. declared is how many the sinks hold, sinks where they are.
func (e *evaluation) destinations(c *contract.Contract) (all []flow.Destination, declared int, sinks map[string]bool, ok bool) {
	args := e.p.call.Args
	read := make(map[string]bool)
	for _, param := range c.SinkParams {
		found, more := param.Select(args, flow.MaxDestinations)
		// items[*].email of a list that came as text: the server may well parse it.
		text, moreText := param.Blocked(args, flow.MaxDestinations)
		if more || moreText {
			return nil, 0, nil, e.deny(CheckFlow, "argument %s holds more than %d destinations", param, flow.MaxDestinations)
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
		return nil, 0, nil, e.deny(CheckFlow, "the call has more than %d arguments", maxValues)
	}
	var scanned []flow.Destination
	for _, m := range others {
		switch {
		case read[m.Place]:
		case len(c.SinkParams) == 0:
			all = append(all, flow.FlattenAny(m.Place, m.Value)...)
		case strings.EqualFold(m.Place, "cc"), strings.EqualFold(m.Place, "bcc"):
			scanned = append(scanned, flow.Flatten(m.Place, m.Value)...) // forgotten in the contract
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
	return all, declared, read, e.bounded(all)
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
	d.Upstream = e.p.call.Upstream
	f := e.s.ledger.Lookup(d)
	full := f.Origin == flow.Unknown && e.s.ledger.Full()
	if f.Origin != flow.Untrusted {
		e.p.echo = append(e.p.echo, d)
	}
	if f.Origin >= flow.Typed || f.Origin == flow.Vouched {
		return true
	}
	e.p.wrote = append(e.p.wrote, d)
	e.evidence(d, f)
	if e.s.ledger.Damaged() != nil {
		return e.deny(CheckFlow, "destination %s=%s is refused: what other servers of this client have shown cannot be read any more, so only trusted, typed and vouched destinations are allowed until the client is restarted", shown(d.Place), quoted(d.Raw))
	}
	q := Question{
		Check: CheckFlow, Argument: d.Place, Destination: d.Canonical, origin: f.Origin.String(),
		Text: fmt.Sprintf("destination %s=%s ", shown(d.Place), quoted(d.Raw)),
	}
	set, here := e.by.opt.Flow, e.p.call.Upstream
	switch {
	case f.Origin == flow.Unknown && !full:
		q.Text += "is not a vouched recipient" + partly(here, f)
		return e.advised(set.Unknown, q)
	case f.Origin == flow.Party:
		q.Text += "names a party and is vouched for by nobody; it stands in " + where(here, f.Evidence[0])
		return e.advised(set.Party, q)
	case f.Origin == flow.Inside:
		q.Text += "is only known from text of people inside, first seen in " + where(here, f.Evidence[0])
		if f.Endorsed {
			q.Text = strings.Replace(q.Text, "text of people inside, first seen in", "the page or file that was fetched because the user named it, in", 1)
		}
		return e.advised(set.Inside, q)
	}
	q.Text += seen(here, f, full)
	q.origin = flow.Untrusted.String()
	if set.Untrusted == Deny {
		q.Text += "; untrusted text does not choose where things go"
	}
	return e.advised(set.Untrusted, q)
}

// advised is verdict for a destination: a refusal says what can be done.
func (e *evaluation) advised(v Verdict, q Question) bool {
	if v == Deny {
		q.Text += ". Ask the user for the destination, or have it added to trusted_destinations"
		if e.by.opt.Trusted != nil && e.p.call.Subject == policy.Tool {
			q.Text += ", which the user can do in their own terminal, not through you: sallyport trust DESTINATION --because WHY"
		}
	}
	return e.verdict(v, q)
}

// verdict gives what a check found the verdict that the settings say.
func (e *evaluation) verdict(v Verdict, q Question) bool {
	switch v {
	case Allow:
		return true
	case Ask:
		e.ask(q)
		return true
	default:
		return e.deny(q.Check, "%s", q.Text)
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
func seen(here string, f flow.Finding, full bool) string {
	if full {
		return "was never seen, but the ledger of this session is full, so it counts as untrusted"
	}
	if len(f.Evidence) == 0 {
		return "was first seen in untrusted output"
	}
	return "was first seen in " + where(here, f.Evidence[0])
}

func partly(here string, f flow.Finding) string {
	switch {
	case len(f.Evidence) == 0:
		return ""
	case f.Named:
		return "; the agent named it before " + where(here, f.Evidence[0]) + " showed it"
	case f.Site:
		return "; the user named another page of its site, and " + where(here, f.Evidence[0]) + " shows the link"
	case f.Own:
		return "; it is an id that the server gave in " + where(here, f.Evidence[0])
	}
	return "; only its domain was seen, in " + where(here, f.Evidence[0])
}

// where says where a value was seen; the server is named when it is not the call's own.
func where(here string, ev flow.Evidence) string {
	if ev.Forgotten {
		return "an earlier output of this session; which one is no longer known"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "the output of %s", quoted(ev.Tool))
	if ev.Upstream != "" && ev.Upstream != here {
		fmt.Fprintf(&b, " of server %s", quoted(ev.Upstream))
	}
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
