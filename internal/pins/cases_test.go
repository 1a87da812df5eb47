package pins

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// B101: every member of a definition counts, one character is a change, and order is none;
// only the tool that changed is refused, in the session that runs too.
func TestB101WhatChangesIsHeld(t *testing.T) {
	const base = `"description":"d","title":"t","annotations":{"readOnlyHint":true},"outputSchema":{"type":"object"},"_meta":{"v/x":1},"icons":[{"src":"https://a.example/i.png"}],"future":1,` +
		`"inputSchema":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["a","b"]}`
	tool := func(members string) string { return `{"name":"x",` + members + `}` }
	for _, c := range [][2]string{
		{`"description":"d"`, `"description":"d."`},
		{`"title":"t"`, `"title":"T"`},
		{`"readOnlyHint":true`, `"readOnlyHint":false`},
		{`"outputSchema":{"type":"object"}`, `"outputSchema":{"type":"object","title":"o"}`},
		{`"v/x":1`, `"v/x":2`},
		{`i.png`, `j.png`},
		{`"future":1`, `"future":2`},
		{`"future":1,`, ``},
		{`"b":{"type":"integer"}`, `"b":{"type":"number"}`},
	} {
		store := open(t, storeDir(t))
		s, _ := run(t, store, `{}`, tool(base), named("other"))
		changed := tool(strings.Replace(base, c[0], c[1], 1))
		if events := list(t, store, s, `{}`, changed, named("other")); len(events) != 1 || events[0].Tool != "x" || !events[0].Denied {
			t.Errorf("%s: %+v", c[1], events)
		}
		if refusal(t, s, "x") == "" || refusal(t, s, "other") != "" {
			t.Errorf("%s in the same session: x %q, other %q", c[1], refusal(t, s, "x"), refusal(t, s, "other"))
		}
		later, _ := run(t, store, `{}`, changed, named("other"))
		if refusal(t, later, "x") == "" || refusal(t, later, "other") != "" {
			t.Errorf("%s in a later session: x %q, other %q", c[1], refusal(t, later, "x"), refusal(t, later, "other"))
		}
	}

	store := open(t, storeDir(t))
	run(t, store, `{}`, tool(base), named("other"))
	const turned = `"inputSchema":{"required":["b","a"],"properties":{"b":{"type":"integer"},"a":{"type":"string"}},"type":"object"},` +
		`"future":1,"icons":[{"src":"https://a.example/i.png"}],"_meta":{"v/x":1},"outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true},"title":"t","description":"\u0064"`
	s, events := run(t, store, `{}`, named("other"), tool(turned))
	if len(events) > 0 || refusal(t, s, "x") != "" {
		t.Errorf("another order is a change: %+v, %s", events, refusal(t, s, "x"))
	}
	// Away and back: as before it is allowed, otherwise it is not.
	run(t, store, `{}`, named("other"))
	if s, _ := run(t, store, `{}`, tool(base)); refusal(t, s, "x") != "" {
		t.Errorf("back as it was: %s", refusal(t, s, "x"))
	}
	run(t, store, `{}`, named("other"))
	if s, _ := run(t, store, `{}`, named("x")); refusal(t, s, "x") == "" {
		t.Error("back with another definition, and allowed")
	}

	// Pins that cannot be read allow nothing, and say what a person can do.
	all, err := filepath.Glob(filepath.Join(store.Dir(), "*.json"))
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	if err := os.WriteFile(all[0], []byte(`{"version":`), 0o600); err != nil {
		t.Fatal(err)
	}
	book, err := store.Book(here, "u")
	if err == nil {
		_, _, err = book.List(context.Background(), newSession(t), CapabilitiesOf(value(t, `{}`)), toolsOf(t, named("other")))
	}
	if err == nil || !strings.Contains(err.Error(), all[0]) {
		t.Errorf("damaged pins: %v", err)
	}
}

// B102: another name is another tool, whatever the definition; and pins are of one command
// or URL: what was pinned there says nothing of another.
func TestB102NamesAndServersAreNotInterchangeable(t *testing.T) {
	store := open(t, storeDir(t))
	run(t, store, `{}`, `{"name":"read","description":"d"}`)
	s, events := run(t, store, `{}`, `{"name":"read2","description":"d"}`)
	if len(events) != 1 || refusal(t, s, "read2") == "" {
		t.Errorf("a renamed tool: %+v, %q", events, refusal(t, s, "read2"))
	}
	ids := map[string]bool{}
	for i, u := range []Upstream{
		Command([]string{"node", "server.js"}), Command([]string{"node", "server.js", "--x"}), Command([]string{"node", "./server.js"}),
		URL("https://a.example/mcp"), URL("https://a.example/mcp2"), URL("https://b.example/mcp"), URL("http://a.example/mcp"),
	} {
		ids[u.ID()] = true
		if len(ids) != i+1 {
			t.Errorf("%s shares its pins", u.shown)
		}
		book, err := store.Book(u, "u")
		if err != nil {
			t.Fatal(err)
		}
		_, events, err := book.List(context.Background(), newSession(t), CapabilitiesOf(value(t, `{}`)), toolsOf(t, fmt.Sprintf(`{"name":"read","description":"of %d"}`, i)))
		if first := i > 0; err != nil || (len(events) == 1 && events[0].Denied) == first {
			t.Errorf("%s: %+v %v", u.shown, events, err)
		}
	}
}

// B102: who stands behind a name that another server had is said once, loudly and on record.
func TestB102AnotherServerUnderTheSameNameIsTold(t *testing.T) {
	store := open(t, storeDir(t))
	told := func(u Upstream, name, caps string) string {
		t.Helper()
		book, err := store.Book(u, name)
		if err != nil {
			t.Fatal(err)
		}
		notices, events, err := book.List(context.Background(), newSession(t), CapabilitiesOf(value(t, caps)), toolsOf(t, `{"name":"read"}`))
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, n := range notices {
			if n.Warning && strings.Contains(n.Text, "another way than before") {
				text = n.Text
			}
		}
		if on := strings.Contains(fmt.Sprintf("%+v", events), "another way than before"); on != (text != "") {
			t.Errorf("the record and the log differ: %+v, %q", events, text)
		}
		return text
	}
	old, now := Command([]string{"node", "old.js", "--token=hush"}), URL("https://a.example/mcp?key=hush")
	for _, c := range []struct {
		u          Upstream
		name, caps string
		told       bool
	}{
		{old, "mail", `{}`, false},
		{old, "mail", `{"roots":{}}`, false},
		{now, "notes", `{}`, false},
		{URL("https://b.example/mcp"), "mail", `{}`, true},
		{URL("https://b.example/mcp"), "mail", `{"roots":{}}`, false},
		{old, "mail", `{}`, false},
	} {
		got := told(c.u, c.name, c.caps)
		if (got != "") != c.told || c.told && (!strings.Contains(got, "'node old.js --token=…'") || !strings.Contains(got, "'https://b.example/mcp'")) || strings.Contains(got, "hush") {
			t.Errorf("%s as %s: %q", c.u.shown, c.name, got)
		}
	}
}
