package packscore

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/doc"
)

func toolOf(t testing.TB, name, schema string) contract.Tool {
	t.Helper()
	v, err := doc.Parse([]byte(`{"inputSchema":{"type":"object","properties":`+schema+`}}`), doc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return contract.Tool{Name: name, Definition: v}
}

func labelsOf(t testing.TB, text string) []Label {
	t.Helper()
	l, err := ParseLabels([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Every count is made once, by hand, on one list.
func TestScoreCounts(t *testing.T) {
	list := List{Server: "s", Tools: []contract.Tool{
		toolOf(t, "send_email", `{"to":{"type":"string"},"weird":{"type":"string"}}`),
		toolOf(t, "run_code", `{"code":{"type":"string"}}`),
		toolOf(t, "obscure", `{"x":{"type":"string"}}`),
		toolOf(t, "get_page", `{"url":{"type":"string"}}`),
		toolOf(t, "save_file", `{"path":{"type":"string"}}`),
		toolOf(t, "share_items", `{"items":{"type":"array","items":{"type":"object","properties":{"email":{"type":"string"}}}}}`),
		toolOf(t, "unlabelled", `{}`),
	}, Labels: labelsOf(t, `[
		{"tool":"send_email","effect":"send","sink":true,"sink_params":["to","weird"],"sink_kinds":{"to":"email","weird":"user"}},
		{"tool":"run_code","effect":"execute","sink":true,"sink_params":["code"]},
		{"tool":"obscure","effect":"execute","sink":true},
		{"tool":"get_page","effect":"read","sink":false},
		{"tool":"save_file","effect":"write","sink":false,"write_params":["path","other"]},
		{"tool":"share_items","effect":"share","sink":true,"sink_kinds":{"items[].email":"email"}},
		{"tool":"gone","effect":"read","sink":false}]`)}
	rep, err := Score([]List{list})
	if err != nil {
		t.Fatal(err)
	}
	want := Counts{
		Addresses: Count{1, 2}, Parameters: Count{2, 3}, Execute: Count{1, 2}, Sinks: Count{3, 4},
		Alarms: Count{1, 2}, WritePaths: Count{1, 2},
	}
	row := rep.Servers[0]
	if row.Fallback != want || row.Packs != want || rep.Sum.Fallback != want || rep.Sum.Tools != 6 {
		t.Errorf("got %+v, packs %+v, sum %+v, want %+v", row.Fallback, row.Packs, rep.Sum, want)
	}
	if len(row.Unlabelled) != 1 || len(row.Unlisted) != 1 || row.Unlabelled[0] != "unlabelled" || row.Unlisted[0] != "gone" {
		t.Errorf("not counted: %q, %q", row.Unlabelled, row.Unlisted)
	}
	var found []string
	for _, f := range rep.Findings {
		if f.With == "fallback" {
			found = append(found, f.What+" "+f.Tool+" "+f.Param)
		}
	}
	got := strings.Join(found, "; ")
	if got != "address send_email weird; execute obscure ; alarm get_page ; write save_file other" {
		t.Error(got)
	}
}

// A pack counts in the second line only, and its write parameters are those it confines.
func TestScoreWithPack(t *testing.T) {
	list := List{Server: "mail"}
	names := []string{
		"send_email", "draft_email", "modify_email", "read_email", "search_emails", "delete_email", "download_attachment",
		"list_email_labels", "create_label", "update_label", "delete_label", "get_or_create_label", "batch_modify_emails", "batch_delete_emails",
		"create_filter", "list_filters", "get_filter", "delete_filter", "create_filter_from_template",
	}
	for _, n := range names {
		list.Tools = append(list.Tools, toolOf(t, n, `{"q":{"type":"string"}}`))
		list.Labels = append(list.Labels, Label{Tool: n, Effect: "read"})
	}
	rep, err := Score([]List{list})
	if err != nil {
		t.Fatal(err)
	}
	if rep.Servers[0].Pack != "gmail" || rep.Servers[0].Packs.Alarms.Found <= rep.Servers[0].Fallback.Alarms.Found {
		t.Errorf("%+v", rep.Servers[0])
	}
}

// A path that may be left out is asked about: that counts as confined, and as no alarm in a
// tool that only writes there.
func TestScoreAskedPaths(t *testing.T) {
	for _, written := range []bool{true, false} {
		list := List{Server: "browser"}
		for _, n := range []string{"browser_navigate", "browser_run_code_unsafe", "browser_network_requests", "browser_take_screenshot"} {
			list.Tools = append(list.Tools, toolOf(t, n, `{"filename":{"type":"string"}}`))
		}
		label := Label{Tool: "browser_network_requests", Effect: "read"}
		if written {
			label.WriteParams = []string{"filename"}
		}
		list.Labels = []Label{label}
		rep, err := Score([]List{list})
		if err != nil {
			t.Fatal(err)
		}
		c := rep.Servers[0].Packs
		if rep.Servers[0].Pack != "playwright" || c.Alarms.Found != map[bool]int{true: 0, false: 1}[written] || c.WritePaths.Found != len(label.WriteParams) {
			t.Errorf("written %v: %+v", written, rep.Servers[0])
		}
	}
}

func TestParseLabelsRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`{`:   "JSON",
		`{}`:  "no list of labels",
		`[1]`: "position 0: tool is missing",
		`[{"tool":7,"effect":"read","sink":false}]`:                             "tool is missing",
		`[{"tool":"a","effect":"reed","sink":false}]`:                           "effect is 'reed'",
		`[{"tool":"a","effect":"read"}]`:                                        "sink must be true or false",
		`[{"tool":"a","effect":"read","sink":"no"}]`:                            "sink must be true or false",
		`[{"tool":"a","effect":"read","sink":false,"sink_params":["x"]}]`:       "names sinks",
		`[{"tool":"a","effect":"send","sink":true,"sink_params":"x"}]`:          "sink_params must be a list",
		`[{"tool":"a","effect":"send","sink":true,"sink_params":[1]}]`:          "sink_params must be a list",
		`[{"tool":"a","effect":"send","sink":true,"sink_kinds":[]}]`:            "sink_kinds must be an object",
		`[{"tool":"a","effect":"send","sink":true,"sink_kinds":{"x\u001b":1}}]`: `kind of 'x\u{001b}'`,
		`[{"tool":"a","effect":"read","sink":false,"write_params":{}}]`:         "write_params must be a list",
		`[{"tool":"a","effect":"read","sink":false},{"tool":"a","effect":"x"}]`: "position 1 (tool 'a'): effect",
		`[{"tool":"a","effect":"read","sink":false,"sinks":["x"]}]`:             "(tool 'a'): unknown member 'sinks'; did you mean 'sink'?",
		`[{"tool":"a","effect":"send","sink":true,"sink_kinds":{"x":"mail"}}]`:  "the kind of 'x' is 'mail', and must be one of email,",

		`[{"tool":"a","effect":"read","sink":false},{"tool":"a","effect":"read","sink":false}]`: "there is one for the tool 'a'",
	} {
		l, err := ParseLabels([]byte(text))
		if want == "JSON" && err != nil {
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want %q", text, l, err, want)
		}
	}
	many := `[` + strings.TrimSuffix(strings.Repeat(`0,`, maxLabels+1), ",") + `]`
	if _, err := ParseLabels([]byte(many)); err == nil || !strings.Contains(err.Error(), "at most 10000") {
		t.Error(err)
	}
}

// A misspelt parameter would count as a sink that no contract finds.
func TestLabelsNameParameters(t *testing.T) {
	tool := toolOf(t, "send", `{"to":{"type":"string"},"rows":{"type":"array","items":{"type":"array","items":{"type":"object","properties":{"email":{"type":"string"}}}}},"free":{"type":"object"},"odd":{"anyOf":[]}}`)
	for param, want := range map[string]string{
		"to": "", "free.x": "", "odd.x": "", "rows[][].email": "", "rows[*][*].email": "", "to.x": "",
		"tp":             "the label of the tool 'send': it has no parameter 'tp'; did you mean 'to'?",
		"rows[][].emial": "it has no parameter 'rows[][].emial'",
		"x\x1b":          `no parameter 'x\u{001b}'; known here: free, odd, rows, to`,
	} {
		for _, l := range []Label{{Tool: "send", SinkKinds: map[string]string{param: "free"}}, {Tool: "send", WriteParams: []string{param}}} {
			err := List{Tools: []contract.Tool{tool}, Labels: []Label{{Tool: "other", WriteParams: []string{"y"}}, l}}.CheckParameters()
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%q: %v, want %q", param, err, want)
			}
		}
	}
}

// Names from a list cannot move the cursor, end a line or fake another row.
func TestTextIsEscaped(t *testing.T) {
	evil := "a\x1b[2J\n\t\u202e\U000e0041\x7fsum  0"
	list := List{Server: evil, Tools: []contract.Tool{toolOf(t, evil, `{}`), toolOf(t, "x"+evil, `{}`)}, Labels: []Label{
		{Tool: evil, Effect: "execute", Sink: true, SinkKinds: map[string]string{evil: evil}, WriteParams: []string{evil}},
		{Tool: evil + "2", Effect: "read"},
	}}
	rep, err := Score([]List{list})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := rep.WriteText(&b, true); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(b.String(), "\x1b\u202e\t") {
		t.Errorf("%q", b.String())
	}
	for line := range strings.Lines(b.String()) {
		if strings.HasPrefix(line, "sum  0") && strings.Count(line, "/") == 0 {
			t.Errorf("a line of its own: %q", line)
		}
	}
	b.Reset()
	if err := rep.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal([]byte(b.String()), &back); err != nil || back.Findings[0].Tool != evil {
		t.Errorf("%v %q", err, b.String())
	}
	if strings.ContainsFunc(b.String(), func(r rune) bool { return r != '\n' && (r < ' ' || r > '~') }) {
		t.Errorf("%q", b.String())
	}
}

func FuzzParseLabels(f *testing.F) {
	f.Add(`[{"tool":"send_mail","effect":"send","sink":true,"sink_params":["to"],"sink_kinds":{"to":"email"},"write_params":[]}]`)
	f.Add(`[{"tool":"a","effect":"read","sink":false,"doubtful":true,"note":"x"}]`)
	f.Add(`[{"tool":"","effect":1,"sink_params":[[]]}]`)
	f.Fuzz(func(t *testing.T, text string) {
		labels, err := ParseLabels([]byte(text))
		if err != nil {
			for line := range strings.Lines(err.Error()) {
				if strings.ContainsAny(line, "\x1b\x00") {
					t.Fatalf("%q", err)
				}
			}
			return
		}
		var tools []contract.Tool
		for _, l := range labels {
			tools = append(tools, contract.Tool{Name: l.Tool})
		}
		rep, err := Score([]List{{Server: "s", Tools: tools, Labels: labels}})
		if err != nil || rep.Sum.Tools != len(labels) || rep.Sum.Fallback.Sinks.Of+rep.Sum.Fallback.Alarms.Of != len(labels) {
			t.Fatal(err, fmt.Sprintf("%+v", rep.Sum))
		}
	})
}
