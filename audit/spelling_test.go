package audit

import (
	"encoding/json/v2"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sallyport-dev/sallyport/doc"
)

// spelled writes s with escapes at random, as JSON or a URL can.
func spelled(t *rapid.T, s string) string {
	how := rapid.SampledFrom([]string{"as it is", "json", "url", "json twice"}).Draw(t, "spelling")
	if how == "as it is" {
		return s
	}
	for range map[string]int{"json": 1, "url": 1, "json twice": 2}[how] {
		var b strings.Builder
		for _, r := range s {
			switch escape := rapid.IntRange(0, 3).Draw(t, "escape") == 0; {
			case r == '\\' && how != "url":
				b.WriteString(`\\`)
			case r == '%' && how == "url":
				b.WriteString(`%25`)
			case escape && how == "url":
				for _, c := range []byte(string(r)) {
					fmt.Fprintf(&b, "%%%02X", c)
				}
			case escape:
				fmt.Fprintf(&b, `\u%04x`, r)
			case r == '\n' && how != "url":
				b.WriteString(`\n`)
			case r == '"' && how != "url":
				b.WriteString(`\"`)
			default:
				b.WriteRune(r)
			}
		}
		s = b.String()
	}
	return s
}

// asRead takes the escapes off a line until none is left.
func asRead(line string) string {
	for range 8 {
		var p plainText
		if !p.read(line, nil, false) {
			break
		}
		line = p.string()
	}
	return line
}

// Wherever a credential stands in a record and however it is spelled, nothing of it can be
// read in the line.
func TestCredentialsNeverShow(t *testing.T) {
	red := newRedactor(Redaction{})
	var names []string
	for name := range credentials {
		if !strings.HasPrefix(name, "cut") { // their ends are marks of ours
			names = append(names, name)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		c := credentials[rapid.SampledFrom(names).Draw(t, "credential")]
		text := rapid.SampledFrom(ordinary).Draw(t, "before") + " " + spelled(t, c.text) + " " + rapid.SampledFrom(ordinary).Draw(t, "after")
		at := rapid.SampledFrom([]string{
			"value", "name", "list", "json", "json string", "reason", "detail", "target", "caller", "destination", "place", "request", "tool",
		}).Draw(t, "place")
		r := Record{Event: "tools/call"}
		var args any
		switch at {
		case "value":
			args = map[string]any{"a": map[string]any{"b": text}}
		case "name":
			args = map[string]any{text: 1}
		case "list":
			args = []any{[]any{text}, text}
		case "json", "json string":
			inner, err := json.Marshal(map[string]any{"x": []any{text}})
			if err != nil {
				t.Fatal(err)
			}
			if at == "json string" {
				if inner, err = json.Marshal(string(inner)); err != nil {
					t.Fatal(err)
				}
			}
			args = map[string]any{"body": string(inner)}
		case "reason":
			r.Reason = text
		case "detail":
			r.Detail = text
		case "target":
			r.Target = text
		case "caller":
			r.Caller = text
		case "destination":
			r.Evidence = []Evidence{{Destination: text}}
		case "place":
			r.Evidence = []Evidence{{Argument: text, Place: text}}
		case "request":
			r.Request = text
		case "tool":
			r.Evidence = []Evidence{{Tool: text, Upstream: text}}
		}
		if args != nil {
			raw, err := json.Marshal(args)
			if err != nil {
				t.Fatal(err)
			}
			if r.Arguments, err = doc.Parse(raw, doc.Limits{}); err != nil {
				t.Fatal(err)
			}
		}
		e := newEncoder(red)
		defer e.release()
		e.record(&r)
		line := "{" + string(e.buf[headroom+1:]) + "}"
		if read := asRead(line); strings.Contains(read, c.secret) || strings.Contains(line, c.secret) {
			t.Fatalf("%s: %q is in %s", at, c.secret, line)
		}
		var v any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
	})
}
