package report

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/sallyport-dev/sallyport/audit"
)

// hostileTexts are what a tool name, a destination or a reason can be.
var hostileTexts = []string{
	`<script>alert("x")</script>`,
	`"><img src=x onerror=alert(1)>`,
	`' onmouseover='alert(1)`,
	`</code></td></tr></table><iframe src="https://evil.example">`,
	`<!-- --><style>*{display:none}</style>`,
	`</title></style></svg><script>1</script>`,
	`[click](https://evil.example "t") ![i](https://evil.example/i.png)`,
	"`` ` ``` code ` | cell | <b>",
	"# h\n- x\n\n---\n> y\n1. z",
	"https://evil.example www.evil.example a@evil.example",
	"\u202egnp.exe\u202c\u200f\u2066\u200b\ufeff\u00ad",
	"a\x00b\x1b[31mc\x7f\u0085\u2028\u2029d\r\n",
	"\xff\xfe not UTF-8 \xc3",
	"&lt;script&gt; &#60;script&#62; &amp;",
	`javascript:alert(1) data:text/html,<script>`,
	`\` + "`" + `\|\\`,
	"$x$ ~~s~~ __b__ **b** _i_ <a@b.c>",
	strings.Repeat("A<", 5000),
}

// hostilePack has a hostile text in every place that somebody else fills.
func hostilePack(t testing.TB, s string) *Pack {
	t.Helper()
	// It sorts in one place, and the log and the list have it in the same form.
	tool := "z" + strings.ToValidUTF8(s[:min(len(s), 200)], "\ufffd")
	name, err := json.Marshal(tool)
	if err != nil {
		t.Fatal(err)
	}
	tools := fmt.Sprintf(`[{"name": %[1]s, "description": %[1]s, "inputSchema": {"type": "object", "properties": {"to": {"type": "string", "format": "email", "description": %[1]s}, "path": {"type": "string"}}}},
		{"name": "write_file", "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}}}]`, name)
	verdict := audit.Record{
		Event: "tools/call", Phase: audit.PhaseVerdict, Session: s, Caller: s, Policy: s, PolicyDigest: s, Upstream: "desk", Target: tool,
		Verdict: "deny", Check: "flow", Rule: s, Reason: s, Outcome: "denied", Mode: "enforce",
		Evidence: []audit.Evidence{{Argument: s, Destination: s, Origin: s, Upstream: s, Tool: s, Place: s}},
	}
	odd := verdict
	odd.Check, odd.Event, odd.Verdict, odd.Outcome, odd.Upstream = s, "tools/call", s, s, "z"+s
	asked := verdict
	asked.Verdict, asked.Outcome, asked.Evidence = "ask", "asked", nil
	var answers []audit.Record
	for range minAnswers {
		answers = append(answers, audit.Record{Event: "approval", Phase: "answered", Approval: s, Upstream: "desk", Target: tool, Outcome: "allowed", Detail: s})
	}
	log := writeLog(t, append(answers, verdict, odd, asked,
		audit.Record{Event: "pin", Target: s, Detail: s, Outcome: "denied"},
		audit.Record{Event: "config", Target: s, Detail: s, Outcome: "error"})...)
	log = append(log, "{\"seq\": 9 "+strings.ReplaceAll(s, "\n", " ")+"\n"...) // a line that is no record
	in := input(t, "version: 1\npolicies:\n  main:\n    rules:\n      - {name: read, effect: allow, tools: ['*'], reason: 'as it is'}\n", map[string]string{"desk": tools}, log)
	in.Program, in.Go, in.Platform, in.Log.Path = s, s, s, s
	in.Config.File = s
	return build(t, in)
}

// elements lists every element of a page with its attributes, in order.
func elements(t *testing.T, page string) (all []*html.Node, root *html.Node) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		switch n.Type {
		case html.ElementNode:
			all = append(all, n)
		case html.CommentNode:
			t.Errorf("a comment: %q", n.Data)
		}
	}
	return all, root
}

