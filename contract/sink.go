package contract

import (
	"regexp"
	"slices"
	"strings"
)

// sinks lists the parameters that decide where something goes.
func (d definition) sinks() []*param {
	var out []*param
	found := map[string]bool{}
	for _, p := range d.schema.params {
		if d.isSink(p) || slices.Contains(d.runs.code, p) {
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
		if ids && !people[head] || !textual && !ids && !people[head] && head != "phone" && head != "mobile" {
			return false
		}
		return d.reachesParty(p)
	case forge:
		isProject := head != "repo" && head != "repository" && head != "bucket"
		if head == "bucket" && d.last() == head {
			return false // create_bucket
		}
		if head == "namespace" && !d.has(projects) {
			return false
		}
		if (d.forge || !isProject) && d.does != verbRead && d.does != verbDelete && textual && !narrows(p) {
			return true
		}
	}
	if head == "server" && textual && !narrows(p) && (d.has(remotely) ||
		d.does != verbRead && slices.ContainsFunc(p.words, func(w string) bool { return outward[w] || w == "remote" })) {
		return true
	}
	last := p.words[len(p.words)-1]
	if p.name == "name" && len(p.parents) == 0 && d.has(making) && repositories[d.last()] {
		return true // create_repository(name): others may see what is put there
	}
	if textual && !narrows(p) && d.does != verbRead && d.does != verbDelete &&
		(head == "" && last == "number" && d.has(dialling) || last == "address" && d.has(remotely) || last == "address" && endpoints[head]) {
		return true
	}
	isPerson := personWords[head] || head == "account" && d.has(assigning)
	if d.admits && isPerson && !narrows(p) && (textual || ids || p.hasInteger) {
		return true
	}
	if head == "account" && !d.paysTo(p) {
		return false
	}
	isPlace := placeWords[head] || last == "address" // shipping_address
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
// trades, so it needs a sign that hosts are meant, or no text that could give one.
func (d definition) reachesHost(p *param) bool {
	if narrows(p) || d.lists() {
		return false
	}
	head := headOf(p.words)
	if head != "domain" && head != "site" || d.sendLike {
		return true
	}
	cue := domainCue
	if head == "site" {
		cue = siteCue
	}
	text := clip(p.description)
	if d.says(cue) || cue.MatchString(text) {
		return true
	}
	return head == "domain" && !d.says(tradeCue) && !p.beside(trades) && !tradeCue.MatchString(text)
}

// beside reports a parameter next to it whose name has one of words.
func (p *param) beside(words map[string]bool) bool {
	for w := range words {
		if p.besides[w] {
			return true
		}
	}
	return false
}

// trades are words of names beside which domain is no host.
var trades = set("entity service device light switch area ontology taxonomy category subject topic skill memory")

func (d definition) lists() bool {
	return slices.ContainsFunc(d.words, func(w string) bool { return w == "list" || w == "search" || w == "count" })
}

var (
	// domainCue and siteCue are signs that a name on a network is meant.
	domainCue = regexp.MustCompile(`(?i)\b(hosts?|hostname|dns|e-?mail|sites?|websites?|whois|registrar|tld|ssl|tls|certificate|subdomains?|url|ping|custom domain|domain names?|[a-z0-9-]+\.(com|org|net|example|io))\b`)
	siteCue   = regexp.MustCompile(`(?i)\b(websites?|web ?pages?|urls?|https?|domain|[a-z0-9-]+\.(com|org|net|example|io))\b`)
	// tradeCue are signs that domain is a word of another trade.
	tradeCue = regexp.MustCompile(`(?i)\b(entity|entities|services?|devices?|lights?|switch(es)?|areas?|ontolog\w*|taxonom\w*|categor\w*|subjects?|topics?|field of|knowledge|business|problem|expert\w*|industry|memory|memories|skills?|language)\b`)
)

// remotely are protocols that work on another machine.
var remotely = set("ssh scp sftp ftp rsync telnet rdp vnc smtp imap pop ldap mqtt sip ntp vpn snmp")

// dialling are words of tools whose number is a telephone's.
var dialling = set("call dial ring phone sms text fax whatsapp")

// endpoints name whose address it is, in tools that do more than read.
var endpoints = set("peer node validator contract payout withdrawal delivery server remote router")

// isTo reports names such as to, send_to, shared_with.
func (p *param) isTo() bool {
	n := len(p.words)
	last := headOf(p.words)
	switch {
	case last == "to" && n == 1:
		return true
	case last == "to" && p.words[0] != "in":
		before := p.words[slices.Index(p.words, "to")-min(1, slices.Index(p.words, "to"))]
		return classOf(before) == verbSend || before == "to" || before == "assign" || before == "assigned" || lexicon[before] == party
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
	text := clip(p.description)
	if loc := pointCue.FindStringIndex(text); loc != nil && loc[0] < maxCueOffset && pointing[head] && d.does != verbRead && !narrows(p) && d.reachesHost(p) {
		return true
	}
	if ids || filters[head] || within(p) || payload[head] {
		return false
	}
	if loc := urlCue.FindStringIndex(text); loc != nil && loc[0] < maxCueOffset && !strings.HasPrefix(text[loc[1]:], "-") {
		return true
	}
	if narrows(p) {
		return false
	}
	if pictures[head] && d.does != verbRead && d.does != verbDelete && urlCue.MatchString(text) {
		return true
	}
	if loc := machineCue.FindStringIndex(text); loc != nil && loc[0] < maxCueOffset && d.reachesHost(p) {
		return true
	}
	loc := partyCue.FindStringIndex(text)
	return loc != nil && loc[0] < maxCueOffset && d.reachesParty(p)
}

// pointing are names of parameters that may hold a host and more often something else.
var pointing = set("target destination dest value content data record node")

// A description names what a value is at its start.
const maxCueOffset = 50

var (
	urlCue     = regexp.MustCompile(`(?i)\b(urls?|uris?|hyperlink|webhook)\b|\bhttps?://`)
	pointCue   = regexp.MustCompile(`(?i)\b(ip|ip address(es)?|hosts?|host ?names?)\b`)
	machineCue = regexp.MustCompile(`(?i)\b(ip address(es)?|host ?names?|domain names?|fqdn)\b`)
	partyCue   = regexp.MustCompile(`(?i)\be-?mail (address|id)|^\W*(the )?e-?mails? (of|to|for)\b|\brecipients?\b|\bphone number|\bmailbox|\b[a-z0-9._-]+@[a-z0-9-]+\.[a-z]+|\b(iban|wallet address|account number)\b|\b(deliver|send|sent|forward|pay|transfer)(ed)? to\b`)
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
	return within(p)
}

// within reports a parameter of a filter, or of an object that says who sends.
func within(p *param) bool {
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
	ids = idWords[last]
	if last != "id" && slices.Contains(words, "connection") && (last == "string" || last == "uri") {
		return locator, false
	}
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
