package contract

import (
	"regexp"
	"slices"
	"strings"

	"github.com/sallyport-dev/sallyport/doc"
)

// Fallback derives a contract from names, types, formats and descriptions of
// parameters, and from the tool's name, title, description and annotations. It finds
// sinks only: no write paths, no budget. Missing a sink is a hole and a false one costs
// a question, so in doubt a parameter is a sink.
//
// Every parameter that names a URL or a host is a sink, reads included: asking for a
// URL carries data to it. Addresses, people and accounts are sinks in every tool that
// does more than read, unless they name the sender or filter a search. Channels, users
// and other places are sinks in tools that send, share or pay; repositories in tools
// that do more than read. Opaque ids of documents are not.
//
// A tool whose verb is to send, share, publish or pay, and in which no such parameter
// is found, is exfiltrating with every argument read as a destination, so that each
// call of it is asked about. So is a tool whose schema is too large to be read whole.
//
// Annotations only make it stricter: readOnlyHint false or destructiveHint true means
// that the tool does more than read, whatever its name; their opposites mean nothing.
// It takes any definition, the malformed included, and is safe for concurrent use.
func Fallback(t Tool) *Contract {
	c := &Contract{Upstream: t.Upstream, Tool: t.Name, Source: "fallback"}
	d := readTool(t)
	sinks := d.sinks()
	switch {
	case d.schema.truncated:
		c.Exfiltrating = true
	case len(sinks) > 0:
		for _, p := range sinks {
			if sel, err := doc.ParseSelector(p.path); err == nil {
				c.SinkParams = append(c.SinkParams, sel)
			}
		}
		// A sink whose path cannot be written makes every argument one.
		if len(c.SinkParams) < len(sinks) {
			c.SinkParams = nil
		}
		c.Exfiltrating = true
	case d.sends() && (len(d.schema.params) > 0 || d.schema.openEnded):
		c.Exfiltrating = true
	}
	return c
}

// verb is what a tool does, by its words; what is none of the others counts as more
// than a read.
type verb uint8

const (
	verbNone verb = iota
	verbRead
	verbDelete
	verbWrite
	verbSend
)

// definition is what the fallback knows of a tool.
type definition struct {
	words    []string
	does     verb
	sendLike bool // it reaches somebody: it sends, or it creates something that does
	forge    bool // it works on repositories
	schema   *schemaReader
}

// maxDescription is how many bytes of a description are read.
const maxDescription = 400

func readTool(t Tool) definition {
	d := definition{words: splitWords(t.Name), schema: readSchema(t.Definition.Get("inputSchema"))}
	d.does = verbOf(d.words)
	title := t.Definition.Get("title").String()
	if title == "" {
		title = t.Definition.Get("annotations").Get("title").String()
	}
	if d.does == verbNone {
		d.does = verbOf(splitWords(clip(title)))
	}
	if d.does == verbNone || d.does == verbWrite {
		if first := splitWords(clip(t.Definition.Get("description").String())); len(first) > 0 && verbOf(first[:1]) == verbSend {
			d.does = verbSend
		}
	}
	hints := t.Definition.Get("annotations")
	stricter := hints.Get("destructiveHint").Bool() || hints.Get("readOnlyHint").Kind() == doc.Bool && !hints.Get("readOnlyHint").Bool()
	if d.does == verbRead && stricter {
		d.does = verbNone
	}
	has := func(words map[string]bool) bool {
		return slices.ContainsFunc(d.words, func(w string) bool { return words[w] })
	}
	// Who adds somebody to a place opens the place to them.
	adds := has(adding) && (has(joining) || has(persons) && has(into))
	d.sendLike = d.does == verbSend || adds || d.does != verbRead && d.does != verbDelete && has(messages)
	d.forge = has(forges)
	for _, p := range d.schema.params {
		if len(p.parents) == 0 && len(p.words) > 0 && slices.Contains([]string{"branch", "commit", "sha"}, p.words[len(p.words)-1]) {
			d.forge = true
		}
	}
	return d
}

// sends reports that the tool's words leave no doubt that something goes out: its verb
// is to send, or it creates a message or a permission.
func (d definition) sends() bool {
	if d.does != verbWrite {
		return d.does == verbSend
	}
	verbs, things := creating, created
	for range 2 {
		for i, w := range d.words {
			ends := i == len(d.words)-1 || slices.Contains([]string{"to", "for", "on", "in", "with"}, d.words[min(i+1, len(d.words)-1)])
			if things[w] && ends && slices.ContainsFunc(d.words[:i], func(w string) bool { return verbs[w] }) {
				return true
			}
		}
		verbs, things = changing, changed
	}
	return false
}

func clip(s string) string { return s[:min(len(s), maxDescription)] }

