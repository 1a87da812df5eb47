package sallyport_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport"
)

// officeTools are tools as servers list them; nobody wrote contracts for most of them.
var officeTools = []string{
	tool("search_mail", "query"), tool("read_mail", "message_id"), tool("send_mail", "to", "cc", "subject", "body"),
	tool("reply_to_mail", "message_id", "body"), tool("archive_mail", "message_id"), tool("label_mail", "message_id", "label"),
	tool("list_channels"), tool("read_channel", "channel_id"), tool("reply_in_thread", "channel_id", "thread_id", "text"), tool("react", "message_id", "emoji"),
	tool("get_issue", "owner", "repo", "issue_number"), tool("list_issues", "owner", "repo"), tool("comment_on_issue", "owner", "repo", "issue_number", "body"),
	tool("close_issue", "issue_id"), tool("get_file", "path", "ref"), tool("search_code", "query"),
	tool("read_file", "path"), tool("write_file", "path", "content"), tool("list_directory", "path"), tool("move_file", "source", "destination"),
	tool("list_events", "from", "until"), tool("update_event", "event_id", "start", "end"), tool("delete_event", "event_id"),
	tool("get_customer", "customer_id"), tool("update_customer", "customer_id", "notes", "phase"), tool("find_customers", "query"),
	tool("query", "sql"), tool("create_page", "parent_id", "title", "content"), tool("append_block", "block_id", "text"), tool("get_page", "page_id"),
	tool("click", "ref", "element"), tool("type_text", "ref", "text"), tool("screenshot"), tool("summarize", "text"), tool("translate", "text", "language"),
	tool("create_task", "project_id", "title", "due"), tool("complete_task", "task_id"), tool("set_status", "status"), tool("count_words", "text"), tool("get_weather", "city"),
}

