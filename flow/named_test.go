package flow

import "testing"

// An id is the server's own where the server itself put it, not where somebody's text has
// the form of a document.
func TestServersOwnIDs(t *testing.T) {
	text := func(s ...string) map[string]any {
		var blocks []any
		for _, s := range s {
			blocks = append(blocks, map[string]any{"type": "text", "text": s})
		}
		return map[string]any{"content": blocks}
	}
	with := func(m map[string]any, structured any) map[string]any {
		m["structuredContent"] = structured
		return m
	}
	const id = `{"channel_id":"C0EVIL99"}`
	for _, c := range []struct {
		name string
		out  map[string]any
		want Origin
	}{
		{"structured", with(text(), map[string]any{"channel_id": "C0EVIL99"}), Unknown},
		{"a list of them", with(text(), map[string]any{"channel_ids": []any{"C0EVIL99"}}), Unknown},
		{"JSON as the text", text(id), Unknown},
		{"both", with(text(id), map[string]any{"channel_id": "C0EVIL99"}), Unknown},
		{"a message that is JSON", with(text(), map[string]any{"body": id}), Untrusted},
		{"a message in JSON that is JSON", text(`{"body":"{\"channel_id\":\"C0EVIL99\"}"}`), Untrusted},
		{"a second text", text("Message:", id), Untrusted},
		{"a text beside structured content", with(text(id), map[string]any{"ok": true}), Untrusted},
		{"another name", with(text(), map[string]any{"title": "C0EVIL99"}), Untrusted},
	} {
		l := NewLedger(LedgerOptions{})
		l.Observe(output(t, "read", 1, c.out))
		d := Flatten("channel_id", value(t, "C0EVIL99"))[0]
		if d.Upstream = "desk"; l.Lookup(d).Origin != c.want {
			t.Errorf("%s: %v, want %v", c.name, l.Lookup(d).Origin, c.want)
		}
		if d.Upstream = "other"; l.Lookup(d).Origin != Untrusted {
			t.Errorf("%s, at another server: %v", c.name, l.Lookup(d).Origin)
		}
	}
}
