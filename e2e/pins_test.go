package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// A real server that lists other tools to other clients, some of them late, refuses
// nothing in any session, and has every tool pinned that it listed.
func TestEverythingServerIsPinned(t *testing.T) {
	index := npm(t, "@modelcontextprotocol/server-everything/dist/index.js")
	needWrap(t)
	s := through(t, nil, node(t), index, "stdio")
	listed := map[string]int{}
	for _, capabilities := range []string{
		`{}`, `{"roots":{"listChanged":true},"sampling":{},"elicitation":{"form":{},"url":{}}}`, `{"roots":{}}`,
		`{"elicitation":{"url":{},"form":{}},"sampling":{},"roots":{"listChanged":true}}`, `{}`, `{"roots":{}}`,
	} {
		w := dial(t, s, clientAnswers)
		w.send(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":` + capabilities + `,"clientInfo":{"name":"scripted","version":"1"}}}`)
		w.response(`"init"`)
		w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		// The first call is there before the server has registered everything.
		for id, tool := range []string{"echo", "get-sum", "echo"} {
			w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"message":"x","a":1,"b":2}}}`, id, tool))
			if answer := w.response(fmt.Sprint(id)); !bytes.Contains(answer, []byte(`"result"`)) || bytes.Contains(answer, []byte("blocked")) {
				t.Errorf("%s: %s is answered with %s", capabilities, tool, answer)
			}
		}
		w.send(`{"jsonrpc":"2.0","id":"tools","method":"tools/list","params":{}}`)
		var tools struct {
			Result struct{ Tools []struct{ Name string } }
		}
		if err := json.Unmarshal(w.response(`"tools"`), &tools); err != nil {
			t.Fatal(err)
		}
		w.send(`{"jsonrpc":"2.0","id":"last","method":"tools/call","params":{"name":"echo","arguments":{"message":"x"}}}`)
		w.response(`"last"`)
		w.close()
		listed[capabilities] = len(tools.Result.Tools)
	}
	if strings.Contains(s.errs.String(), "refused: it") {
		t.Errorf("something was refused:\n%s", s.errs)
	}
	pins := func(command string) string {
		t.Helper()
		cmd := exec.Command(s.argv[0], "pins", command)
		cmd.Env = s.env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("pins %s: %v\n%s", command, err, out)
		}
		return string(out)
	}
	pins("diff")
	var counts []string
	for _, m := range regexp.MustCompile(`(\d+) tools pinned`).FindAllStringSubmatch(pins("list"), -1) {
		counts = append(counts, m[1])
	}
	want := fmt.Sprint([]int{listed[`{}`], listed[`{"elicitation":{"url":{},"form":{}},"sampling":{},"roots":{"listChanged":true}}`], listed[`{"roots":{}}`]})
	if got := "[" + strings.Join(counts, " ") + "]"; got != want || counts[0] == counts[1] {
		t.Errorf("pinned %s, the server listed %s", got, want)
	}
}
