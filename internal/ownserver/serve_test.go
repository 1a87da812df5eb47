package ownserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tools of the tests: one answers, one is wrong, one breaks, one says much.
func tools() []Tool {
	texts := []Param{{Name: "text", Type: "string"}, {Name: "flag", Type: "boolean"}, {Name: "list", Type: "array"}, {Name: "value", Type: "object"}, {Name: "short", Type: "string", Max: 3}}
	return []Tool{
		{Name: "echo", Params: texts, Answer: func(_ context.Context, a Args) (string, error) {
			return fmt.Sprint(a.Text("text"), a.Flag("flag"), a.Value("list").Len(), a.Has("value")), nil
		}},
		{Name: "wrong", Answer: func(context.Context, Args) (string, error) { return "x", errors.New("no\x1b[2J\u202e") }},
		{Name: "broken", Answer: func(context.Context, Args) (string, error) { panic("here") }},
		{Name: "much", Answer: func(context.Context, Args) (string, error) { return strings.Repeat("ä", MaxAnswer), nil }},
	}
}

// talk sends lines and returns the answers by their ids, after the hello.
func talk(t *testing.T, lines ...string) map[string]json.RawMessage {
	t.Helper()
	hello := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` +
		"\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
	var out strings.Builder
	err := Serve(t.Context(), Options{Version: "1", Tools: tools(), In: strings.NewReader(hello + strings.Join(lines, "\n") + "\n"), Out: &out})
	if err != nil {
		t.Fatal(err)
	}
	answers := map[string]json.RawMessage{}
	for line := range strings.Lines(out.String()) {
		var m struct{ ID json.RawMessage }
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if answers[string(m.ID)] != nil && string(m.ID) != "null" && m.ID != nil {
			t.Errorf("two answers to %s", m.ID)
		}
		answers[string(m.ID)] = json.RawMessage(line)
	}
	return answers
}

func callLine(id, tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, arguments)
}

func TestServe(t *testing.T) {
	for _, c := range []struct{ name, line, want string }{
		{"a call", callLine("1", "echo", `{"text":"a","flag":true,"list":[1,2],"value":{}}`), `"text":"atrue 2 true"`},
		{"without arguments", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}`, `"text":"false 0 false"`},
		{"another argument", callLine("1", "echo", `{"path":"/etc/passwd"}`), `there is no argument 'path'`},
		{"another type", callLine("1", "echo", `{"text":["a"]}`), `text is a string, not a list`},
		{"as long as may be", callLine("1", "echo", `{"short":"abc"}`), `"text":"false 0 false"`},
		{"longer", callLine("1", "echo", `{"short":"abcd"}`), `short has more than 3 bytes`},
		{"null", callLine("1", "echo", `{"text":null}`), `text is a string, not a null`},
		{"a name twice", callLine("1", "echo", `{"text":"a","text":"b"}`), `a member name stands twice`},
		{"in another case", callLine("1", "echo", `{"TEXT":"a"}`), `there is no argument 'TEXT'`},
		{"a list of arguments", callLine("1", "echo", `[]`), `the arguments are an object, not a list`},
		{"deep", callLine("1", "echo", `{"list":`+strings.Repeat("[", 200)+strings.Repeat("]", 200)+`}`), `the arguments cannot be read`},
		{"an error is escaped", callLine("1", "wrong", `{}`), `no\\u{001b}[2J\\u{202e}`},
		{"a defect is an answer", callLine("1", "broken", `{}`), `this is a defect of sallyport: here`},
		{"an answer is cut", callLine("1", "much", `{}`), `\n… (+65536 bytes)\n`},
		{"no such tool", callLine("1", "approve", `{}`), `"error"`},
		{"no such method", `{"jsonrpc":"2.0","id":1,"method":"approvals/give"}`, `"error"`},
		{"an id beyond what the SDK keeps", callLine("1e400", "echo", `{}`), ``},
	} {
		t.Run(c.name, func(t *testing.T) {
			answers := talk(t, c.line, `{"jsonrpc":"2.0","id":"last","method":"ping"}`)
			if got := string(answers["1"]); !strings.Contains(got, c.want) {
				t.Errorf("it does not say %s:\n%s", c.want, got)
			}
			if answers[`"last"`] == nil {
				t.Error("what came after it was not answered")
			}
		})
	}
}

