// Package packscore measures what contracts find: it holds labels that a person wrote
// of servers' tools against the contracts that packs and the fallback give those tools.
//
// It only counts. It must never change a contract, and nothing that decides a call may
// use it. What stands in lists and labels is hostile: it is escaped before it is shown.
package packscore

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/doc"
)

// List is one server's tools and what a person wrote of them.
type List struct {
	Server string
	Tools  []contract.Tool
	Labels []Label
}

// Count is how many of how many.
type Count struct {
	Found int `json:"found"`
	Of    int `json:"of"`
}

func (c *Count) add(found bool) {
	c.Of++
	if found {
		c.Found++
	}
}

func (c *Count) sum(o Count) { c.Found, c.Of = c.Found+o.Found, c.Of+o.Of }

// Counts is what one way of finding contracts found.
type Counts struct {
	// Addresses counts tools with an address-like destination, found when every such
	// parameter is read as one.
	Addresses  Count `json:"address_sinks"`
	Parameters Count `json:"address_parameters"` // the parameters of these, one by one
	Execute    Count `json:"execute_tools"`      // tools that run something, found when they are gated at all
	Sinks      Count `json:"sinks"`              // all tools that are sinks, ids and free text included
	// Alarms counts tools that are no sinks, found when they are gated: fewer are better.
	Alarms     Count `json:"false_alarms"`
	WritePaths Count `json:"write_parameters"`
}

func (c *Counts) sum(o Counts) {
	c.Addresses.sum(o.Addresses)
	c.Parameters.sum(o.Parameters)
	c.Execute.sum(o.Execute)
	c.Sinks.sum(o.Sinks)
	c.Alarms.sum(o.Alarms)
	c.WritePaths.sum(o.WritePaths)
}

// Finding is one miss or false alarm. Its texts come from lists and labels: escape them
// before showing.
type Finding struct {
	Server   string `json:"server"`
	Tool     string `json:"tool"`
	With     string `json:"with"` // fallback or packs
	What     string `json:"what"` // address, execute, sink, alarm, write or write-guess
	Param    string `json:"param,omitempty"`
	Kind     string `json:"kind,omitempty"`
	Found    string `json:"found"` // the contract's sinks: "-" for none, "*" for every argument
	Doubtful bool   `json:"doubtful,omitempty"`
}

// Row is the figures of one server.
type Row struct {
	Server   string `json:"server"`
	Tools    int    `json:"tools"` // listed and labelled
	Pack     string `json:"pack,omitempty"`
	Fallback Counts `json:"fallback"`
	Packs    Counts `json:"packs"`
	// Unlabelled tools and labels of tools that are not listed count nowhere.
	Unlabelled []string `json:"unlabelled,omitempty"`
	Unlisted   []string `json:"unlisted,omitempty"`
}

// Report is the figures of all servers, in order of their names, and their sum.
type Report struct {
	Servers  []Row     `json:"servers"`
	Sum      Row       `json:"sum"`
	Findings []Finding `json:"findings"`
}

// Score measures each list once with the fallback alone, once with all packs.
func Score(lists []List) (Report, error) {
	rep := Report{Sum: Row{Server: "sum"}, Findings: []Finding{}}
	lists = slices.Clone(lists)
	slices.SortFunc(lists, func(a, b List) int { return cmp.Compare(a.Server, b.Server) })
	for _, l := range lists {
		set, err := contract.NewSet(nil, contract.Options{})
		if err != nil {
			return rep, err
		}
		set.Bind(l.Server, l.Tools)
		row := rep.measure(l, set)
		rep.Servers = append(rep.Servers, row)
		rep.Sum.Tools += row.Tools
		rep.Sum.Fallback.sum(row.Fallback)
		rep.Sum.Packs.sum(row.Packs)
	}
	return rep, nil
}

func (r *Report) measure(l List, set *contract.Set) Row {
	row := Row{Server: l.Server}
	labels := map[string]Label{}
	for _, label := range l.Labels {
		labels[label.Tool] = label
	}
	for _, t := range l.Tools {
		t.Upstream = l.Server
		label, ok := labels[t.Name]
		if !ok {
			row.Unlabelled = append(row.Unlabelled, t.Name)
			continue
		}
		row.Tools++
		for _, with := range []struct {
			name   string
			c      *contract.Contract
			counts *Counts
		}{{"fallback", contract.Fallback(t), &row.Fallback}, {"packs", set.For(t), &row.Packs}} {
			m := measure{report: r, label: label, c: with.c, counts: with.counts, writes: writeParams(t, with.c)}
			m.finding = Finding{Server: l.Server, Tool: t.Name, With: with.name, Found: sinks(with.c), Doubtful: label.Doubtful}
			m.tool()
			if pack, ok := strings.CutPrefix(with.c.Source, "pack "); ok && row.Pack == "" {
				row.Pack, _, _ = strings.Cut(pack, " ")
			}
		}
	}
	for _, label := range l.Labels {
		if !slices.ContainsFunc(l.Tools, func(t contract.Tool) bool { return t.Name == label.Tool }) {
			row.Unlisted = append(row.Unlisted, label.Tool)
		}
	}
	return row
}

