package relay

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

func TestUnlinked(t *testing.T) {
	for in, want := range map[string]string{
		"nothing to do: a [x] (y), 1 < 2, data: 5": "nothing to do: a [x] (y), 1 < 2, data: 5",
		"see https://x.example/a?b":                "see https[:]//x.example/a?b",
		"[your bank](HTTPS://evil.example)":        "[your bank] (HTTPS[:]//evil.example)",
		"[your bank](//evil.example)":              "[your bank] (//evil.example)",
		"[a][b]\n\n[b]: //evil.example":            "[a][b]\n\n[b] : //evil.example",
		"<a href='//evil.example'>bank</a>":        "< a href='//evil.example'>bank< /a>",
		"<https://evil.example>":                   "< https[:]//evil.example>",
		"Www.evil.example":                         "Www[.]evil.example",
		"javascript:(1)":                           "javascript[:] (1)",
		"![i](data:image/png;base64,AA)":           "![i] (data[:]image/png;base64,AA)",
		"vscode://x, mailto:a@b.example":           "vscode[:]//x, mailto[:]a@b.example",
	} {
		if got := unlinked(in); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

var link = regexp.MustCompile(`(?i)[a-z]://|\bwww\.|\]\(|\]:|<[a-z/!?]|\b(mailto|javascript):\S`)

func TestNothingOfAnUnlinkedTextIsALink(t *testing.T) {
	part := rapid.SampledFrom([]string{"http", "s", ":", "//", "/", "[", "]", "(", ")", "<", ">", "a", " ", "www", ".", "mailto", "javascript", "é", "!"})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(part, 0, 12).Draw(t, "parts"), "")
		got := unlinked(text)
		if l := link.FindString(got); l != "" {
			t.Fatalf("%q became %q: %q is a link", text, got, l)
		}
		plain := strings.NewReplacer("[:]", ":", "[.]", ".", " ", "")
		if plain.Replace(got) != plain.Replace(text) {
			t.Fatalf("%q became %q: more than that was changed", text, got)
		}
	})
}

// Whatever era a question comes in, no text of it can be followed by a click; names and values
// of a form's fields stay, and so does the page of a question by URL. What the server said is
// what is recorded.
func TestQuestionsHaveNoLinks(t *testing.T) {
	const question = `{"mode":"form","message":"[bank](https://evil.example/x)","requestedSchema":{"type":"object","properties":{"u":{"type":"string","title":"https://t.example","description":"<b>","default":"https://d.example","enum":["https://e.example"]}}}}`
	const shown = `{"mode":"form","message":"The server 'srv' asks: [bank] (https[:]//evil.example/x)","requestedSchema":{"type":"object","properties":{"u":{"type":"string","title":"https[:]//t.example","description":"< b>","default":"https://d.example","enum":["https://e.example"]}}}}`
	e := newEnds(t, mailConfig, nil)
	e.fromServer(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":`+question+`}`, mcp.ID{})
	e.wantClient(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":`+shown+`}`, "")
	const page = `{"jsonrpc":"2.0","id":2,"method":"elicitation/create","params":{"mode":"url","url":"https://ok.example","elicitationId":"x","message":"open it"}}`
	e.fromServer(page, mcp.ID{})
	e.wantClient(strings.Replace(page, "open it", "The server 'srv' asks: open it", 1), "")
	e.fromClient(`{"jsonrpc":"2.0","id":3,"method":"prompts/get","params":{"name":"p","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`)
	e.wantServer(`{"jsonrpc":"2.0","id":3,"method":"prompts/get","params":{"name":"p","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`)
	e.fromServer(`{"jsonrpc":"2.0","method":"notifications/tasks","params":{"taskId":"t","inputRequests":{"q":{"method":"elicitation/create","params":`+question+`}}}}`, mcp.ID{})
	e.wantClient(`{"jsonrpc":"2.0","method":"notifications/tasks","params":{"taskId":"t","inputRequests":{"q":{"method":"elicitation/create","params":`+shown+`}}}}`, "")
	e.fromServer(`{"jsonrpc":"2.0","id":3,"result":{"resultType":"input_required","requestState":"s","inputRequests":{"q":{"method":"elicitation/create","params":`+question+`}}}}`, mcp.ID{})
	e.wantClient(`{"jsonrpc":"2.0","id":3,"result":{"resultType":"input_required","requestState":"s","inputRequests":{"q":{"method":"elicitation/create","params":`+shown+`}}}}`, "3")
}

// The questions in an error have none either, and neither has the error's own message, which
// clients show.
func TestPagesThatAnErrorAsksForHaveNoLinks(t *testing.T) {
	const link, shown = "[bank](https://evil.example)", "[bank] (https[:]//evil.example)"
	for _, code := range []string{"-32042", "-32042.0", "-3.2042e4"} { // they are one number
		e := newEnds(t, mailConfig, nil)
		e.fromClient(`{"jsonrpc":"2.0","id":3,"method":"prompts/get","params":{"name":"p"}}`)
		e.wantServer(`{"jsonrpc":"2.0","id":3,"method":"prompts/get","params":{"name":"p"}}`)
		const pages = `{"jsonrpc":"2.0","id":3,"error":{"code":%s,"message":"m %s","data":{"elicitations":[{"mode":"url","message":"%s","url":"https://ok.example/"}]}}}`
		e.fromServer(fmt.Sprintf(pages, code, link, link), mcp.ID{})
		e.wantClient(fmt.Sprintf(pages, code, shown, "The server 'srv' asks: "+shown), "3")
		e.fromClient(`{"jsonrpc":"2.0","id":4,"method":"prompts/get","params":{"name":"p"}}`)
		e.wantServer(`{"jsonrpc":"2.0","id":4,"method":"prompts/get","params":{"name":"p"}}`)
		const bare = `{"jsonrpc":"2.0","id":4,"error":{"code":%s,"message":"m %s"}}`
		e.fromServer(fmt.Sprintf(bare, code, link), mcp.ID{})
		e.wantClient(fmt.Sprintf(bare, code, shown), "4")
	}
	e := newEnds(t, mailConfig, nil)
	e.fromClient(`{"jsonrpc":"2.0","id":3,"method":"prompts/get","params":{"name":"p"}}`)
	e.wantServer(`{"jsonrpc":"2.0","id":3,"method":"prompts/get","params":{"name":"p"}}`)
	const other = `{"jsonrpc":"2.0","id":3,"error":{"code":-32041,"message":"see https://docs.example"}}`
	e.fromServer(other, mcp.ID{})
	e.wantClient(other, "3")
}

// A form's labels are a server's text as well: they end no line, move no cursor and turn nothing
// round.
func TestLabelsOfAFormShowWhatTheyHold(t *testing.T) {
	e := newEnds(t, mailConfig, nil)
	const form = `{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"%s","requestedSchema":{"type":"object","properties":{"u":{"type":"boolean","title":"%s","description":"%s"}}}}}`
	e.fromServer(fmt.Sprintf(form, "ok", `x\u001b[2K\r\nSallyport, the gateway`, `a\n\n\u202eb`), mcp.ID{})
	e.wantClient(fmt.Sprintf(form, "The server 'srv' asks: ok", `x\\u{001b}[2K / Sallyport, the gateway`, `a / \\u{202e}b`), "")
}
