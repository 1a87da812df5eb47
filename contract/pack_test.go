package contract

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/doc"
)

// filesystemList and gmailList are lists of the shape that the packs are for.
func filesystemList(t testing.TB) []Tool {
	return append(tools(
		t,
		"write_file(path, content)", "create_directory(path)", "move_file(source, destination)", "read_file(path, head:number, tail:number)",
		"read_text_file(path, head:number, tail:number)", "read_multiple_files(paths:[string])", "list_directory(path)",
		"list_allowed_directories()", "search_files(path, pattern, excludePatterns:[string])",
	), definitionOf(t, "edit_file", `{"inputSchema":{"properties":{"path":{"type":"string"},"dryRun":{"type":"boolean"},"edits":{"type":"array",
		"items":{"type":"object","properties":{"oldText":{"type":"string"},"newText":{"type":"string"}}}}}}}`))
}

func gmailList(t testing.TB) []Tool {
	mail := "to:[string], subject, body, htmlBody, mimeType:enum, cc:[string], bcc:[string], threadId, inReplyTo, attachments:[string]"
	return append(tools(
		t,
		"send_email("+mail+")", "draft_email("+mail+")", "search_emails(query, maxResults:number)",
		"modify_email(messageId, labelIds:[string])", "delete_email(messageId)", "read_email(messageId)",
		"download_attachment(messageId, attachmentId, filename, savePath)",
	), definitionOf(t, "create_filter", `{"inputSchema":{"properties":{
		"criteria":{"type":"object","properties":{"from":{"type":"string"},"to":{"type":"string"}}},
		"action":{"type":"object","properties":{"forward":{"type":"string"},"addLabelIds":{"type":"array","items":{"type":"string"}}}}}}}`))
}

func TestPacksLoad(t *testing.T) {
	packs, err := loadPacks()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(Packs(), " "); got != "filesystem gmail" {
		t.Errorf("packs %q", got)
	}
	for _, p := range packs {
		if p.server == "" || p.checked == "" || len(p.tools) == 0 {
			t.Errorf("pack %s lacks its header", p.name)
		}
	}
}

func TestFilesystemPack(t *testing.T) {
	s := newSet(t, "", Options{})
	notices := s.Bind("fs", filesystemList(t))
	if !notice(notices, "pack filesystem applies") || len(notices) != 1 {
		t.Errorf("notices: %q", notices)
	}
	for name, want := range map[string]string{
		"write_file": "path", "edit_file": "path", "create_directory": "path", "move_file": "source destination",
		"read_file": "", "list_allowed_directories": "", "search_files": "",
	} {
		c := s.For(Tool{Upstream: "fs", Name: name})
		var got []string
		for _, w := range c.WriteParams {
			got = append(got, w.String())
		}
		if strings.Join(got, " ") != want || c.Exfiltrating || c.Source != "pack filesystem" || c.Upstream != "fs" || c.Confine != nil {
			t.Errorf("%s: writes %v, %+v", name, got, c)
		}
	}
}

func TestGmailPack(t *testing.T) {
	s := newSet(t, "", Options{})
	notices := s.Bind("mail", gmailList(t))
	if !notice(notices, "pack gmail applies") || len(notices) != 1 {
		t.Errorf("notices: %q", notices)
	}
	for name, want := range map[string]string{
		"send_email": "to cc bcc", "draft_email": "to cc bcc", "create_filter": "action.forward", "read_email": "-", "delete_email": "-",
		"download_attachment": "-",
	} {
		c := s.For(Tool{Upstream: "mail", Name: name})
		if got := sinksOf(c); got != want || c.Source != "pack gmail" {
			t.Errorf("%s: sinks %s from %s, want %s", name, got, c.Source, want)
		}
	}
	download := s.For(Tool{Upstream: "mail", Name: "download_attachment"})
	if len(download.WriteParams) != 1 || len(download.ArgPatterns) != 1 {
		t.Fatalf("download_attachment: %+v", download)
	}
	name := download.ArgPatterns[0].Pattern
	for value, ok := range map[string]bool{
		"report.pdf": true, "Ärger (1) final.txt": true, "résume\u0301.doc": true, "日本.png": true, "a": true,
		"": false, "../x": false, "a/b": false, `a\b`: false, ".bashrc": false, "..": false, "a\x00": false, "a\n": false, "~x": false,
		"$HOME": false, " x": false, "a:b": false, strings.Repeat("a", 300): false, "a／b": false,
	} {
		if name.MatchString(value) != ok {
			t.Errorf("filename %q: allowed is not %v", value, ok)
		}
	}
}