// What is no message, or too large, is answered or passed over, and the next is answered.
func TestServeGoesOnAfterWhatIsNoMessage(t *testing.T) {
	for _, line := range []string{
		"{", "[]", "null", `{"jsonrpc":"2.0"}`, `{"jsonrpc":"2.0","id":1,"id":1,"method":"ping"}`, "\xff", `{"jsonrpc":"1.0","id":1,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":77,"result":{}}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":12}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled"}`, callLine("5", "echo", `{"text":"`+strings.Repeat("x", MaxMessage)+`"}`),
		callLine("9007199254740993", "echo", "{}"),
	} {
		answers := talk(t, line, `{"jsonrpc":"2.0","id":"last","method":"ping"}`)
		if answers[`"last"`] == nil {
			t.Errorf("after %.80s nothing is answered", line)
		}
	}
}

// More calls than may be open wait for their turn: each is answered, and those that are open
// at the end of input too.
func TestServeAnswersAll(t *testing.T) {
	var lines []string
	for i := range 10 * maxOpen {
		lines = append(lines, callLine(fmt.Sprint(i+1), "echo", "{}"))
	}
	answers := talk(t, lines...)
	for i := range lines {
		if answers[fmt.Sprint(i+1)] == nil {
			t.Fatalf("call %d of %d has no answer", i+1, len(lines))
		}
	}
}

// One that is cancelled does not hold the place of others for ever.
func TestServeCancelledCallsMakeRoom(t *testing.T) {
	var lines []string
	for i := range 4 * maxOpen {
		id := fmt.Sprint(i + 1)
		lines = append(lines, callLine(id, "much", "{}"), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+id+`}}`)
	}
	if talk(t, append(lines, callLine(`"last"`, "echo", "{}"))...)[`"last"`] == nil {
		t.Error("the last call has no answer")
	}
}

func TestServeRefusesAnIDThatIsOpen(t *testing.T) {
	in, out := io.Pipe()
	c := newConn(in, io.Discard)
	go func() {
		fmt.Fprintln(out, callLine("1", "a", "{}")+"\n"+callLine("1", "b", "{}")+"\n"+callLine("2", "c", "{}"))
		out.Close()
	}()
	var got []string
	for range 2 {
		msg, err := c.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(msg)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(b))
	}
	if !strings.Contains(got[1], `"c"`) && !strings.Contains(got[1], "tools/call") || len(c.open) != 2 {
		t.Errorf("read %s, open %v", got, c.open)
	}
	c.Close()
	if _, err := c.Read(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("after Close: %v", err)
	}
}

// A client of the newest era finds the same tools.
func TestServeNewestEra(t *testing.T) {
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- Serve(t.Context(), Options{Version: "1", Tools: tools(), In: fromClient, Out: toClient})
		toClient.Close()
	}()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil).
		Connect(t.Context(), &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	list, err := session.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != len(tools()) {
		t.Fatalf("%v, %v", list, err)
	}
	for _, l := range list.Tools {
		if a := l.Annotations; a == nil || !a.ReadOnlyHint || a.DestructiveHint == nil || *a.DestructiveHint || a.OpenWorldHint == nil || *a.OpenWorldHint {
			t.Errorf("%s: annotations %+v", l.Name, l.Annotations)
		}
	}
	if v := session.InitializeResult().ProtocolVersion; v < "2026" {
		t.Errorf("version %s", v)
	}
	session.Close()
	toServer.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestCut(t *testing.T) {
	if got := cut("äöü", 3); got != "ä\n… (+4 bytes)\n" {
		t.Errorf("cut = %q", got)
	}
	if got := cut("abc", 3); got != "abc" {
		t.Errorf("cut = %q", got)
	}
}

// Whatever comes, the server ends with its input, and what it says are messages.
func FuzzServe(f *testing.F) {
	f.Add([]byte(callLine("1", "echo", `{"text":"a"}`)))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`))
	f.Add([]byte("{\n[]\nnull\n\xff"))
	f.Fuzz(func(t *testing.T, in []byte) {
		var out strings.Builder
		began := time.Now()
		hello := `{"jsonrpc":"2.0","id":"h","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n"
		_ = Serve(t.Context(), Options{Version: "1", Tools: tools(), In: io.MultiReader(strings.NewReader(hello), strings.NewReader(string(in))), Out: &out})
		if time.Since(began) > MaxTime {
			t.Error("a request was waited for that has no answer")
		}
		for line := range strings.Lines(out.String()) {
			if !json.Valid([]byte(line)) {
				t.Errorf("no message: %q", line)
			}
		}
	})
}
