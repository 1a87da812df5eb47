package contract

import (
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/confine"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

func parse(t testing.TB, text string, opt Options) ([]*Contract, *strictyaml.Problems) {
	t.Helper()
	var p strictyaml.Problems
	root := strictyaml.Parse("c.yaml", []byte(text), nil, &p)
	if root == nil {
		t.Fatal(p.Err())
	}
	return Parse(root, &p, opt), &p
}

func mustParse(t testing.TB, text string) []*Contract {
	t.Helper()
	cs, p := parse(t, text, Options{})
	if err := p.Err(); err != nil {
		t.Fatal(err)
	}
	return cs
}

func TestParse(t *testing.T) {
	cs, p := parse(t, `
send_email:
  exfiltrating: true
  sink_params: [to, cc, "items[*].to"]
  trusted_destinations: [you@company.example, "*@company.example"]
share_all:
  exfiltrating: true
fs/write_file:
  write_params: [path]
  allowed_path_prefixes: [/srv/out, /srv/tmp]
  path_base: /srv/out
move_file:
  write_params: [source, destination]
delete_file:
  max_calls: 2
forbidden: {max_calls: 0}
run_query:
  arg_patterns: {sql: "SELECT .*", 'opts["odd key"]': "a|b"}
delete_event: {destructive: true}
nested/a/b: {max_calls: 1}
`, Options{Deny: []string{"/srv/out/sallyport.yaml"}})
	if err := p.Err(); err != nil {
		t.Fatal(err)
	}
	by := map[string]*Contract{}
	for _, c := range cs {
		by[c.label()] = c
	}
	send := by["send_email"]
	if !send.Exfiltrating || send.FlowOff() || sinksOf(send) != "to cc items[*].to" || len(send.TrustedDestinations) != 2 || send.Source != "c.yaml:2:1" {
		t.Errorf("send_email: %+v", send)
	}
	if got := sinksOf(by["share_all"]); got != "*" {
		t.Errorf("share_all reads %s as destinations", got)
	}
	write := by["fs/write_file"]
	if write.Upstream != "fs" || write.Tool != "write_file" || write.Confine == nil || !write.FlowOff() || write.PathBase != "/srv/out" {
		t.Fatalf("write_file: %+v", write)
	}
	for path, inside := range map[string]bool{
		"/srv/out/a": true, "b": true, "/srv/tmp/a": true, "/srv/output": false, "../x": false, "/srv/out/sallyport.yaml": false,
	} {
		if _, err := write.Confine.Check(path, nil); (err == nil) != inside {
			t.Errorf("%s: %v", path, err)
		}
	}
	if m := by["move_file"]; len(m.WriteParams) != 2 || m.Confine != nil {
		t.Errorf("move_file: %+v", m)
	}
	if d := by["delete_file"]; d.MaxCalls == nil || *d.MaxCalls != 2 {
		t.Errorf("delete_file: %+v", d)
	}
	if f := by["forbidden"]; f.MaxCalls == nil || *f.MaxCalls != 0 {
		t.Errorf("forbidden: %+v", f)
	}
	if d := by["delete_event"]; !d.Destructive || d.MaxCalls != nil {
		t.Errorf("delete_event: %+v", d)
	}
	if n := by["nested/a/b"]; n.Upstream != "nested" || n.Tool != "a/b" {
		t.Errorf("a tool with a slash: %+v", n)
	}
	q := by["run_query"]
	if len(q.ArgPatterns) != 2 || q.ArgPatterns[0].Source != "SELECT .*" || q.ArgPatterns[1].Param.String() != `opts["odd key"]` {
		t.Fatalf("run_query: %+v", q)
	}
	for value, match := range map[string]bool{
		"SELECT 1": true, "SELECT 1\n; x": true, "select 1": false, " SELECT 1": false, "DROP; SELECT 1": false, "SELECT": false,
	} {
		if q.ArgPatterns[0].Pattern.MatchString(value) != match {
			t.Errorf("%q: match is not %v", value, match)
		}
	}
	for value, match := range map[string]bool{"a": true, "b": true, "ab": false, "b\n": false, "xa": false} {
		if q.ArgPatterns[1].Pattern.MatchString(value) != match {
			t.Errorf("%q: match is not %v", value, match)
		}
	}
}

func TestParseProblems(t *testing.T) {
	for text, want := range map[string]string{
		"t: {sink_params: [to]}":                                   "c.yaml:1:18: sink_params needs exfiltrating: true",
		"t: {trusted_destinations: [a@x.example]}":                 "needs exfiltrating: true",
		"t: {exfiltrating: false, sink_params: [to]}":              "needs exfiltrating: true",
		"t: {exfiltrating: true, sink_params: []}":                 "every argument is read as a destination",
		"t: {exfiltrating: true, sink_params: to}":                 "write a list",
		"t: {exfiltrating: true, sink_params: [\"\"]}":             "name of a parameter",
		"t: {exfiltrating: true, sink_params: [a..b]}":             "the selector 'a..b': at byte 2",
		"t: {exfiltrating: true, sink_params: [1]}":                "write text",
		"t: {exfiltrating: \"true\"}":                              "true or false",
		"t: {exfiltrating: true, trusted_destinations: []}":        "is empty",
		"t: {exfiltrating: true, trusted_destinations: [\"\"]}":    "matches nothing",
		"t: {write_params: []}":                                    "is empty",
		"t: {allowed_path_prefixes: [/srv]}":                       "needs write_params",
		"t: {write_params: [p], path_base: /srv}":                  "needs allowed_path_prefixes",
		"t: {path_base: /srv}":                                     "needs write_params",
		"t: {write_params: [p], allowed_path_prefixes: []}":        "is empty",
		"t: {write_params: [p], allowed_path_prefixes: [\"\"]}":    "it is empty",
		"t: {write_params: [p], allowed_path_prefixes: [out]}":     "not an absolute path",
		"t: {write_params: [p], allowed_path_prefixes: [~/out]}":   "~",
		"t: {write_params: [p], allowed_path_prefixes: [/a/../b]}": `".."`,
		"t: {write_params: [p], path_base: out}":                   "not an absolute path",
		"t: {write_params: [p], path_base: \"\"}":                  "absolute directory",
		"t: {arg_patterns: {a: \"(?=x)\"}}":                        "look-ahead (?=…) is not supported",
		"t: {arg_patterns: {a: \"(?<!x)y\"}}":                      "look-behind (?<!…) is not supported",
		"t: {arg_patterns: {a: '(x)\\1'}}":                         "back-references are not supported",
		"t: {arg_patterns: {a: \"x)|(?:y\"}}":                      "unexpected )",
		"t: {arg_patterns: {a: '\\Qx'}}":                           "is not closed",
		"t: {arg_patterns: {a: 1}}":                                "write text",
		"t: {arg_patterns: {a..b: x}}":                             "the selector 'a..b': at byte 2",
		"t: {arg_patterns: {}}":                                    "is empty",
		"t: {arg_patterns: [a]}":                                   "mapping",
		"t: {max_calls: -1}":                                       "max_calls is -1",
		"t: {max_calls: 1.5}":                                      "whole decimal number",
		"t: {max_calls: \"2\"}":                                    "whole decimal number",
		"t: {destructive: yes}":                                    "true or false",
		"t: {typed_params: []}":                                    "typed_params is empty",
		"t: {output: {}}":                                          "output is empty",
		"t: {output: {a: friend}}":                                 "friend",
		"t: {output: friend}":                                      "friend",
		"t: {output: [a]}":                                         "1:13: output is a mapping of fields to labels, or one label",
		"t: {output: {from: [party, id]}}":                         "1:20: a field has one label; output is a mapping of fields to labels, or one label",
		"t: {output: {from: {a: id}}}":                             "1:20: a field has one label",
		"t: {labels: {from: party}}":                               "1:5: labels: there is no such key; did you mean 'output'?",
		"t: {output: {from: untrusted}}":                           "untrusted is an origin, which Sallyport finds out; the label that leads to it is written outside",
		"t: {output: trusted}":                                     "trusted is an origin, which Sallyport finds out; the label that leads to it is written vouched",
		"t: {output: {$.a: id}}":                                   `a path starts at the document: leave '$' out; a field that has this name is written ["$"]`,
		"t: {output: {$: id}}":                                     "leave '$' out",
		"t: {output: {structuredContent.a: id}}":                   "leave 'structuredContent' out",
		"t: {output: {result.structuredContent.a: id}}":            `leave 'result.structuredContent' out; a field that has this name is written ["result"].structuredContent`,
		"t: {output: {'result.content[0].text': id}}":              "leave 'result.content' out",
		"t: {output: {'content[*].text': inside}}":                 `leave 'content[*].text' out; a field that has this name is written ["content"][*].text`,
		"t: {exfiltrating: true, sink_params: [args.email]}":       `write 'email', without args.`,
		"t: {typed_params: [args.a]}":                              "write 'a', without args.",
		"t: {arg_patterns: {args.a: x}}":                           "write 'a', without args.",
		"t: {exfiltrating: true, sink_params: [owner/repo]}":       "'owner/repo' names no parameter; did you mean '{owner}/{repo}'?",
		"t: {exfiltrating: true, sink_params: ['{owner/{repo}']}":  "a { without its }",
		"t: {exfiltrating: true, sink_params: ['${a}/${b}']}":      "write a part of a joined destination as {owner}, without $",
		"t: {exfiltrating: true, sink_params: ['customers[].e']}":  "the selector 'customers[].e': at byte 10: every element is written [*], the first one [0]",
		"t: {output: {a..b: id}}":                                  "expected a name",
		"t: {output: {\"\": id}}":                                  "one label for all of it",
		"t: {output: {a: id, [a]: vouched}}":                       "1:21",
		"t: {output: {a: id, '[\"a\"]': vouched}}":                 "already given a label",
		"t: {exfiltrate: true}":                                    `did you mean`,
		"t: {}":                                                    "says nothing",
		"t:":                                                       "mapping",
		"t: true":                                                  "mapping",
		"/t: {max_calls: 1}":                                       "name of a tool",
		"u/: {max_calls: 1}":                                       "name of a tool",
		"\"\": {max_calls: 1}":                                     "name of a tool",
		"\"a b\": {max_calls: 1}":                                  "name of a tool",
		"\"a\\u200b\": {max_calls: 1}":                             "name of a tool",
		"send_*: {max_calls: 1}":                                   "exact",
		strings.Repeat("n", maxName+1) + ": {max_calls: 1}":        "name of a tool",
		"- a": "mapping",
	} {
		t.Run(want, func(t *testing.T) {
			_, p := parse(t, text, Options{})
			if err := p.Err(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q", text, err, want)
			}
		})
	}
}

// Odd names that look like a mistake can still be written.
func TestOddNamesCanBeWritten(t *testing.T) {
	for _, text := range []string{
		`t: {exfiltrating: true, sink_params: ['["args"].email', args, 'args[0]', '["owner/repo"]', "$${a}-{b}"]}`,
		`t: {output: {'["$"].a': id, $id: id, result: inside, 'result[*].a': id, content: inside, 'content[*].email': id, '["content"][*].text': id, '["structuredContent"]': id}}`,
	} {
		if _, p := parse(t, text, Options{}); p.Err() != nil {
			t.Errorf("%s: %v", text, p.Err())
		}
	}
}

// Everything wrong is listed at once, and what is right is still read.
func TestParseListsAll(t *testing.T) {
	cs, p := parse(t, "a: {max_calls: -1, destructive: 3}\nb: {sink_params: [x]}\nc: {max_calls: 1}\n", Options{})
	if got := len(p.List()); got != 3 {
		t.Errorf("%d problems: %v", got, p.Err())
	}
	if len(cs) != 3 || *cs[2].MaxCalls != 1 {
		t.Errorf("%d entries", len(cs))
	}
}

func TestParseWindowsStyle(t *testing.T) {
	text := "t: {write_params: [p], allowed_path_prefixes: ['C:\\work']}"
	cs, p := parse(t, text, Options{Style: confine.Windows})
	if p.Err() != nil || cs[0].Confine == nil {
		t.Fatal(p.Err())
	}
	if _, err := cs[0].Confine.Check(`c:\WORK\x`, nil); err != nil {
		t.Error(err)
	}
	if _, p := parse(t, text, Options{}); p.Empty() {
		t.Error("a Windows path was accepted elsewhere")
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"send: {exfiltrating: true, sink_params: [to], trusted_destinations: ['*@x.example']}",
		"fs/w: {write_params: ['a[*]'], allowed_path_prefixes: [/srv], path_base: /srv}",
		"t: {exfiltrating: true, sink_params: ['${a}/{b', a/b, args.c], output: {$.a: [id], 'content[0].text': trusted}, labels: id}", "t: {arg_patterns: {a: '(?=x)'}, max_calls: 0, destructive: true}", "t: &a {max_calls: 1}\nu: *a", "a: {<<: {max_calls: 1}}", "[", "- 1",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var p strictyaml.Problems
		root := strictyaml.Parse("c.yaml", data, nil, &p)
		if root == nil {
			return
		}
		for _, c := range Parse(root, &p, Options{Deny: []string{"/srv/own"}}) {
			if c.Tool == "" || c.Source == "" {
				t.Fatalf("a contract without a name: %+v", c)
			}
			if !p.Empty() {
				continue
			}
			if !c.Exfiltrating && len(c.SinkParams)+len(c.TrustedDestinations) > 0 || (c.Confine == nil) != (len(c.AllowedPathPrefixes) == 0) ||
				len(c.AllowedPathPrefixes) > 0 && len(c.WriteParams) == 0 || c.MaxCalls != nil && *c.MaxCalls < 0 {
				t.Fatalf("%q was read as %+v", data, c)
			}
			for _, a := range c.ArgPatterns {
				// A full match of the whole has no shorter one.
				if loc := a.Pattern.FindStringIndex("x\ny"); loc != nil && (loc[0] != 0 || loc[1] != 3) {
					t.Fatalf("pattern %q matches at %v", a.Pattern, loc)
				}
			}
		}
	})
}
