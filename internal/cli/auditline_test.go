package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/internal/auditread"
)

// anyText draws text that is made to leave its line.
func anyText() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		parts := rapid.SliceOfN(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
			"\x1b[2J", "\n", "\r", "\u202e", "\u2028", "\x7f", "\u009b31m", strings.Repeat("x", 5000), "\u200b", "🏴\U000e0067",
		})), 0, 4).Draw(t, "parts")
		return strings.Join(parts, "")
	})
}

// hostileRecord draws a record all of whose texts are hostile.
func hostileRecord(t *rapid.T) string {
	members := map[string]any{"time": "2026-01-02T15:04:05.000Z"}
	for _, name := range []string{
		"event", "session", "caller", "policy", "upstream", "target", "request", "trace", "approval", "verdict", "check", "rule", "reason",
		"outcome", "mode", "result_digest", "detail",
	} {
		if rapid.Bool().Draw(t, name+" is there") {
			members[name] = anyText().Draw(t, name)
		}
	}
	members["event"] = rapid.OneOf(anyText(), rapid.SampledFrom([]string{"tools/call", "approval", "rotation"})).Draw(t, "event")
	members["phase"] = rapid.OneOf(anyText(), rapid.SampledFrom([]string{audit.PhaseVerdict, audit.PhaseOutcome})).Draw(t, "phase")
	members["before"] = map[string]any{"seq": 1, "file": anyText().Draw(t, "file")}
	members["arguments"] = map[string]any{anyText().Draw(t, "argument"): anyText().Draw(t, "value")}
	members["evidence"] = []any{map[string]any{
		"argument": anyText().Draw(t, "place"), "destination": anyText().Draw(t, "destination"), "origin": anyText().Draw(t, "origin"),
		"upstream": anyText().Draw(t, "server"), "tool": anyText().Draw(t, "tool"), "call": 1, "place": anyText().Draw(t, "where"),
	}}
	text, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`{"seq":%d,%s`, rapid.IntRange(1, 1<<40).Draw(t, "seq"), text[1:])
}

// checkShown fails if a text has a character that does not show as itself, line feeds apart.
func checkShown(t *rapid.T, text string) {
	for _, r := range text {
		if r != '\n' && r != ' ' && (!unicode.IsGraphic(r) || unicode.Is(unicode.Cf, r)) {
			t.Fatalf("%U is in %q", r, text)
		}
	}
}

func TestARecordStaysInItsLine(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := hostileRecord(rt)
		r, err := new(auditread.Decoder).Record([]byte(text))
		if err != nil {
			rt.Fatal(err)
		}
		line, _ := recordLine(r, false)
		checkShown(rt, line)
		if strings.Contains(line, "\n") || utf8.RuneCountInString(line) > maxRecordLine+100 {
			rt.Fatalf("%d characters, in one line %v", utf8.RuneCountInString(line), !strings.Contains(line, "\n"))
		}
		coloured, _ := recordLine(r, true)
		for _, hue := range []string{red, green, yellow, dim} {
			coloured = strings.Replace(coloured, "\x1b["+hue+"m", "", 1)
		}
		if got := strings.Replace(coloured, "\x1b[0m", "", 1); got != line {
			rt.Fatalf("with colours %q, without %q", got, line)
		}

		s, err := auditread.Summarize(rt.Context(), audit.NewReader(strings.NewReader(text+"\n")), auditread.Filter{})
		if err != nil {
			rt.Fatal(err)
		}
		checkShown(rt, summaryText("a\x1blog", verifyCommand("a\x1blog"), s))
		story, err := auditread.Tell(rt.Context(), func() (*audit.Reader, error) { return audit.NewReader(strings.NewReader(text + "\n")), nil }, r.Seq)
		if err != nil {
			rt.Fatal(err)
		}
		checkShown(rt, storyText("a\x1blog", story))
	})
}

func TestProgressIsDrawnAndRemoved(t *testing.T) {
	in := audit.NewReader(strings.NewReader("x\n"))
	var out strings.Builder
	tick := make(chan time.Time)
	stop := drawProgress(&out, in, tick)
	tick <- time.Time{}
	tick <- time.Time{} // the first was drawn
	stop()
	if got, want := out.String(), strings.Repeat("\r0.0 MB read ", 2)+"\r\x1b[K"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	out.Reset()
	drawProgress(&out, in, nil)()
	if out.Len() > 0 {
		t.Errorf("what is quick shows %q", out.String())
	}
	for _, c := range []struct {
		done, total int64
		want        string
	}{
		{0, 10e6, "[..............................]   0% of 10.0 MB "},
		{5e6, 10e6, "[###############...............]  50% of 10.0 MB "},
		{11e6, 10e6, "[##############################] 100% of 10.0 MB "}, // it grew
	} {
		if got := bar(c.done, c.total); got != c.want {
			t.Errorf("%d of %d: %q", c.done, c.total, got)
		}
	}
}

func TestRingKeepsTheLast(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n, total := rapid.IntRange(0, 8).Draw(rt, "kept"), rapid.IntRange(0, 30).Draw(rt, "lines")
		r := ring{max: n}
		var want strings.Builder
		for i := range total {
			r.add(fmt.Sprint(i))
			if i >= total-n {
				fmt.Fprintln(&want, i)
			}
		}
		var got strings.Builder
		if err := r.write(&got); err != nil || got.String() != want.String() {
			rt.Fatalf("%q, want %q, %v", got.String(), want.String(), err)
		}
	})
}