// verbOf finds the word that says what a tool does: the first verb, but a later verb
// decides over a word that is as often a noun (message_send, post_delete) and over a
// method of HTTP directly before it (post-search). With "and", "or" or "then" in a name,
// the strictest of its verbs counts.
func verbOf(words []string) verb {
	var found verb
	weak := false // found so far rests on a word that may be a noun
	joint := false
	for i, w := range words {
		if w == "and" || w == "or" || w == "then" {
			joint = true
			continue
		}
		v := classOf(w)
		if v == verbNone || things[w] && i == len(words)-1 && i > 0 {
			continue
		}
		isMethod := methods[w] && i+1 < len(words) && classOf(words[i+1]) != verbNone && !messages[words[i+1]]
		switch {
		case found == verbNone, weak && !nouns[w]:
			found = v
			weak = nouns[w] && len(words) > 1 && !(i+1 < len(words) && messages[words[i+1]]) || isMethod
		case joint:
			found = max(found, v)
		case weak && isMethod:
			found = v
		case weak && i > 0 && methods[words[i-1]]:
			found, weak = v, false
		}
	}
	return found
}

// classOf reads one word as a verb; a third person singular was made singular already.
func classOf(w string) verb {
	for _, form := range []string{w, strings.TrimSuffix(w, "ing"), strings.TrimSuffix(w, "ing") + "e"} {
		switch {
		case sendVerbs[form]:
			return verbSend
		case readVerbs[form]:
			return verbRead
		case deleteVerbs[form]:
			return verbDelete
		case writeVerbs[form]:
			return verbWrite
		}
	}
	return verbNone
}

// writesFiles guesses, for a notice only, whether a tool writes local files.
func writesFiles(t Tool) bool {
	d := readTool(t)
	return d.does != verbRead && !d.forge && slices.ContainsFunc(d.schema.params, func(p *param) bool {
		return p.hasText && p.open && len(p.words) > 0 && paths[p.words[len(p.words)-1]]
	})
}

// sinks lists the parameters that decide where something goes.
func (d definition) sinks() []*param {
	var out []*param
	found := map[string]bool{}
	for _, p := range d.schema.params {
		if d.isSink(p) {
			out = append(out, p)
			found[p.path] = true
		}
	}
	// A list of recipients that are objects in a form not understood is read whole.
	for _, p := range d.schema.params {
		mean, _ := meaningOf(p.words)
		if !p.object || mean != party || d.does == verbRead || d.does == verbDelete || narrows(p) {
			continue
		}
		inside := slices.ContainsFunc(out, func(s *param) bool { return strings.HasPrefix(s.path, p.path) })
		if !inside {
			out = append(out, p)
		}
	}
	return out
}

func (d definition) isSink(p *param) bool {
	if len(p.words) == 0 || !p.hasText && !p.hasInteger && !p.untyped {
		return false
	}
	textual := (p.hasText || p.untyped) && p.open
	if textual {
		switch formatMeaning(p) {
		case locator:
			return !(d.does == verbRead && narrows(p))
		case machine:
			return d.reachesHost(p)
		case party:
			return d.reachesParty(p)
		}
	}
	if !textual && !p.hasInteger || isDate(p.format) {
		return false
	}
	mean, ids := meaningOf(p.words)
	if mean == noMeaning && len(p.parents) > 0 && allTransparent(p.words) {
		// recipients[*].address: the name around it says what it is.
		mean, ids = meaningOf(p.parents[len(p.parents)-1])
		if slices.Contains(p.words, "name") && p.siblings != nil && len(*p.siblings) > 1 {
			mean = noMeaning
		}
	}
	if d.byName(p, mean, ids, textual) {
		return true
	}
	return textual && d.byDescription(p, ids)
}

// byName judges a parameter by the meaning of its name. ids says that the name ends in
// a word such as id.
func (d definition) byName(p *param, mean meaning, ids, textual bool) bool {
	head := headOf(p.words)
	switch mean {
	case locator:
		return textual && !ids && !(d.does == verbRead && narrows(p))
	case machine:
		return textual && !ids && d.reachesHost(p)
	case party:
		if ids && !people[head] || !textual && !ids && head != "phone" && head != "mobile" {
			return false
		}
		return d.reachesParty(p)
	case forge:
		isProject := head == "project" || head == "namespace" || head == "owner"
		if (d.forge || !isProject) && d.does != verbRead && d.does != verbDelete && textual && !narrows(p) {
			return true
		}
	}
	if head == "account" && !d.paysTo(p) {
		return false
	}
	isPlace := placeWords[head] || p.words[len(p.words)-1] == "address" // shipping_address
	if isPlace && d.sendLike && !narrows(p) && (textual || ids || p.hasInteger) {
		return true
	}
	return p.isTo() && d.reachesTo(p, textual)
}

// paysTo tells an account that is paid from the account that a tool works with.
func (d definition) paysTo(p *param) bool {
	return slices.ContainsFunc(d.words, func(w string) bool { return money[w] }) ||
		slices.ContainsFunc(p.words, func(w string) bool {
			return w == "to" || w == "dest" || w == "destination" || w == "target" || w == "creditor" || lexicon[w] == party
		})
}

// reachesParty: people and accounts, unless they are who sends or narrow a search.
func (d definition) reachesParty(p *param) bool {
	return d.does != verbRead && d.does != verbDelete && !narrows(p)
}

