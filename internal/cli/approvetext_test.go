package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/approval"
	"github.com/sallyport-dev/sallyport/policy"
)

// Whatever an approval holds, the terminal gets printable text in lines that it does not
// break, and the destination is shown whole.
func TestApprovalIsShownSafely(t *testing.T) {
	hostile := rapid.OneOf(
		rapid.String(),
		rapid.SampledFrom([]string{
			"\x1b[2J\x1b[H", "\r\n  destination  'bank'", "\u202egnp.exe", "\u200b\ufeff\u00ad", "\u009b31m", "\x1b]8;;https://evil.example\a",
			"' (trusted)\n", strings.Repeat("界", 300), strings.Repeat("a", 1024), "\x00\x07\x7f", "y\n", "ｙ", "\U000e0041",
		}),
	)
	rapid.Check(t, func(t *rapid.T) {
		args, err := doc.FromGo(map[string]any{hostile.Draw(t, "name"): hostile.Draw(t, "value"), "list": []any{hostile.Draw(t, "element"), 1.5, nil}})
		if err != nil {
			t.Skip("not UTF-8") // no call holds it
		}
		destination := hostile.Draw(t, "destination")
		a := approval.Approval{
			Caller: hostile.Draw(t, "caller"), Upstream: hostile.Draw(t, "upstream"), Subject: "tool", Tool: hostile.Draw(t, "tool"),
			Arguments: args.AppendJSON(nil), LeftOut: rapid.IntRange(0, 3).Draw(t, "left"), Asked: time.Now(), Expires: time.Now().Add(time.Minute),
			Questions: []approval.Question{{
				Argument: hostile.Draw(t, "argument"), Destination: destination, Origin: hostile.Draw(t, "origin"), Text: hostile.Draw(t, "text"),
				Evidence: []sallyport.Evidence{{Tool: hostile.Draw(t, "from"), Upstream: hostile.Draw(t, "of"), Call: 3, Place: hostile.Draw(t, "place")}},
			}},
		}
		var b strings.Builder
		if err := showApproval(&b, &a, time.Now()); err != nil {
			t.Fatal(err)
		}
		whole := ""
		for line := range strings.Lines(b.String()) {
			line = strings.TrimSuffix(line, "\n")
			width := 0
			for _, r := range line {
				if width++; r >= 0x1100 {
					width++
				}
				if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r >= 0x200b && r <= 0x200f || r >= 0x202a && r <= 0x202e || r == 0xfeff || r >= 0xe0000 && r < 0xe0080 {
					t.Fatalf("%q reaches the terminal in %q", r, line)
				}
			}
			if width > columns+40 || !utf8.ValidString(line) { // the line with the times is not folded
				t.Fatalf("a line of %d columns: %q", width, line)
			}
			if rest, ok := strings.CutPrefix(line, "  destination  "); ok {
				whole += rest
			}
		}
		if len(destination) > 0 && !strings.Contains(destination, "destination") && !strings.HasSuffix(whole, "'") {
			t.Fatalf("the destination is cut: %q", whole)
		}
	})
}

func TestPendingWatchPrintsEachQuestionOnce(t *testing.T) {
	defer func(d time.Duration) { watchEvery = d }(watchEvery)
	watchEvery = time.Millisecond
	store := approval.NewStore(approval.StoreOptions{Dir: filepath.Join(t.TempDir(), "s")})
	desk := approval.NewDesk(store, approval.DeskOptions{Caller: "local", Session: "s"})
	e, err := sallyport.New(sallyport.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := e.Session(sallyport.SessionOptions{Caller: "local", Doubt: "d"})
	if err != nil {
		t.Fatal(err)
	}
	definition, err := doc.FromGo(map[string]any{"name": "send_email"})
	if err != nil {
		t.Fatal(err)
	}
	s.Pin("mail", []contract.Tool{{Upstream: "mail", Name: "send_email", Definition: definition}})
	ask := func(to string) {
		args, err := doc.FromGo(map[string]any{"to": to})
		if err != nil {
			t.Fatal(err)
		}
		c := sallyport.Call{Subject: policy.Tool, Upstream: "mail", Name: "send_email", Args: args}
		if out, err := desk.Ask(t.Context(), approval.Request{Call: c, Decision: s.Decide(t.Context(), c)}); err != nil || out.State != approval.Asked {
			t.Fatal(out, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- watchPending(ctx, store, true, w); w.Close() }()
	lines := json.NewDecoder(r)
	for i := range 3 {
		to := fmt.Sprintf("u%d@partner.example", i)
		ask(to)
		var n approval.Notice
		if err := lines.Decode(&n); err != nil || len(n.Questions) != 1 || n.Questions[0].Destination != to {
			t.Fatalf("%+v, %v", n, err)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if rest, _ := io.ReadAll(r); len(rest) > 0 {
		t.Errorf("printed again: %s", rest)
	}
}