// mayHave are the elements of a page and the attributes that each may have.
var mayHave = map[string]string{
	"html": "lang", "head": "", "meta": "charset http-equiv content name", "title": "", "style": "", "body": "", "header": "", "nav": "aria-label",
	"main": "", "section": "id", "h1": "", "h2": "", "h3": "", "p": "class", "ul": "", "ol": "", "li": "", "a": "href rel", "code": "class",
	"strong": "", "span": "class", "div": "class", "table": "class", "thead": "", "tbody": "", "tr": "", "th": "scope", "td": "",
	"figure": "", "figcaption": "", "svg": "viewBox role aria-label", "rect": "class x y width height", "text": "class x y",
}

func TestHostileTextIsNoMarkup(t *testing.T) {
	sources := map[string]bool{}
	for _, f := range frameworks {
		sources[f.url] = true
	}
	for i, s := range hostileTexts {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			p := hostilePack(t, s)
			page := htmlOf(t, p)
			all, _ := elements(t, page)
			for _, n := range all {
				attrs, ok := mayHave[n.Data]
				if !ok {
					t.Fatalf("an element %s", n.Data)
				}
				for _, a := range n.Attr {
					if !slices.Contains(strings.Fields(attrs), a.Key) {
						t.Errorf("an attribute %s of %s", a.Key, n.Data)
					}
					if a.Key == "href" && !strings.HasPrefix(a.Val, "#") && !sources[a.Val] {
						t.Errorf("a link to %q", a.Val)
					}
				}
			}
			if len(page) > 400_000 {
				t.Errorf("%d bytes", len(page))
			}
			md := markdownOf(t, p)
			if len(md) > 400_000 {
				t.Errorf("%d bytes of Markdown", len(md))
			}
			for l := range strings.Lines(md) {
				if r, ok := shows(strings.TrimSuffix(l, "\n")); !ok {
					t.Errorf("%U in %q", r, l)
				}
			}
			for _, f := range p.Findings {
				if r, ok := shows(f.Text); !ok {
					t.Errorf("%U in the finding %q", r, f.Text)
				}
			}
		})
	}
}

// The same pack with harmless text of the same kind has the same elements and lines: there
// is no text that adds or takes one.
func TestHostileTextChangesNoStructure(t *testing.T) {
	shape := func(p *Pack) (tags []string, lines []string) {
		all, _ := elements(t, htmlOf(t, p))
		for _, n := range all {
			tags = append(tags, n.Data)
		}
		for l := range strings.Lines(markdownOf(t, p)) {
			lines = append(lines, lineShape(l))
		}
		return tags, lines
	}
	tags, lines := shape(hostilePack(t, "harmless"))
	for i, s := range hostileTexts {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			gotTags, gotLines := shape(hostilePack(t, s))
			if !slices.Equal(gotTags, tags) {
				t.Errorf("%d elements, with harmless text %d", len(gotTags), len(tags))
			}
			for k := range min(len(lines), len(gotLines)) {
				if lines[k] != gotLines[k] {
					t.Fatalf("line %d has the shape\n%q, with harmless text\n%q", k+1, gotLines[k], lines[k])
				}
			}
			if len(gotLines) != len(lines) {
				t.Errorf("%d lines, with harmless text %d", len(gotLines), len(lines))
			}
		})
	}
}

// lineShape is what is left of a line when its values are taken away: the cells, the marks
// at its beginning, what could be a link.
func lineShape(l string) string {
	var b strings.Builder
	for _, r := range bare(l) {
		if strings.ContainsRune("|[]<>*#", r) {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func TestPageRunsNothing(t *testing.T) {
	page := htmlOf(t, hostilePack(t, "x"))
	_, root := elements(t, page)
	style := find(root, "style")
	if style == nil || style.FirstChild == nil {
		t.Fatal("the page has no style sheet")
	}
	sum := sha256.Sum256([]byte(style.FirstChild.Data))
	want := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
	var policies []string
	for n := range root.Descendants() {
		for _, a := range n.Attr {
			if n.Data == "meta" && a.Key == "content" && len(n.Attr) > 1 && n.Attr[0].Val == "Content-Security-Policy" {
				policies = append(policies, a.Val)
			}
		}
	}
	if !slices.Equal(policies, []string{want}) {
		t.Errorf("the page's policy is %q, want %q", policies, want)
	}
	for _, no := range []string{"url(", "@import", "expression", "<script", "style="} {
		if strings.Contains(strings.ToLower(page), no) {
			t.Errorf("the page has %q", no)
		}
	}
}
