package relay

import (
	"regexp"

	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// A question of a server's is shown to a person, who must not get somewhere by a click that
// the text only seems to name: no client should make links of what stands in one, but for the
// url of a question by URL (2025-11-25, elicitation, "Safe URL Handling"), and some do. So
// the texts stay readable, and what a client would make a link of is broken: https[:]//…

var (
	address    = regexp.MustCompile(`(?i)\b([a-z][a-z0-9+.-]*):(//)`)
	bareScheme = regexp.MustCompile(`(?i)\b(mailto|tel|sms|javascript|vbscript|data|file):([^\s])`)
	www        = regexp.MustCompile(`(?i)\b(www)\.`)
	markdown   = regexp.MustCompile(`\]([(:])`)
	tag        = regexp.MustCompile(`<([A-Za-z/!?])`)
)

// unlinked is text in which no client finds a link, of Markdown's, of HTML's or a bare one.
func unlinked(text string) string {
	text = address.ReplaceAllString(text, "$1[:]$2")
	text = bareScheme.ReplaceAllString(text, "$1[:]$2")
	text = www.ReplaceAllString(text, "$1[.]")
	text = markdown.ReplaceAllString(text, "] $1")
	return tag.ReplaceAllString(text, "< $1")
}

// maxUnlinked bounds the fields of a form whose texts are looked at. No client shows more.
const maxUnlinked = 256

// withoutLinks is a message whose questions have no links in their texts; v is its params, its
// result or its error. Names and values of fields stay: the server wants them back as they are.
// A message without links keeps its bytes.
func withoutLinks(m mcp.Message, v doc.Value) (mcp.Message, error) {
	var edits []mcp.Edit
	switch {
	case m.Kind == mcp.Request && m.Method == "elicitation/create":
		edits = unlinkQuestion(nil, []string{"params"}, v)
	case m.Kind != mcp.Request && m.Error == nil:
		at := []string{"result", "inputRequests"}
		if m.Kind == mcp.Notification {
			at[0] = "params"
		}
		for q := range v.Get("inputRequests").Members() {
			if q.Value.Get("method").String() == "elicitation/create" {
				edits = unlinkQuestion(edits, under(at, q.Name, "params"), q.Value.Get("params"))
			}
		}
	}
	if edits == nil {
		return m, nil
	}
	return mcp.Rewrite(m, edits...)
}

func under(at []string, names ...string) []string {
	return append(append([]string(nil), at...), names...)
}

// unlinkQuestion adds the edits for one question, whose params are at.
func unlinkQuestion(edits []mcp.Edit, at []string, params doc.Value) []mcp.Edit {
	text := func(object doc.Value, path []string, name string, shown func(string) string) {
		t := object.Get(name)
		if t.Kind() != doc.String {
			return
		}
		if broken := shown(t.String()); broken != t.String() {
			v, err := doc.FromGo(broken)
			if err != nil {
				return // it was valid text, and is
			}
			edits = append(edits, mcp.Edit{Path: under(path, name), Value: v.AppendJSON(nil)})
		}
	}
	text(params, at, "message", unlinked)
	fields := 0
	for f := range params.Get("requestedSchema").Get("properties").Members() {
		if fields++; fields > maxUnlinked {
			break
		}
		field := under(at, "requestedSchema", "properties", f.Name)
		text(f.Value, field, "title", unlinkedLabel)
		text(f.Value, field, "description", unlinkedLabel)
	}
	return edits
}

func unlinkedLabel(text string) string { return unlinked(label(text)) }

// paramsOf are the params of a question; they were read before. Of other messages nothing is.
func paramsOf(m mcp.Message) doc.Value {
	if m.Method != "elicitation/create" && m.Method != "notifications/tasks" {
		return doc.Value{}
	}
	v, err := doc.Parse(m.Params, doc.Limits{})
	if err != nil {
		return doc.Value{}
	}
	return v
}