// measure holds one contract against one label.
type measure struct {
	report  *Report
	label   Label
	c       *contract.Contract
	writes  []string
	counts  *Counts
	finding Finding
}

func (m *measure) note(what, param string) {
	f := m.finding
	f.What, f.Param, f.Kind = what, param, m.label.SinkKinds[param]
	m.report.Findings = append(m.report.Findings, f)
}

func (m *measure) tool() {
	// What asks about a destination by another way than the flow check is gated too. A
	// tool that is asked about because it destroys something, or because of a path that it
	// writes, is no false alarm.
	asks := m.c.Exfiltrating || slices.ContainsFunc(selectors(m.c.TypedParams), func(p string) bool { return !m.isWritten(p) })
	gated := asks || m.c.Destructive
	addresses := m.label.Addresses()
	whole := true
	for _, p := range addresses {
		found := covers(m.c, p)
		m.counts.Parameters.add(found)
		if !found {
			whole = false
			m.note("address", p)
		}
	}
	if len(addresses) > 0 {
		m.counts.Addresses.add(whole)
	}
	if m.label.Effect == "execute" {
		m.counts.Execute.add(gated)
		if !gated {
			m.note("execute", "")
		}
	}
	if m.label.Sink {
		m.counts.Sinks.add(gated)
		if !gated && len(addresses) == 0 && m.label.Effect != "execute" {
			m.note("sink", "")
		}
	} else {
		m.counts.Alarms.add(asks)
		if asks {
			m.note("alarm", "")
		}
	}
	for _, p := range m.label.WriteParams {
		// A path that may be left out cannot be confined, and is asked about.
		found := slices.Contains(m.writes, element(p)) || slices.Contains(selectors(m.c.TypedParams), element(p))
		m.counts.WritePaths.add(found)
		if !found {
			m.note("write", p)
		}
	}
	for _, p := range m.writes {
		if !m.isWritten(p) {
			m.note("write-guess", p)
		}
	}
}

// isWritten reports a parameter that the label calls a path which is written.
func (m *measure) isWritten(param string) bool {
	return slices.ContainsFunc(m.label.WriteParams, func(w string) bool { return element(w) == param })
}

// writeParams are the parameters that a contract confines, or for a fallback those that
// the notice about unconfined writes goes by.
func writeParams(t contract.Tool, c *contract.Contract) []string {
	if c.Source == "fallback" {
		return selectors(contract.WriteGuess(t))
	}
	out := selectors(c.WriteParams)
	for _, a := range c.ArgPatterns {
		out = append(out, a.Param.String())
	}
	return out
}

func selectors(list []doc.Selector) []string {
	var out []string
	for _, s := range list {
		out = append(out, s.String())
	}
	return out
}

// sinks writes a contract's sinks: "-" for none, "*" for every argument.
func sinks(c *contract.Contract) string {
	switch {
	case !c.Exfiltrating:
		return "-"
	case len(c.SinkParams) == 0:
		return "*"
	}
	return strings.Join(selectors(c.SinkParams), " ")
}

// covers reports that a contract reads a labelled parameter as a destination. A sink
// inside the parameter counts, as the address in a list of attendees does.
func covers(c *contract.Contract, param string) bool {
	if c.Destructive || c.Exfiltrating && len(c.SinkParams) == 0 {
		return true
	}
	param = element(param)
	read := selectors(c.TypedParams)
	if c.Exfiltrating {
		read = append(read, selectors(c.SinkParams)...)
	}
	return slices.ContainsFunc(read, func(s string) bool {
		return s == param || strings.HasPrefix(s, param+".") || strings.HasPrefix(s, param+"[") || param == s+"[*]"
	})
}

// element writes a labelled parameter as selectors are written: fields[].target is
// fields[*].target.
func element(param string) string { return strings.ReplaceAll(param, "[]", "[*]") }