// A server that has the names but not the parameters is not the one that the pack is
// for: nothing is loosened, and the demands of the pack stay.
func TestPackOnOtherDefinitions(t *testing.T) {
	list := filesystemList(t)
	list = slices.DeleteFunc(list, func(d Tool) bool { return d.Name == "read_file" || d.Name == "write_file" || d.Name == "search_files" })
	list = append(list, tools(t, "read_file(path, callback_url)", "write_file(file_path, content)", "search_files(path, pattern, limit:number)")...)
	s := newSet(t, "", Options{})
	notices := s.Bind("fs", list)
	for _, name := range []string{"read_file", "write_file", "search_files"} {
		if !notice(notices, name, "not those that pack filesystem was written for") {
			t.Errorf("no notice for %s: %q", name, notices)
		}
	}
	if c := s.For(Tool{Upstream: "fs", Name: "read_file"}); sinksOf(c) != "callback_url" {
		t.Errorf("read_file: sinks %s", sinksOf(c))
	}
	if c := s.For(Tool{Upstream: "fs", Name: "write_file"}); len(c.WriteParams) != 1 || c.WriteParams[0].String() != "path" {
		t.Errorf("write_file lost its write path: %+v", c)
	}
	if c := s.For(Tool{Upstream: "fs", Name: "search_files"}); c.Exfiltrating {
		t.Errorf("search_files: sinks %s", sinksOf(c))
	}
	// Without one of the tools that it is known by, the pack is not used.
	s = newSet(t, "", Options{})
	if notices := s.Bind("fs", tools(t, "write_file(path)", "edit_file(path)")); notice(notices, "applies") {
		t.Errorf("notices: %q", notices)
	}
}

func TestParsePackProblems(t *testing.T) {
	head := "pack: p\nserver: s\nchecked: c\nmatch: [t]\n"
	for text, want := range map[string]string{
		head + "tools: {t: {params: [a], write_params: [b]}}":                              "b is not among params",
		head + "tools: {t: {write_params: [b]}}":                                           "params is missing",
		head + "tools: {t: {params: [a], write_params: [a], allowed_path_prefixes: [/x]}}": "user's directories",
		head + "tools: {u: {params: []}}":                                                  "no entry",
		"pack: p\nserver: s\nchecked: c\ntools: {t: {params: []}}":                         "match is missing",
		"server: s\nchecked: c\nmatch: [t]\ntools: {t: {params: []}}":                      "pack is missing",
		head + "tools: {t: {params: [a..b]}}":                                              "selector",
		head + "extra: 1\ntools: {t: {params: []}}":                                        "unknown key",
		"[": "p.yaml",
	} {
		if _, err := parsePack("p.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
	if _, err := parsePack("p.yaml", []byte(head+"tools: {t: {params: []}}")); err != nil {
		t.Error(err)
	}
}

// The packs against the lists of the real servers and what a person wrote of them.
func TestPacksOnCatalogues(t *testing.T) {
	dir := catalogues(t)
	for packName, list := range map[string]string{"filesystem": "filesystem", "gmail": "gmail-gongrzhe"} {
		toolList, labels := catalogue(t, dir, list)
		s := newSet(t, "", Options{})
		notices := s.Bind(list, toolList)
		if !notice(notices, "pack "+packName+" applies") || len(notices) != 1 {
			t.Errorf("%s: notices %q", packName, notices)
		}
		for _, tool := range toolList {
			c, l := s.For(tool), labels[tool.Name]
			if c.Source != "pack "+packName {
				t.Errorf("%s/%s comes from %s", packName, tool.Name, c.Source)
			}
			if c.Exfiltrating != l.Sink {
				t.Errorf("%s/%s: exfiltrating %v, labelled %v", packName, tool.Name, c.Exfiltrating, l.Sink)
			}
			for _, p := range l.SinkParams {
				if len(c.SinkParams) == 0 || !covers(c, p) {
					t.Errorf("%s/%s: sink %s is not covered by %s", packName, tool.Name, p, sinksOf(c))
				}
			}
			for _, p := range l.WriteParams {
				written := slices.ContainsFunc(c.WriteParams, func(s doc.Selector) bool { return s.String() == p }) ||
					slices.ContainsFunc(c.ArgPatterns, func(a ArgPattern) bool { return a.Param.String() == p })
				if !written {
					t.Errorf("%s/%s: write parameter %s is not confined", packName, tool.Name, p)
				}
			}
		}
		for _, p := range mustPacks() {
			if p.name == packName && len(p.tools) != len(toolList) {
				t.Errorf("pack %s has %d entries, the server lists %d tools", packName, len(p.tools), len(toolList))
			}
		}
	}
	// No pack takes another server for its own.
	lists, err := filepath.Glob(filepath.Join(dir, "lists", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range lists {
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		if name == "filesystem" || name == "gmail-gongrzhe" {
			continue
		}
		toolList, _ := catalogue(t, dir, name)
		if notices := newSet(t, "", Options{}).Bind(name, toolList); notice(notices, "applies") {
			t.Errorf("%s: %q", name, notices)
		}
	}
}

// A pack file that nothing loads would guard nobody.
func TestPackFilesAreRead(t *testing.T) {
	files, err := os.ReadDir("packs")
	if err != nil || len(files) != len(Packs()) {
		t.Errorf("%d files, %d packs (%v)", len(files), len(Packs()), err)
	}
}