func tool(name string, params ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"name":%q,"inputSchema":{"type":"object","properties":{`, name)
	for i, p := range params {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `%q:{"type":"string"}`, p)
	}
	return b.String() + "}}}"
}

// officeLabels are what an administrator might say of them.
const officeLabels = `
send_mail: {exfiltrating: true, sink_params: [to, cc], trusted_destinations: [me@ourfirm.example]}
read_mail: {exfiltrating: false, output: {from: party, id: id, thread_id: id}}
search_mail: {exfiltrating: false, output: {"mails[*].from": party, "mails[*].id": id}}
read_channel: {exfiltrating: false, output: {"[*].text": inside, "[*].user": party, "[*].id": id}}
list_channels: {exfiltrating: false, output: {"[*].name": vouched, "[*].id": id}}
`

// noLabels is the same without what is said of output.
const noLabels = `
send_mail: {exfiltrating: true, sink_params: [to, cc], trusted_destinations: [me@ourfirm.example]}
`

// officeDay is what the tools have shown so far, and by which call.
var officeDay = []struct{ tool, args, result string }{
	{"search_mail", `{"query":"invoice"}`, `{"mails":[{"id":"18f3a9c2d4","from":"cy@client.example","subject":"Invoice 2026-114"},{"id":"18f3a9c2d5","from":"news@shop.example","subject":"Sale"}]}`},
	{"read_mail", `{"message_id":"18f3a9c2d4"}`, `{"id":"18f3a9c2d4","thread_id":"77aa88bb","from":"cy@client.example","to":"me@ourfirm.example","date":"2026-11-28T09:14:02Z","body":"Hello, please find the invoice at https://billing.client.example/i/114. Total 1,240.50 EUR, due 2026-12-15. Ben from your office knows. Regards, Cy, +44 20 7946 0000"}`},
	{"list_channels", `{}`, `[{"id":"C0123ABCD","name":"general"},{"id":"C0456EFGH","name":"sales"}]`},
	{"read_channel", `{"channel_id":"C0123ABCD"}`, `[{"id":"m-1001","thread_id":"t-1716900000","user":"ana","text":"Lunch at noon? Menu: https://canteen.ourfirm.example/today"},{"id":"m-1002","thread_id":"t-1716900000","user":"ben","text":"yes, see you in the meeting room"}]`},
	{"list_issues", `{"owner":"ourfirm","repo":"site"}`, `[{"id":"I_kw55","number":41,"title":"Footer is broken","author":"mallory","url":"https://github.com/ourfirm/site/issues/41"}]`},
	{"get_file", `{"path":"src/app.go","ref":"main"}`, `{"sha":"9c1185a5c5e9fc54612808977ee8f548b2258d31","text":"// see https://go.dev/doc/effective_go and RFC 2119\npackage main\n\nimport \"net/http\"\n\nfunc main() { http.ListenAndServe(\":8080\", nil) }"}`},
	{"list_directory", `{"path":"/home/me/project"}`, `"README.md\nsrc/app.go\nnotes.txt\nreport-2026.pdf"`},
	{"list_events", `{"from":"2026-12-01"}`, `[{"event_id":"evt_9Xk2","title":"Review","start":"2026-12-01T10:00","guests":["ana@ourfirm.example","cy@client.example"]}]`},
	{"get_customer", `{"customer_id":"cus_1842"}`, `{"customer_id":"cus_1842","name":"Client Ltd","domain":"client.example","phase":"offer","uuid":"6f1c2b3a-1111-4222-8333-444455556666"}`},
	{"get_page", `{"page_id":"pg-31"}`, `{"page_id":"pg-31","block_id":"b-77","text":"Meeting notes. Ana takes the budget, Ben the offer. Next review on 2026-12-01."}`},
	{"screenshot", `{}`, `"[ref=e12] button Next, [ref=e13] textbox Name"`},
}

// ordinaryCalls must not be refused after such a day, with labels or without. Some are
// asked about.
var ordinaryCalls = []struct{ tool, args string }{
	// opaque ids from one tool of a server to the next
	{"read_mail", `{"message_id":"18f3a9c2d5"}`},
	{"reply_to_mail", `{"message_id":"18f3a9c2d4","body":"Thank you, we will pay in time."}`},
	{"archive_mail", `{"message_id":"18f3a9c2d5"}`},
	{"label_mail", `{"message_id":"18f3a9c2d4","label":"invoices"}`},
	{"read_channel", `{"channel_id":"C0456EFGH"}`},
	{"reply_in_thread", `{"channel_id":"C0123ABCD","thread_id":"t-1716900000","text":"Count me in."}`},
	{"react", `{"message_id":"m-1002","emoji":"thumbsup"}`},
	{"close_issue", `{"issue_id":"I_kw55"}`},
	{"update_event", `{"event_id":"evt_9Xk2","start":"2026-12-01T11:00","end":"2026-12-01T12:00"}`},
	{"delete_event", `{"event_id":"evt_9Xk2"}`},
	{"get_customer", `{"customer_id":"cus_1842"}`},
	{"update_customer", `{"customer_id":"cus_1842","phase":"won","notes":"Invoice 114 is paid."}`},
	{"create_page", `{"parent_id":"pg-31","title":"Minutes","content":"Ana takes the budget."}`},
	{"append_block", `{"block_id":"b-77","text":"Done."}`},
	{"get_page", `{"page_id":"pg-31"}`},
	{"complete_task", `{"task_id":"tsk_5"}`},
	{"create_task", `{"project_id":"6f1c2b3a-1111-4222-8333-444455556666","title":"Pay invoice 114","due":"2026-12-15"}`},
	{"click", `{"ref":"e12","element":"Next"}`},
	{"type_text", `{"ref":"e13","text":"Client Ltd"}`},
	// numbers, dates, times, amounts, versions
	{"list_events", `{"from":"2026-12-01","until":"2026-12-07"}`},
	{"list_events", `{"from":"2026-11-28T09:14:02Z"}`},
	{"send_mail", `{"to":"me@ourfirm.example","subject":"Invoice 2026-114","body":"1,240.50 EUR, due 2026-12-15, 10:00."}`},
	{"send_mail", `{"to":"me@ourfirm.example","subject":"Release","body":"Version 1.27.3 is out, build 20261128.4, commit 9c1185a5c5e9fc54612808977ee8f548b2258d31."}`},
	{"send_mail", `{"to":"me@ourfirm.example","subject":"Ids","body":"Customer cus_1842, 6f1c2b3a-1111-4222-8333-444455556666, message 18f3a9c2d4."}`},
	{"send_mail", `{"to":"me@ourfirm.example","subject":"Times","body":"09:14, 2026-11-28T09:14:02Z, 28.11.2026, 11/28/2026 and Q4/2026"}`},
	// files and code
	{"read_file", `{"path":"/home/me/project/report-2026.pdf"}`},
	{"read_file", `{"path":"README.md"}`},
	{"write_file", `{"path":"/home/me/project/notes.txt","content":"Ana takes the budget."}`},
	{"write_file", `{"path":"/home/me/project/src/app.go","content":"// see https://go.dev/doc/effective_go\npackage main\n"}`},
	{"move_file", `{"source":"/home/me/project/notes.txt","destination":"/home/me/project/old/notes.txt"}`},
	{"list_directory", `{"path":"/home/me/project/src"}`},
	{"get_file", `{"path":"src/app.go","ref":"9c1185a5c5e9fc54612808977ee8f548b2258d31"}`},
	{"search_code", `{"query":"http.ListenAndServe"}`},
	{"send_mail", `{"to":"me@ourfirm.example","subject":"Files","body":"I changed src/app.go, README.md and run.sh; main.py and node.js stay."}`},
	{"count_words", `{"text":"package main // https://go.dev/doc/effective_go"}`},
	// the user's own address, the company's own domain
	{"send_mail", `{"to":"me@ourfirm.example","subject":"Note to self","body":"Call Ana."}`},
	{"send_mail", `{"to":"Me <me@ourfirm.example>","subject":"Note","body":"Call Ben."}`},
	{"send_mail", `{"to":"dora@ourfirm.example","subject":"Note","body":"Welcome."}`},
	{"send_mail", `{"to":"me@ourfirm.example","cc":"dora@ourfirm.example","subject":"Note","body":"Welcome."}`},
	{"send_mail", `{"to":"me@ourfirm.example","subject":"Site","body":"The page is at https://www.ourfirm.example/team now."}`},
	{"send_mail", `{"to":"me@ourfirm.example","subject":"Who","body":"Write to info@ourfirm.example if you need more."}`},
	{"search_mail", `{"query":"from:cy@client.example"}`},
	{"search_mail", `{"query":"https://billing.client.example/i/114"}`},
	{"find_customers", `{"query":"client.example"}`},
	// prose that names people and firms
	{"send_mail", `{"to":"me@ourfirm.example","subject":"Summary","body":"Cy from Client Ltd sent an invoice; Ben knows about it, and Ana asks about lunch."}`},
	{"send_mail", `{"to":"me@ourfirm.example","subject":"Summary","body":"There is one open issue about the footer, by mallory, number 41."}`},
	{"reply_in_thread", `{"channel_id":"C0123ABCD","thread_id":"t-1716900000","text":"Ana, Ben: lunch at noon is fine."}`},
	{"comment_on_issue", `{"owner":"ourfirm","repo":"site","issue_number":"41","body":"Thanks, mallory: it is fixed on main."}`},
	{"get_issue", `{"owner":"ourfirm","repo":"site","issue_number":"41"}`},
	{"list_issues", `{"owner":"ourfirm","repo":"site"}`},
	{"summarize", `{"text":"Hello, please find the invoice at https://billing.client.example/i/114. Total 1,240.50 EUR"}`},
	{"translate", `{"text":"Lunch at noon? Menu: https://canteen.ourfirm.example/today","language":"de"}`},
	{"set_status", `{"status":"In a meeting until 11:00"}`},
	{"get_weather", `{"city":"Zurich"}`},
	// data
	{"query", `{"sql":"select name, phase from customers where id = 'cus_1842'"}`},
	{"query", `{"sql":"select count(*) from invoices where due < '2026-12-15'"}`},
	{"query", `{"sql":"select * from mails\nwhere sender like '%client%'"}`},
	{"update_customer", `{"customer_id":"cus_1842","notes":"Met Cy on 2026-11-28, offers 10 % off for 3 years."}`},
	{"create_task", `{"project_id":"p-1","title":"Ask Ben about the offer","due":"2026-12-01"}`},
	{"append_block", `{"block_id":"b-77","text":"- [ ] Ana: budget\n- [ ] Ben: offer"}`},
	{"create_page", `{"parent_id":"pg-31","title":"Links","content":"Menu: https://canteen.ourfirm.example/today"}`},
	{"type_text", `{"ref":"e13","text":"2026-12-01"}`},
	{"count_words", `{"text":"@property def x(self): return self._x  # type: ignore"}`},
	{"search_code", `{"query":"@org/pkg import { x } from './y.js'"}`},
}

func TestOrdinaryCallsAreNotRefused(t *testing.T) {
	if len(ordinaryCalls) < 60 {
		t.Errorf("%d calls", len(ordinaryCalls))
	}
	for name, entries := range map[string]string{"with labels": officeLabels, "without": noLabels} {
		t.Run(name, func(t *testing.T) {
			e, err := sallyport.New(sallyport.Options{Contracts: contracts(t, entries)})
			if err != nil {
				t.Fatal(err)
			}
			s, err := e.Session(sallyport.SessionOptions{Caller: "c", Doubt: "d"})
			if err != nil {
				t.Fatal(err)
			}
			s.Pin("u", tools(t, "u", officeTools...))
			for _, c := range officeDay {
				d := decide(t, s, c.tool, c.args)
				if d.Verdict == sallyport.Ask {
					d = s.Answer(t.Context(), d.ID, true)
				}
				if d = s.Start(t.Context(), d.ID); d.Verdict != sallyport.Allow {
					t.Fatalf("%s %s: %s", c.tool, c.args, d.Reason)
				}
				var result sallyport.Value
				if strings.HasPrefix(c.result, "{") {
					result = value(t, `{"content":[],"structuredContent":`+c.result+`}`)
				} else {
					result = value(t, `{"content":[{"type":"text","text":`+quoted(c.result)+`}]}`)
				}
				s.Observe(sallyport.Output{Upstream: "u", Tool: c.tool, Call: d.Call, Value: result})
				s.Forget(d.ID)
			}
			asked := 0
			for _, c := range ordinaryCalls {
				switch d := decide(t, s, c.tool, c.args); d.Verdict {
				case sallyport.Deny:
					t.Errorf("%s %s: %s", c.tool, c.args, d.Reason)
				case sallyport.Ask:
					asked++
					t.Logf("%s %s: %s", c.tool, c.args, d.Reason)
				}
			}
			t.Logf("%d of %d calls are asked about", asked, len(ordinaryCalls))
		})
	}
}

// quoted is text as a JSON string.
func quoted(s string) string {
	v, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(v)
}