// reachesHost: hosts, except as filters of a list. domain is also a word of other
// trades, so it needs a sign that hosts are meant, or no description at all.
func (d definition) reachesHost(p *param) bool {
	if narrows(p) || slices.ContainsFunc(d.words, func(w string) bool { return w == "list" || w == "search" || w == "count" }) {
		return false
	}
	if headOf(p.words) != "domain" || d.sendLike || p.description == "" {
		return true
	}
	return hostCue.MatchString(clip(p.description)) || hostCue.MatchString(strings.Join(d.words, " "))
}

var hostCue = regexp.MustCompile(`(?i)\b(hosts?|hostname|dns|e-?mail|sites?|websites?|whois|registrar|tld|ssl|tls|certificate|subdomains?|url|ping|[a-z0-9-]+\.(com|org|net|example|io))\b`)

// isTo reports names such as to, send_to, shared_with.
func (p *param) isTo() bool {
	n := len(p.words)
	last := headOf(p.words)
	switch {
	case last == "to" && n == 1:
		return true
	case last == "to" && p.words[0] != "in":
		before := p.words[slices.Index(p.words, "to")-min(1, slices.Index(p.words, "to"))]
		return classOf(before) == verbSend || before == "to" || before == "assign" || lexicon[before] == party
	case last == "with" && n > 1:
		return strings.HasPrefix(p.words[n-2], "share")
	}
	return false
}

// reachesTo tells a recipient from the end of a range, an edge of a graph or a target
// format.
func (d definition) reachesTo(p *param, textual bool) bool {
	if !textual || narrows(p) || d.does == verbRead || d.does == verbDelete {
		return false
	}
	if d.sendLike || partyCue.MatchString(clip(p.description)) {
		return true
	}
	ranged := p.siblings != nil && slices.ContainsFunc(*p.siblings, func(s string) bool {
		return slices.Contains([]string{"from", "since", "start", "source", "after"}, strings.ToLower(s))
	})
	return !ranged
}

// byDescription finds destinations that only the description names.
func (d definition) byDescription(p *param, ids bool) bool {
	head := p.words[len(p.words)-1]
	if ids || narrows(p) || payload[head] {
		return false
	}
	text := clip(p.description)
	if loc := urlCue.FindStringIndex(text); loc != nil && loc[0] < maxCueOffset && !strings.HasPrefix(text[loc[1]:], "-") {
		return true
	}
	loc := partyCue.FindStringIndex(text)
	return loc != nil && loc[0] < maxCueOffset && d.reachesParty(p)
}

// A description names what a value is at its start.
const maxCueOffset = 50

var (
	urlCue   = regexp.MustCompile(`(?i)\b(urls?|uris?|hyperlink|webhook)\b|\bhttps?://`)
	partyCue = regexp.MustCompile(`(?i)\be-?mail (address|id)|\brecipients?\b|\bphone number|\bmailbox|\b[a-z0-9._-]+@[a-z0-9-]+\.[a-z]+|\b(iban|wallet address|account number)\b|\b(deliver|send|sent|forward|pay|transfer)(ed)? to\b`)
)

// narrows reports that a parameter filters what is found, or says who sends, rather
// than where something goes.
func narrows(p *param) bool {
	if len(p.words) > 0 && filters[p.words[len(p.words)-1]] {
		return true
	}
	mean, _ := meaningOf(p.words)
	if mean != locator && slices.ContainsFunc(p.words, func(w string) bool { return senders[w] }) {
		return true
	}
	return slices.ContainsFunc(p.parents, func(words []string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return filters[w] || w == "from" || w == "sender" })
	})
}

// headOf is the word that a name turns on: the last that is not transparent.
func headOf(words []string) string {
	for i := len(words) - 1; i >= 0; i-- {
		if !transparent[words[i]] {
			return words[i]
		}
	}
	if slices.Contains(words, "address") {
		return "address"
	}
	return ""
}

func allTransparent(words []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !transparent[w] && lexicon[w] == noMeaning && !placeWords[w] })
}

// meaningOf reads a parameter's name; ids reports one that ends in id or the like.
func meaningOf(words []string) (mean meaning, ids bool) {
	if len(words) == 0 {
		return noMeaning, false
	}
	last := words[len(words)-1]
	ids = last == "id" || last == "identifier"
	mean = lexicon[headOf(words)]
	if last == "name" && mean == party {
		mean = noMeaning // recipient_name is shown, not reached
	}
	return mean, ids
}

func formatMeaning(p *param) meaning {
	switch p.format {
	case "email", "idn-email":
		return party
	case "uri", "url", "iri", "uri-reference", "iri-reference", "uri-template":
		return locator
	case "hostname", "idn-hostname", "ipv4", "ipv6", "ip":
		return machine
	case "phone":
		return party
	}
	switch {
	case strings.HasPrefix(p.pattern, "^http"):
		return locator
	case strings.Contains(clip(p.pattern), "@") && strings.Contains(clip(p.pattern), `\.`):
		return party
	}
	return noMeaning
}

func isDate(format string) bool {
	return slices.Contains([]string{"date", "date-time", "time", "duration", "byte", "binary"}, format)
}
