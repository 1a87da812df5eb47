package contract

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sallyport-dev/sallyport/doc"
)

// holds checks what every draft has to hold to: it loads, fits the list that it was made
// from, and lets nothing through that the fallback gates.
func holds(t rapid.TB, list []Tool) {
	data, err := DraftPack(Draft{Name: "n", Server: "\x1b[2J\nserver: x", Version: "1"}, list)
	if err != nil {
		if !strings.Contains(err.Error(), "no tool that a pack could have an entry for") && !strings.Contains(err.Error(), "at most") {
			t.Fatalf("no draft: %v", err)
		}
		return
	}
	p, err := ReadPack("draft.yaml", data)
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	if strings.ContainsAny(string(data), "\x1b\r\x00\u202e\u200b") {
		t.Fatalf("the draft has characters that do not show:\n%q", data)
	}
	s, err := NewSet(nil, Options{Packs: PackChoice{None: true}})
	if err != nil {
		t.Fatal(err)
	}
	s.packs = []*pack{p.pack}
	s.Bind("u", list)
	left := len(p.pack.tools) < len(list)
	for _, tool := range list {
		tool.Upstream = "u"
		c, without := s.For(tool), Fallback(tool)
		if without.Exfiltrating && !c.Exfiltrating {
			t.Fatalf("%q is a sink for the fallback, and none in the draft:\n%s", tool.Name, data)
		}
		for _, sink := range without.SinkParams {
			if len(c.SinkParams) > 0 && !slices.ContainsFunc(c.SinkParams, func(have doc.Selector) bool { return have.String() == sink.String() }) {
				t.Fatalf("%q: the draft does not name %s:\n%s", tool.Name, sink, data)
			}
		}
		if len(c.Output) > 0 || len(c.TrustedDestinations) > 0 || c.DestinationOptional {
			t.Fatalf("%q: the draft grants something:\n%s", tool.Name, data)
		}
	}
	found, _ := p.Check(list)
	for _, m := range found {
		if !m.Note && !left {
			t.Fatalf("the draft does not fit its own list: %s\n%s", m.Text, data)
		}
		if strings.ContainsAny(m.Text, "\x1b\n\r\x00\u202e") {
			t.Fatalf("%q is not safe to show", m.Text)
		}
	}
}

func TestDraftsLoosenNothing(t *testing.T) {
	hostile := rapid.SampledFrom([]string{
		"to", "url", "send_mail", "a b", "true", "null", "~", "1", "1.5", "a: b", "#x", "- x", "[*]", `"`, `\`, "'", "*", "&a", "!t", "%x", "{", "${HOME}", "$${A}", "args.to", "recipient/{to}",
		"x\nevil: {params: []}", "\x1b[2J", "\u202e", "\u200b", "ünï", "日本", "", strings.Repeat("n", 300), "fetch", "query", "a/b", "a.b", "a[0]", "yes", "NaN",
	})
	rapid.Check(t, func(r *rapid.T) {
		var list []Tool
		for range rapid.IntRange(1, 5).Draw(r, "tools") {
			props := map[string]any{}
			for range rapid.IntRange(0, 4).Draw(r, "params") {
				props[hostile.Draw(r, "param")] = map[string]any{"type": "string", "description": hostile.Draw(r, "description")}
			}
			name := rapid.OneOf(hostile, rapid.StringMatching(`[a-z_]{1,12}`)).Draw(r, "name")
			def, err := doc.FromGo(map[string]any{"name": name, "description": hostile.Draw(r, "about"), "inputSchema": map[string]any{"type": "object", "properties": props}})
			if err != nil {
				r.Skip(err)
			}
			list = append(list, Tool{Name: name, Definition: def})
		}
		holds(r, list)
	})
}

func FuzzDraftPack(f *testing.F) {
	for _, seed := range []string{
		`[{"name":"send_mail","inputSchema":{"properties":{"to":{"type":"string"},"a\nb":{"type":"string"}}}}]`,
		`[{"name":"fetch","inputSchema":{"properties":{"url":{"format":"uri"}}}}]`,
		`[{"name":"a","inputSchema":{"$ref":"#"}},{"name":"a"},{"name":"\u001b[2J"}]`,
		`[{"name":"x: y","inputSchema":{"properties":{"":{},"\u202e":{},"p":{"items":{"properties":{"q":{"items":{"properties":{"to":{}}}}}}}}}}]`,
		`[{"name":"run","inputSchema":true},{"name":1},{}]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := doc.Parse(data, doc.Limits{Nodes: 10_000, Depth: 50})
		if err != nil {
			return
		}
		var list []Tool
		for _, d := range v.Elements() {
			list = append(list, Tool{Name: d.Get("name").String(), Definition: d})
		}
		holds(t, list)
		for _, p := range ShippedPacks() {
			found, more := p.Check(list)
			if len(found) > maxMisfits+1 || more > 0 && len(found) < maxMisfits {
				t.Fatalf("%d misfits and %d more", len(found), more)
			}
		}
	})
}

func TestCheckIsBounded(t *testing.T) {
	var list []Tool
	for i := range 2000 {
		list = append(list, tool(t, "tool_"+string(rune('a'+i%26))+strings.Repeat("x", i/26)+"(to)"))
	}
	p := ShippedPacks()[0]
	found, more := p.Check(list)
	if len(found) != maxMisfits || more < 1500 {
		t.Errorf("%d misfits and %d more", len(found), more)
	}
}

// What is reported of one tool, in full.
func TestCheckReports(t *testing.T) {
	p, err := ReadPack("p.yaml", []byte(`
pack: p
server: s
version: "1"
verified: false
checked: by hand
match: [send, keep]
optional: [sometimes]
tools:
  send: {params: [to, cc, body, path], exfiltrating: true, sink_params: [to]}
  keep: {params: [note, email], typed_params: [email]}
  wipe: {params: [target_url], destructive: true}
  sometimes: {params: []}
  gone: {params: []}
`))
	if err != nil {
		t.Fatal(err)
	}
	found, _ := p.Check(tools(t, "send(to, cc, body, callback_url, colour, output_path)", "keep(note)", "wipe(target_url)"))
	got := map[string]bool{}
	for _, m := range found {
		got[map[bool]string{true: "note: "}[m.Note]+m.Text] = true
	}
	want := []string{
		"note: tool 'send': the parameter 'cc' looks like a destination, and the pack does not name it as one",
		"tool 'send': the pack does not know the parameter 'callback_url', which looks like a destination",
		"tool 'send': the pack does not know the parameter 'colour'",
		"tool 'send': the pack does not know the parameter 'output_path', which looks like a path that is written",
		"note: tool 'send': the parameter 'path', which the pack knows, is gone",
		"tool 'keep': the entry names the parameter 'email', which the tool does not have: every call fails, or is never looked at",
		"tool 'gone': the server does not list it any more",
	}
	for _, w := range want {
		if !got[w] {
			t.Errorf("not reported: %s", w)
		}
		delete(got, w)
	}
	for _, more := range slices.Sorted(maps.Keys(got)) {
		t.Errorf("reported: %s", more)
	}
}
