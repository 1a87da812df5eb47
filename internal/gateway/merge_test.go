package gateway

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

func lists(pairs ...string) (all []listed) {
	for i := 0; i < len(pairs); i += 2 {
		l := listed{upstream: pairs[i]}
		for _, n := range strings.Fields(pairs[i+1]) {
			l.elements = append(l.elements, []byte(n))
		}
		all = append(all, l)
	}
	return all
}

func shownNames(m merged) string {
	var all []string
	for _, e := range m.entries {
		all = append(all, e.shown)
	}
	return strings.Join(all, " ")
}

func TestMerge(t *testing.T) {
	long := strings.Repeat("x", 61)
	two := naming{prefixed: true, separator: "__", longest: 64, upstreams: []string{"a", "a__b"}}
	for _, c := range []struct {
		name  string
		n     naming
		k     kind
		lists []listed
		want  string
		left  int
	}{
		{"B041 order of upstreams, then the server's", two, tools, lists("a", `{"name":"z"} {"name":"c"}`, "a__b", `{"name":"d"}`), "a__z a__c a__b__d", 0},
		{"what could be either is neither's", two, tools, lists("a", `{"name":"b__c"} {"name":"d"}`, "a__b", `{"name":"c"} {"name":"e"}`), "a__d a__b__e", 1},
		{"B024 one bad entry hides no other", two, tools, lists("a", `7 {} {"name":3} {"name":""} [] {"name":"ok"}`), "a__ok", 5},
		{"B079 what does not show is left out", two, tools, lists("a", `{"name":"a\u200bb"} {"name":"a\u202eb"} {"name":"ok"}`), "a__ok", 2},
		{"B040 too long with its prefix", two, tools, lists("a", `{"name":"`+long+`"} {"name":"`+long+`x"}`), "a__" + long + " a__" + long[:50] + "_ioqj9m6u82", 1},
		{"B040 one that is called like another's short name", two, tools, lists("a", `{"name":"`+long+`x"} {"name":"`+long[:50]+`_ioqj9m6u82"} {"name":"ok"}`), "a__ok", 2},
		{"B040 no character is cut", two, tools, lists("a", `{"name":"`+long[:49]+`éééééééé"}`), "a__" + long[:49] + "_uv6eibe6gd", 1},
		{"prompts have no such limit", two, prompts, lists("a", `{"name":"`+long+`x"}`), "a__" + long + "x", 0},
		{"one server's own repetitions stay", two, tools, lists("a", `{"name":"c"} {"name":"c"}`), "a__c a__c", 0},
		{"without prefixes", naming{upstreams: []string{"a", "b"}}, tools, lists("a", `{"name":"c"} {"name":"d"}`, "b", `{"name":"c"}`), "d", 1},
		{"URIs are not renamed", two, resources, lists("a", `{"uri":"x://1"} {"uri":"x://2"}`, "a__b", `{"uri":"x://2"}`), "x://1", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, left := merge(c.n, c.k, c.lists)
			if got := shownNames(m); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if len(left) != c.left {
				t.Errorf("%d lines, want %d: %q", len(left), c.left, left)
			}
		})
	}
}

