package lint

import (
	"regexp"
	"slices"
	"strings"

	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/flow"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

// entry is a user's contract and where it is written.
type entry struct {
	key, value *strictyaml.Node
	contract   *contract.Contract
}

func (k *check) readEntries() []entry {
	bySource := make(map[string]*contract.Contract, len(k.config.Contracts))
	for _, c := range k.config.Contracts {
		bySource[c.Source] = c
	}
	var l []entry
	for _, src := range k.config.Sources {
		tools := src.Root
		if tools.Key("version") != nil {
			tools = tools.Get("tools")
		}
		for _, e := range tools.Pairs() {
			if c := bySource[e.Key.Place()]; c != nil {
				l = append(l, entry{e.Key, e.Value, c})
			}
		}
	}
	return l
}

// contracts looks at the user's entries.
func (k *check) contracts() {
	for _, e := range k.entries {
		k.flowOff(e)
		k.sinksLeftOut(e)
		for _, n := range e.value.Get("trusted_destinations").Items() {
			k.trusted(n)
		}
		for _, n := range e.value.Get("allowed_path_prefixes").Items() {
			k.prefix(n)
		}
		if n := e.value.Get("path_base"); n != nil && isRootPath(n.Text()) {
			k.add(n, "SP308", "name the directory that the server works in", "path_base is the root: a relative path means any file")
		}
		for _, a := range e.value.Get("arg_patterns").Pairs() {
			k.pattern(a.Value, a.Value.Text())
		}
		k.labels(e)
		k.againstList(e)
	}
}

// flowOff looks at an entry that turns the flow check off.
func (k *check) flowOff(e entry) {
	if !e.contract.FlowOff() {
		return
	}
	tool := show(e.contract.Tool)
	hint := "write exfiltrating: true and sink_params"
	if e.value.Get("exfiltrating") != nil {
		hint += ", or accept this with a reason: # " + acceptWord + " SP301 because …"
	}
	for _, t := range k.known.find(e.contract.Upstream, e.contract.Tool) {
		if t.shipped.Exfiltrating {
			k.addAs(e.key, "SP301", Error, hint, "the flow check is off for "+tool+", and its list says that it sends: "+sinkNames(t.shipped)+" decides where ("+t.shipped.Source+")")
			return
		}
	}
	for _, c := range contract.Shipped(e.contract.Tool, k.config.Packs) {
		if c.Exfiltrating && len(k.known.find(e.contract.Upstream, e.contract.Tool)) == 0 {
			k.add(e.key, "SP301", hint, "the flow check is off for "+tool+", and the "+c.Source+" says that it sends: "+sinkNames(c)+" decides where")
			return
		}
	}
	if k.sendsByName(e.contract.Upstream, e.contract.Tool) {
		k.add(e.key, "SP301", hint, "the flow check is off for "+tool+", whose name says that it sends")
		return
	}
	if e.value.Get("exfiltrating") == nil {
		k.add(e.key, "SP302", "write exfiltrating: false if it sends nothing anywhere", "the entry for "+tool+" is not exfiltrating, so the flow check is off for this tool")
	}
}

// sendsByName is what the fallback says of a tool of which only the name is known.
func (k *check) sendsByName(upstream, tool string) bool {
	return len(k.known.find(upstream, tool)) == 0 && contract.Fallback(contract.Tool{Name: tool}).Exfiltrating
}

func sinkNames(c *contract.Contract) string {
	if len(c.SinkParams) == 0 {
		return "any argument"
	}
	l := make([]string, len(c.SinkParams))
	for i, s := range c.SinkParams {
		l[i] = s.String()
	}
	return strings.Join(l, ", ")
}

// sinksLeftOut looks for sinks that the entry does not repeat.
func (k *check) sinksLeftOut(e entry) {
	own := e.contract.SinkParams
	if !e.contract.Exfiltrating || len(own) == 0 {
		return
	}
	// A pack may be for another server that has a tool of this name.
	shipped, severity := contract.Shipped(e.contract.Tool, k.config.Packs), Note
	if listed := k.known.find(e.contract.Upstream, e.contract.Tool); len(listed) > 0 {
		shipped, severity = nil, usual("SP303")
		for _, t := range listed {
			shipped = append(shipped, t.shipped)
		}
	}
	for _, c := range shipped {
		var missing []string
		for _, s := range c.SinkParams {
			if !slices.ContainsFunc(own, func(o doc.Selector) bool { return coversSink(o.String(), s.String()) }) {
				missing = append(missing, s.String())
			}
		}
		if len(missing) > 0 {
			k.addAs(e.value.Get("sink_params"), "SP303", severity, "add them, or leave sink_params out to have every argument read",
				"the sinks of "+show(e.contract.Tool)+" leave out "+strings.Join(missing, ", ")+", which "+sourceName(c)+" has")
			return
		}
	}
}

// sourceName is where a contract that is no user's comes from.
func sourceName(c *contract.Contract) string {
	if strings.HasPrefix(c.Source, "pack ") {
		return "the " + c.Source
	}
	return "its list"
}

// coversSink reports that what own selects holds what other selects.
func coversSink(own, other string) bool {
	rest, ok := strings.CutPrefix(other, own)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// webmail are domains where anybody can have an address.
var webmail = map[string]bool{
	"gmail.com": true, "googlemail.com": true, "outlook.com": true, "hotmail.com": true, "live.com": true, "msn.com": true,
	"yahoo.com": true, "ymail.com": true, "yahoo.co.uk": true, "yahoo.co.jp": true, "yahoo.fr": true, "yahoo.de": true, "aol.com": true,
	"icloud.com": true, "me.com": true, "mac.com": true, "proton.me": true, "protonmail.com": true, "pm.me": true,
	"gmx.de": true, "gmx.net": true, "gmx.com": true, "web.de": true, "t-online.de": true, "freenet.de": true, "mail.com": true,
	"mail.ru": true, "yandex.ru": true, "yandex.com": true, "qq.com": true, "163.com": true, "126.com": true, "sina.com": true,
	"naver.com": true, "zoho.com": true, "fastmail.com": true, "hey.com": true, "tutanota.com": true, "tuta.com": true,
	"free.fr": true, "orange.fr": true, "laposte.net": true, "libero.it": true, "wp.pl": true, "seznam.cz": true,
	"mailinator.com": true, "guerrillamail.com": true, "10minutemail.com": true, "yopmail.com": true,
}

// trusted looks at one entry of trusted_destinations.
func (k *check) trusted(n *strictyaml.Node) {
	s := strings.TrimSpace(n.Text())
	if strings.Contains(s, "@") {
		if domain, ok := strings.CutPrefix(s, "*@"); ok {
			k.broadHost(n, strings.TrimPrefix(domain, "*."), "everybody with an address there is trusted", true)
		}
		return
	}
	if _, rest, ok := strings.Cut(s, "://"); ok {
		host, path, _ := strings.Cut(rest, "/")
		if path == "" {
			k.broadHost(n, strings.TrimPrefix(host, "*."), "a URL without a path trusts the whole host", false)
		}
		return
	}
	if strings.Contains(s, ".") && !strings.ContainsAny(s, "/ ") {
		k.broadHost(n, strings.TrimPrefix(s, "*."), "a host trusts every path on it", false)
	}
}

// broadHost notes a host where anybody can have a place.
func (k *check) broadHost(n *strictyaml.Node, host, meaning string, mail bool) {
	text := WhyBroad(host, mail)
	if text == "" {
		return
	}
	k.add(n, "SP307", "name addresses, hosts or URLs with their path, one by one", show(n.Text())+" is trusted and too broad: "+text+", and "+meaning)
}

// WhyBroad says why a host is no destination to trust as a whole, for mail or for all; "" if nothing
// is known against it.
func WhyBroad(host string, mail bool) string {
	host, why := flow.CanonicalHost(strings.TrimSuffix(host, "."))
	switch {
	case why != "":
	case webmail[host]:
		return "anybody can have an address at " + show(host)
	case flow.PublicSuffix(host):
		return "anybody can register a name below " + show(host)
	case !mail && flow.SharedHost(host):
		return "anybody can have a place of their own on " + show(host)
	}
	return ""
}

var (
	homePath   = regexp.MustCompile(`(?i)^(/home/[^/]+|/users/[^/]+|/root|/var/root|[a-z]:[\\/](users|documents and settings)[\\/][^\\/]+)[\\/]*$`)
	systemPath = regexp.MustCompile(`(?i)^(/(home|users|etc|usr|usr/local|var|bin|sbin|lib|opt|dev|proc|sys|boot|tmp|mnt|media|private|system|library|applications|volumes)|[a-z]:[\\/](windows|users|program files( \(x86\))?|programdata))[\\/]*$`)
	rootPath   = regexp.MustCompile(`(?i)^([\\/]+|[a-z]:[\\/]*|\\\\[^\\]+\\?[^\\]*\\?)$`)
	absPath    = regexp.MustCompile(`(?i)^([\\/]|[a-z]:[\\/])`)
)

func isRootPath(s string) bool { return rootPath.MatchString(s) }

// WhyWide says why a directory confines nothing, or too little; "" if it confines. home is the
// user's own, "" if it is not known.
func WhyWide(dir, home string) string {
	switch {
	case isRootPath(dir):
		return "is the root, so it confines nothing"
	case !absPath.MatchString(dir):
		return "is relative, so it depends on where the server was started"
	case homePath.MatchString(dir), home != "" && strings.TrimRight(dir, `/\`) == strings.TrimRight(home, `/\`):
		return "is a home directory, with keys, shell settings and clients' configurations in it"
	case systemPath.MatchString(dir):
		return "is a directory of the system"
	}
	return ""
}

// prefix looks at one directory that confines.
func (k *check) prefix(n *strictyaml.Node) {
	text := WhyWide(n.Text(), k.opt.Home)
	if text == "" {
		return
	}
	k.add(n, "SP308", "name the directory that is worked in", "the path "+show(n.Text())+" "+text)
}

// againstList compares an entry with what servers list.
func (k *check) againstList(e entry) {
	c := e.contract
	listed := k.known.find(c.Upstream, c.Tool)
	if len(listed) == 0 {
		if k.complete(func(upstream string) bool { return c.Upstream == "" || c.Upstream == upstream }) {
			k.add(e.key, "SP309", trimHint(strictyaml.Hint(c.Tool, k.known.names())), "no server lists a tool "+show(c.Tool)+", so this entry is for nothing")
		}
		return
	}
	for _, key := range []string{"sink_params", "write_params", "typed_params"} {
		for _, n := range e.value.Get(key).Items() {
			if i := slices.IndexFunc(c.JoinedSinks, func(j contract.Joined) bool { return j.Text == n.Text() }); i >= 0 && key == "sink_params" {
				for _, part := range c.JoinedSinks[i].Parts {
					k.parameter(n, part.String(), "joined sink "+show(n.Text()), listed)
				}
				continue
			}
			k.parameter(n, n.Text(), key, listed)
		}
	}
	for _, a := range e.value.Get("arg_patterns").Pairs() {
		k.parameter(a.Key, a.Name, "arg_patterns", listed)
	}
}

// parameter looks for what a selector of an entry names. A key that is none of an entry's
// says which part of a destination the selector is.
func (k *check) parameter(n *strictyaml.Node, selector, key string, listed []knownTool) {
	sel, err := doc.ParseSelector(selector)
	if err != nil {
		return
	}
	for _, t := range listed {
		if a := ask(t.schema, sel.Steps()); a.found || !a.known {
			return
		}
	}
	effect := map[string]string{
		"sink_params":  ", so where it sends is not looked at there",
		"write_params": ", so every call is refused for a missing path",
		"arg_patterns": ", so every call is refused for a missing argument",
		"typed_params": ", so nobody is asked whether the user typed it",
	}[key]
	text := show(listed[0].name) + " has no parameter " + show(selector) + effect
	if effect == "" {
		text = key + ": " + text + ", so the destination is never put together"
	}
	k.add(n, "SP310", trimHint(strictyaml.Hint(selector, argumentNames(listed[0].schema))), text)
}

// trimHint takes the start off a hint that was made to follow a sentence.
func trimHint(s string) string { return strings.TrimPrefix(s, "; ") }
