package flow

import "strings"

// maxHeaderValue is how long a value that goes into a header may be, in bytes. Longer
// ones are bodies.
const maxHeaderValue = 1 << 10

// bodyWords are the words of a parameter's name by which its value is text of several
// lines, where quoted and forwarded mails bring header lines with them.
var bodyWords = set("body", "bodies", "text", "content", "contents", "message", "messages", "html", "markdown", "md", "description", "comment", "comments",
	"note", "notes", "details", "plain", "template", "snippet", "raw", "mime", "eml", "data", "payload", "prompt", "instructions", "reply",
	"post", "code", "command", "script", "summary", "transcript", "attachment", "attachments", "document", "page", "blocks", "input", "value", "query", "thread", "quote", "history")

// recipientFields are the header fields that say who gets a mail, or its answers.
var recipientFields = []string{"to", "cc", "bcc", "resent-to", "resent-cc", "resent-bcc", "reply-to", "mail-reply-to", "mail-followup-to", "redirect", "apparently-to", "x-original-to", "envelope-to", "delivered-to"}

// injected reads a value outside sinks that would add a recipient if it was written into
// a header as it stands: a line break, however it is spelled, and behind it a field that
// names recipients, with an address. Bodies hold such lines with good reason, and are
// let off by the parameter's name and by length: what they name is checked as carried.
func injected(place, s string) (Destination, bool) {
	if len(s) > maxHeaderValue || !strings.ContainsAny(s, "\r\n\v\f%\\\u0085\u2028\u2029") || !strings.ContainsAny(s, "@\uff20%") || bodyParam(place) {
		return Destination{}, false
	}
	readings := []string{s}
	unfoldedBreaks := strings.NewReplacer(`\r`, "\n", `\n`, "\n", `\u000a`, "\n", `\u000d`, "\n", `\x0a`, "\n", `\x0d`, "\n")
	readings = append(readings, unfoldedBreaks.Replace(s))
	for range 2 {
		b, ok := percentDecode(nil, readings[len(readings)-1])
		if !ok {
			break
		}
		readings = append(readings, string(b))
	}
	for _, r := range readings {
		lines := strings.FieldsFunc(r, func(c rune) bool { return strings.ContainsRune("\r\n\v\f\u0085\u2028\u2029", c) })
		starts := strings.IndexFunc(r, func(c rune) bool { return strings.ContainsRune("\r\n\v\f\u0085\u2028\u2029", c) }) == 0
		for i, line := range lines {
			if i == 0 && !starts {
				continue
			}
			if recipientLine(line) && strings.ContainsAny(strings.Join(lines[i:], "\n"), "@\uff20") {
				return malformed(s, Email, "a line break, and a header field that names a recipient behind it"), true
			}
		}
	}
	return Destination{}, false
}

func recipientLine(line string) bool {
	name, _, ok := strings.Cut(line, ":")
	if !ok || len(name) > 40 {
		return false
	}
	name = strings.TrimSpace(Fold(name))
	for _, f := range recipientFields {
		if name == f {
			return true
		}
	}
	return false
}

// bodyParam reports a value that is meant to have several lines, by the last name in its
// place.
func bodyParam(place string) bool {
	body, last := false, ""
	for w := range nameParts(lastName(place)) {
		body, last = body || bodyWords[w], w
	}
	return body && !headerWords[last]
}

// headerWords end the names of what goes into a header whatever stands before them:
// replyTo, message_id, textSubject.
var headerWords = set("to", "cc", "bcc", "from", "id", "ids", "subject", "title", "name", "header", "headers", "references")
