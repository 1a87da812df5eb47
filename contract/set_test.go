package contract

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

func newSet(t testing.TB, text string, opt Options) *Set {
	t.Helper()
	var entries []*Contract
	if text != "" {
		entries = mustParse(t, text)
	}
	s, err := NewSet(entries, opt)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// tools builds a list from short forms.
func tools(t testing.TB, shorts ...string) []Tool {
	t.Helper()
	var out []Tool
	for _, s := range shorts {
		out = append(out, tool(t, s))
	}
	return out
}

func notice(notices []Notice, words ...string) bool {
	for _, n := range notices {
		all := true
		for _, w := range words {
			all = all && strings.Contains(n.Text, w)
		}
		if all {
			return true
		}
	}
	return false
}

func TestLayers(t *testing.T) {
	s := newSet(t, "a/send: {max_calls: 1}\nsend: {max_calls: 2}\nwrite_file: {write_params: [path]}\n", Options{})
	list := tools(t, "send(to)", "write_file(path, content)", "post(text)")
	s.Bind("a", list)
	for name, want := range map[string]string{"send": "c.yaml:1:1", "write_file": "c.yaml:3:1", "post": "fallback"} {
		if got := s.For(Tool{Upstream: "a", Name: name}); got.Source != want {
			t.Errorf("%s: from %s, want %s", name, got.Source, want)
		}
	}
	if c := s.For(Tool{Upstream: "a", Name: "post"}); sinksOf(c) != "*" || c.Upstream != "a" {
		t.Errorf("post: %+v", c)
	}
	// A tool that was never bound still has a contract.
	if c := s.For(tool(t, "share(email)")); c == nil || sinksOf(c) != "email" {
		t.Errorf("share: %+v", c)
	}
}

// An entry replaces the pack's as a whole, and says when it turns the flow off.
func TestEntryReplacesPack(t *testing.T) {
	s := newSet(t, "send_email: {max_calls: 3}\n", Options{})
	notices := s.Bind("mail", gmailList(t))
	c := s.For(Tool{Upstream: "mail", Name: "send_email"})
	if !c.FlowOff() || len(c.SinkParams) != 0 || *c.MaxCalls != 3 {
		t.Errorf("send_email: %+v", c)
	}
	if !notice(notices, "send_email", "c.yaml:1:1", "turns that check off") {
		t.Errorf("no notice: %q", notices)
	}
	if c := s.For(Tool{Upstream: "mail", Name: "draft_email"}); c.Source != "pack gmail" {
		t.Errorf("draft_email: %+v", c)
	}
}

func TestBareNamesNeedOneUpstream(t *testing.T) {
	s := newSet(t, "send: {exfiltrating: true, trusted_destinations: [a@x.example]}\n", Options{})
	list := tools(t, "send(to)")
	s.Bind("a", list)
	if c := s.For(Tool{Upstream: "a", Name: "send"}); c.Source != "c.yaml:1:1" {
		t.Fatalf("with one upstream: %+v", c)
	}
	notices := s.Bind("b", list)
	if !notice(notices, "'send'", "2 upstreams have this tool") {
		t.Errorf("notices: %q", notices)
	}
	for _, u := range []string{"a", "b"} {
		c := s.For(Tool{Upstream: u, Name: "send"})
		if c.MaxCalls == nil || *c.MaxCalls != 0 || len(c.TrustedDestinations) != 0 || c.FlowOff() {
			t.Errorf("upstream %s: %+v", u, c)
		}
	}
	if c := s.For(Tool{Upstream: "unbound", Name: "send"}); c.MaxCalls == nil || *c.MaxCalls != 0 {
		t.Errorf("an upstream that is not bound: %+v", c)
	}
	s.Bind("b", tools(t, "other(x)"))
	if c := s.For(Tool{Upstream: "a", Name: "send"}); c.Source != "c.yaml:1:1" {
		t.Errorf("once it is clear again: %+v", c)
	}
	// An entry with its upstream is never in doubt.
	s = newSet(t, "send: {max_calls: 1}\nb/send: {max_calls: 2}\n", Options{})
	s.Bind("a", list)
	s.Bind("b", list)
	if c := s.For(Tool{Upstream: "b", Name: "send"}); *c.MaxCalls != 2 {
		t.Errorf("named entry: %+v", c)
	}
}

func TestNotices(t *testing.T) {
	s := newSet(t, "sned_mail: {max_calls: 1}\nfs/none: {max_calls: 1}\nmail/none: {max_calls: 1}\n", Options{})
	notices := s.Bind("mail", tools(t, "send_mail(to)", "save_page(path)", "git_commit(path)"))
	for _, want := range [][]string{
		{"c.yaml:1:1", "matches no tool", "sned_mail", "did you mean", "send_mail"},
		{"c.yaml:3:1", "mail/none"},
		{"no contract for send_mail; save_page; git_commit", "send_mail sends to what stands in to"},
		{"nothing confines", "save_page"},
	} {
		if !notice(notices, want...) {
			t.Errorf("no notice with %q in %q", want, notices)
		}
	}
	if notice(notices, "fs/none") {
		t.Errorf("a notice for an upstream that is not there yet: %q", notices)
	}
	if !notice(s.Bind("fs", nil), "fs/none") {
		t.Error("no notice for an empty list")
	}
}

func TestMisspeltParameters(t *testing.T) {
	s := newSet(t, `send:
  exfiltrating: true
  sink_params: [to, tto, "cc[0]", "cc[*]", "to.x"]
  write_params: ["out[*].path"]
  arg_patterns: {subjekt: x}
`, Options{})
	notices := s.Bind("u", tools(t, "send(to, cc:[string], subject)"))
	for name, want := range map[string]bool{"tto": true, "out[*].path": true, "subjekt": true, "to.x": true, "to": false, "cc[0]": false, "cc[*]": false} {
		if notice(notices, "'"+name+"'", "does not list") != want {
			t.Errorf("%s: a notice is not %v: %q", name, want, notices)
		}
	}
	if notices := s.Bind("u", []Tool{{Name: "send"}}); notice(notices, "does not list") {
		t.Errorf("a tool without a schema: %q", notices)
	}
}

// What a server lists can neither flood the log nor write into it.
func TestNoticesAreBoundedAndEscaped(t *testing.T) {
	var text strings.Builder
	for i := range 500 {
		fmt.Fprintf(&text, "missing%d: {max_calls: 1}\n", i)
	}
	s := newSet(t, text.String(), Options{})
	list := tools(t, "x(y)")
	list[0].Name = "evil\n\x1b[2J" + strings.Repeat("n", 5000)
	list = append(list, list[0])
	notices := s.Bind("u\x1b", list)
	if len(notices) > maxNotices || !notice(notices, "more notices") {
		t.Errorf("%d notices", len(notices))
	}
	for _, n := range notices {
		if strings.ContainsAny(n.Text, "\x1b\n") || len(n.Text) > 2000 {
			t.Errorf("not safe to show: %q", n.Text)
		}
	}
}

// Which of two definitions with one name a server runs, it alone knows.
func TestListedTwice(t *testing.T) {
	s := newSet(t, "", Options{})
	list := append(tools(t, "update(id)"), tools(t, "update(id, email)")...)
	if notices := s.Bind("u", list); !notice(notices, "listed more than once") {
		t.Errorf("notices: %q", notices)
	}
	for _, def := range list {
		def.Upstream = "u"
		if got := sinksOf(s.For(def)); got != "email" {
			t.Errorf("sinks %s", got)
		}
	}
}

func TestNewSetErrors(t *testing.T) {
	if _, err := NewSet(nil, Options{Packs: PackChoice{Names: []string{"gmial"}}}); err == nil || !strings.Contains(err.Error(), "gmail") {
		t.Errorf("an unknown pack: %v", err)
	}
	if _, err := NewSet(nil, Options{Packs: PackChoice{None: true, Names: []string{"gmail"}}}); err == nil {
		t.Error("packs off and named at once")
	}
	if _, err := NewSet([]*Contract{{Tool: "a"}, {Tool: "a"}}, Options{}); err == nil {
		t.Error("two entries for one tool")
	}
	if _, err := NewSet([]*Contract{{Tool: "a"}, {Tool: "a", Upstream: "u"}}, Options{}); err != nil {
		t.Error(err)
	}
}

func TestPackChoice(t *testing.T) {
	for name, c := range map[string]struct {
		choice PackChoice
		want   string
	}{
		"auto": {PackChoice{}, "pack gmail"}, "none": {PackChoice{None: true}, "fallback"},
		"named": {PackChoice{Names: []string{"gmail"}}, "pack gmail"}, "another": {PackChoice{Names: []string{"filesystem"}}, "fallback"},
	} {
		s := newSet(t, "", Options{Packs: c.choice})
		s.Bind("mail", gmailList(t))
		if got := s.For(Tool{Upstream: "mail", Name: "send_email"}).Source; got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestSetIsSafeForConcurrentUse(t *testing.T) {
	s := newSet(t, "send: {max_calls: 1}\n", Options{})
	list := tools(t, "send(to)", "post(text)")
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for range 50 {
				s.Bind(fmt.Sprint("u", i%2), list)
				if s.For(Tool{Upstream: "u0", Name: "post"}) == nil {
					t.Error("no contract")
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkFor(b *testing.B) {
	s := newSet(b, "send: {max_calls: 1}\n", Options{})
	list := gmailList(b)
	s.Bind("mail", list)
	t := Tool{Upstream: "mail", Name: "send_email", Definition: list[0].Definition}
	b.ReportAllocs()
	for b.Loop() {
		if s.For(t) == nil {
			b.Fatal("none")
		}
	}
}

// An entry that says exfiltrating: false means it; a bare budget on a tool that sends may
// be an oversight.
func TestFlowOffIsSaidWhereItMatters(t *testing.T) {
	for entry, want := range map[string]bool{
		"send: {max_calls: 5}":                      true,
		"send: {max_calls: 5, exfiltrating: false}": false,
		"read: {max_calls: 5}":                      false,
	} {
		s := newSet(t, entry, Options{})
		if got := notice(s.Bind("u", tools(t, "send(to)", "read(id)")), "turns that check off"); got != want {
			t.Errorf("%s: notice %v, want %v", entry, got, want)
		}
	}
}
