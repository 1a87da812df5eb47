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
// that do more than read. Opaque ids of documents are not. In a tool that runs
// something, a parameter that holds a command, a script, SQL or a manifest is a sink,
// because the code says where it sends something.
//
// A tool whose verb is to send, share, publish, pay or execute, and in which no such
// parameter is found, is exfiltrating with every argument read as a destination, so that each
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
	case (d.sends() || d.runs.whole) && (len(d.schema.params) > 0 || d.schema.openEnded):
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
	admits   bool // it lets somebody in: into a group, a role, a task
	forge    bool // it works on repositories
	runs     execution
	about    string // the start of the tool's description
	said     map[*regexp.Regexp]bool
	schema   *schemaReader
}

// maxDescription is how many bytes of a description are read.
const maxDescription = 400

func readTool(t Tool) definition {
	description := t.Definition.Get("description").String()
	words, plural := splitName(t.Name)
	if n := len(words); n > 2 && words[n-1] == "tool" {
		words = words[:n-1] // call_service_tool
	}
	d := definition{words: words, schema: readSchema(t.Definition.Get("inputSchema")), about: clip(description), said: map[*regexp.Regexp]bool{}}
	d.schema.describeFrom(description)
	d.does = verbOf(d.words, plural)
	title := t.Definition.Get("title").String()
	if title == "" {
		title = t.Definition.Get("annotations").Get("title").String()
	}
	if d.does == verbNone {
		d.does = verbOf(splitWords(clip(title)), nil)
	}
	if d.does == verbNone || d.does == verbWrite {
		if first := splitWords(d.about); len(first) > 0 && verbOf(first[:1], nil) == verbSend {
			d.does = verbSend
		}
	}
	hints := t.Definition.Get("annotations")
	stricter := hints.Get("destructiveHint").Bool() || hints.Get("readOnlyHint").Kind() == doc.Bool && !hints.Get("readOnlyHint").Bool()
	if d.does == verbRead && stricter {
		d.does = verbNone
	}
	d.forge = d.has(forges) || d.has(merging) && d.has(merged)
	for _, p := range d.schema.params {
		if len(p.parents) == 0 && len(p.words) > 0 && slices.Contains([]string{"branch", "commit", "sha", "repo", "repository"}, p.words[len(p.words)-1]) {
			d.forge = true
		}
	}
	d.reaches()
	d.runs = d.execution()
	return d
}

// last is the last word of the tool's name, "" if it has none.
func (d definition) last() string {
	if len(d.words) == 0 {
		return ""
	}
	return d.words[len(d.words)-1]
}

// says looks for a cue in the tool's name and description, once however many
// parameters ask.
func (d definition) says(cue *regexp.Regexp) bool {
	found, known := d.said[cue]
	if !known {
		found = cue.MatchString(d.about) || cue.MatchString(strings.Join(d.words, " "))
		d.said[cue] = found
	}
	return found
}

func (d definition) has(words map[string]bool) bool {
	return slices.ContainsFunc(d.words, func(w string) bool { return words[w] })
}

// reaches finds whether the tool puts something before somebody, or lets somebody in.
func (d *definition) reaches() {
	if d.does == verbSend {
		d.sendLike, d.admits = true, true
		return
	}
	if d.does == verbRead || d.does == verbDelete {
		return
	}
	content, chat, spoken := false, false, false
	message, person := false, false
	for _, p := range d.schema.params {
		n := len(p.words)
		if n == 0 {
			continue
		}
		isContent, isChat := p.hasText && p.open && contents[p.words[n-1]], chats[headOf(p.words)]
		spoken = spoken || isContent && chat || isChat && content
		content, chat = content || isContent, chat || isChat
		message = message || isContent && p.words[n-1] == "message"
		person = person || personWords[headOf(p.words)]
	}
	// Who adds somebody to a place opens the place to them.
	lets := d.has(letting) && (d.has(joining) || d.has(persons) && d.has(into)) || slices.Contains(d.words, "assign")
	writes := d.has(messages) && (content || d.has(making)) || d.does == verbNone && d.has(messages) && !d.has(spokenThings)
	d.sendLike = lets && d.has(adding) || d.has(accesses) || writes || spoken || d.phones() || message && person
	d.admits = d.sendLike || lets || (d.has(making) || d.has(opening)) && d.has(convened)
}

// phones reports tools that make a call: make_call, and not call_service.
func (d definition) phones() bool {
	last := len(d.words) - 1
	return last > 0 && d.words[last] == "call" && (d.has(making) || d.has(opening) || d.has(placing))
}

// sends reports that the tool's words leave no doubt that something goes out: its verb
// is to send, or it creates a message or a permission.
func (d definition) sends() bool {
	switch {
	case d.does == verbRead, d.does == verbDelete:
		return false
	case d.does == verbSend, d.has(wire) && d.has(asking):
		return true
	}
	verbs, things := creating, created
	for range 2 {
		for i, w := range d.words {
			ends := i == len(d.words)-1 || i == len(d.words)-2 && verbs[d.words[i+1]] || slices.Contains([]string{"to", "for", "on", "in", "with"}, d.words[min(i+1, len(d.words)-1)])
			if things[w] && ends && d.has(verbs) {
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
// the strictest of its verbs counts. A noun in the plural is no verb (messages_raw).
func verbOf(words []string, plural map[string]bool) verb {
	var found verb
	weak := false // found so far rests on a word that may be a noun
	joint := false
	for i, w := range words {
		if w == "and" || w == "or" || w == "then" {
			joint = true
			continue
		}
		v := classOf(w)
		if v == verbNone || plural[w] && nouns[w] || things[w] && i == len(words)-1 && i > 0 {
			continue
		}
		if phrases[w] && i+1 < len(words) && into[words[i+1]] {
			continue // text_to_speech
		}
		isMethod := methods[w] && (w != "get" || i+1 < len(words) && classOf(words[i+1]) != verbWrite) && i+1 < len(words) && classOf(words[i+1]) != verbNone && !messages[words[i+1]]
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
	if n := len(words); n > 1 && closing[words[n-1]] && (weak || found == verbNone) {
		return verbRead
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
func writesFiles(t Tool) bool { return len(WriteGuess(t)) > 0 }