// Whatever servers list: what the client sees leads to the upstream that has it and to no
// other, whatever else is listed; and an element's bytes stay but for its name.
func TestMergedNamesLeadBack(t *testing.T) {
	name := rapid.StringMatching(`[ab_]{1,5}`)
	rapid.Check(t, func(t *rapid.T) {
		ups := rapid.SliceOfNDistinct(name, 2, 3, rapid.ID[string]).Draw(t, "upstreams")
		n := naming{
			prefixed: rapid.Bool().Draw(t, "prefixed"), separator: rapid.SampledFrom([]string{"_", "__"}).Draw(t, "separator"),
			longest: rapid.SampledFrom([]int{13, 16, 64}).Draw(t, "longest"), upstreams: ups,
		}
		var all []listed
		has := map[owned]bool{}
		for _, u := range ups {
			l := listed{upstream: u}
			for _, tool := range rapid.SliceOfNDistinct(rapid.OneOf(name, rapid.StringMatching(`[ab_]{9,11}`)), 0, 5, rapid.ID[string]).Draw(t, "tools of "+u) {
				l.elements = append(l.elements, []byte(fmt.Sprintf(`{ "x": 1.0, "name" : %q,"_meta":{"n":%q}}`, tool, u)))
				has[owned{u, tool}] = true
			}
			all = append(all, l)
		}
		m, _ := merge(n, tools, all)
		seen := map[string]bool{}
		for _, e := range m.entries {
			if seen[e.shown] {
				t.Fatalf("%s is listed twice", e.shown)
			}
			seen[e.shown] = true
			if m.where[e.shown] != e.owned || !has[e.owned] {
				t.Fatalf("%s leads to %v", e.shown, m.where[e.shown])
			}
			if want := fmt.Sprintf(`{ "x": 1.0, "name" : %q,"_meta":{"n":%q}}`, e.shown, e.upstream); string(e.raw) != want {
				t.Fatalf("bytes changed: %s, want %s", e.raw, want)
			}
			if n.prefixed && len(e.shown) > n.longest {
				t.Fatalf("%s is too long", e.shown)
			}
			if full := n.shown(kinds[tools].subject, e.upstream, e.name); full != e.shown && !n.mayBeShort(tools, e.shown) {
				t.Fatalf("%s would not be looked for", e.shown)
			}
			for _, o := range n.readings(e.shown) {
				if o != e.owned && has[o] && n.offered(tools, n.shown(kinds[tools].subject, o.upstream, o.name)) == e.shown {
					t.Fatalf("%s could be %v too", e.shown, o)
				}
			}
		}
		for o := range has { // nothing is lost but what is in doubt
			shown := n.offered(tools, n.shown(kinds[tools].subject, o.upstream, o.name))
			if !seen[shown] && !m.doubt[shown] {
				t.Fatalf("%v is lost", o)
			}
		}
	})
}

func TestPages(t *testing.T) {
	l := listed{upstream: "a"}
	for i := range 2*pageEntries + 5 {
		l.elements = append(l.elements, []byte(fmt.Sprintf(`{"name":"t%d"}`, i)))
	}
	n := naming{upstreams: []string{"a"}}
	m, _ := merge(n, tools, []listed{l})
	cursor, got := "", 0
	for pages := 1; ; pages++ {
		raw, err := m.page(tools, cursor, nil)
		if err != nil {
			t.Fatal(err)
		}
		page := message(`{"jsonrpc":"2.0","id":1,"result":` + string(raw) + `}`)
		if _, err := mcp.EditList(page, "tools", func(element []byte) ([]mcp.Edit, bool) {
			if want := fmt.Sprintf(`{"name":"t%d"}`, got); string(element) != want {
				t.Fatalf("element %d is %s", got, element)
			}
			got++
			return nil, false
		}); err != nil {
			t.Fatal(err)
		}
		next, _ := get(t, string(raw), "nextCursor").(string)
		if next == "" {
			if pages != 3 || got != len(l.elements) {
				t.Errorf("%d elements on %d pages", got, pages)
			}
			break
		}
		cursor = next
	}
	other, _ := merge(n, tools, []listed{{upstream: "a", elements: l.elements[1:]}})
	for _, bad := range []string{cursor, "x", "AAAA", cursor + "="} {
		if _, err := other.page(tools, bad, nil); err == nil {
			t.Errorf("the cursor %q is taken for another list", bad)
		}
	}
	if _, err := m.page(prompts, cursor, nil); err == nil {
		t.Error("a cursor is taken for a list of another kind")
	}
}

func TestTemplates(t *testing.T) {
	for _, c := range []struct {
		template, uri string
		want          bool
	}{
		{"test://t/{id}/data", "test://t/12/data", true},
		{"test://t/{id}/data", "test://t/1/2/data", false},
		{"file:///{+path}", "file:///a/b?c", true},
		{"a://x{?q,r}", "a://x?q=1&r=2", true},
		{"a://x{?q}", "a://x", true},
		{"a://x{/seg*}", "a://x/y/z", true},
		{"a://x.y/{n}", "a://xzy/1", false},
		{"a://{x", "a://1", false},
		{"a://{}", "a://", false},
	} {
		p, ok := parseTemplate(c.template)
		if got := ok && p.matches(c.uri); got != c.want {
			t.Errorf("%s and %s: %v", c.template, c.uri, got)
		}
	}
}

func FuzzTemplate(f *testing.F) {
	f.Add("test://{id}/x{+y}", "test://1/x")
	f.Add("{?a}{&b}{#c}{;d}{.e}{/f}", "?a=1")
	f.Add("(?i)[{x}", "[")
	f.Fuzz(func(t *testing.T, template, uri string) {
		p, ok := parseTemplate(template)
		if ok && !strings.ContainsAny(template, "{}") && p.matches(uri) != (template == uri) {
			t.Errorf("%q and %q", template, uri)
		}
	})
}
