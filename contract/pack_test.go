package contract

import (
	"os"
	"slices"
	"strings"
	"testing"
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
	if got := strings.Join(Packs(), " "); got != "everything fetch filesystem github-reference github gitlab gmail google-calendar google-drive home-assistant memory notion playwright postgres slack" {
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
	head := "pack: p\nserver: s\nversion: v\nverified: true\nchecked: c\nmatch: [t]\n"
	for text, want := range map[string]string{
		head + "tools: {t: {params: [a], write_params: [b]}}":                              "b is not among params",
		head + "tools: {t: {write_params: [b]}}":                                           "params is missing",
		head + "tools: {t: {params: [a], write_params: [a], allowed_path_prefixes: [/x]}}": "user's directories",
		head + "common: [u]\ntools: {t: {params: []}}":                                     "common names u, which has no entry",
		head + "tools: {u: {params: []}}":                                                  "no entry",
		"pack: p\nserver: s\nchecked: c\ntools: {t: {params: []}}":                         "match is missing",
		"server: s\nchecked: c\nmatch: [t]\ntools: {t: {params: []}}":                      "pack is missing",
		head + "tools: {t: {params: [a..b]}}":                                              "selector",
		head + "extra: 1\ntools: {t: {params: []}}":                                        "unknown key",
		head + "tools: {t: {params: [], output: {id: vouched}}}":                           "writers is missing",
		head + "writers: []\ntools: {t: {params: [], output: {id: party}}}":                "vouches for nothing",
		head + "writers: [t]\ntools: {t: {params: [a], output: {id: vouched}}}":            "t, which is no sink",
		head + "writers: [u]\ntools: {t: {params: [a], output: {id: vouched}}}":            "u, which is no sink",
		"[": "p.yaml",
	} {
		if _, err := parsePack("p.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
	for _, text := range []string{
		head + "tools: {t: {params: []}}",
		head + "writers: []\ntools: {t: {params: [], output: {id: vouched}}}",
		head + "writers: [t]\ntools: {t: {params: [to], exfiltrating: true, sink_params: [to], output: {id: vouched}}}",
	} {
		if _, err := parsePack("p.yaml", []byte(text)); err != nil {
			t.Error(err)
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

// What a pack vouches for it vouches for in the tool that it knows, not in another one
// with the name; what is a sink stays one.
func TestPackGrantsHoldForKnownDefinitions(t *testing.T) {
	for params, want := range map[string]int{"get_me()": 2, "get_me(account)": 0} {
		s := newSet(t, "", Options{})
		s.Bind("hub", tools(t, params, "issue_read(method, owner, repo, issue_number)", "pull_request_read(method, owner, repo, pullNumber)"))
		if c := s.For(Tool{Upstream: "hub", Name: "get_me"}); len(c.Output) != want {
			t.Errorf("%s: %d labels, want %d (%s)", params, len(c.Output), want, c.Source)
		}
	}
	s := newSet(t, "", Options{})
	s.Bind("chat", tools(t, "slack_list_channels(limit)", "slack_post_message(channel_id, text, webhook_url)", "slack_reply_to_thread(channel_id)", "slack_get_users()"))
	if c := s.For(Tool{Upstream: "chat", Name: "slack_post_message"}); len(c.Output) != 0 || sinksOf(c) != "channel_id webhook_url" {
		t.Errorf("slack_post_message: %d labels, sinks %s", len(c.Output), sinksOf(c))
	}
}

// The text of a pack is found by the name that stands in it.
func TestPackText(t *testing.T) {
	for _, name := range Packs() {
		if !strings.Contains(string(PackText(name)), "\npack: "+name+"\n") {
			t.Errorf("pack %s is not in the file of its name", name)
		}
	}
	if PackText("../keys.go") != nil {
		t.Error("a file that is no pack was given out")
	}
}
