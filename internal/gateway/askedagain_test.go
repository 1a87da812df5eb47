package gateway

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/internal/streamhttp"
	"github.com/sallyport-dev/sallyport/internal/upstream"
)

// A call that the user agreed to and that its server did not take runs once in another
// conversation, by that yes. The next one is asked about again.
func TestAnApprovedCallThatWasNotTakenIsMadeAgain(t *testing.T) {
	for _, modern := range []bool{false, true} {
		t.Run(fmt.Sprint("modern ", modern), func(t *testing.T) {
			a := toolServer("a", "look")
			(&forgetful{method: "tools/call", times: 1}).on(a)
			o, _ := asking(t)
			at := filepath.Join(t.TempDir(), "audit", "audit.jsonl")
			log, err := audit.Open(at, audit.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer log.Close()
			o.Audit = log
			r := newRig(t, o, a)
			k := r.stdio(person(t, "local"))
			meta, more := "", ""
			if modern {
				meta = strings.Replace(modernMeta, `Capabilities":{}`, `Capabilities":{"elicitation":{}}`, 1) + ","
			} else {
				k.initialize()
			}
			call := func(id int) string {
				return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{%s"name":"look","arguments":{"x":1}%s}}`, id, meta, more)
			}
			next := func() string { // the new conversation may tell that lists have changed
				t.Helper()
				for {
					if got := k.next(); !strings.Contains(got, "list_changed") {
						return got
					}
				}
			}
			k.send(call(1))
			q := next()
			if modern {
				more = fmt.Sprintf(`,"inputResponses":{"io.sallyport/approval":%s},"requestState":%q`, yes, get(t, q, "result", "requestState"))
				k.send(call(2))
				more = ""
			} else {
				k.send(`{"jsonrpc":"2.0","id":` + gatewaysQuestion(t, q, "a", "look").ID.Raw() + `,"result":` + yes + `}`)
			}
			if got := next(); !strings.Contains(got, "a ran") {
				t.Errorf("got %s", got)
			}
			k.send(call(3))
			if got := next(); strings.Contains(got, "a ran") || !strings.Contains(got, "may this call run?") {
				t.Errorf("got %s", got)
			}
			k.close()
			n := 0
			for _, m := range a.received() {
				if message(m).Method == "tools/call" {
					n++
				}
			}
			if n != 2 {
				t.Errorf("%d calls reached the server, want the one that it did not take and the one that ran", n)
			}
			// What ran is found from the yes, both times.
			var ran []string
			for line := range strings.Lines(readFile(t, at)) {
				var rec struct{ Event, Phase, Outcome, Approval string }
				if err := json.Unmarshal([]byte(line), &rec); err != nil {
					t.Fatal(err)
				}
				if rec.Event == "tools/call" && rec.Phase == "verdict" && rec.Outcome == "allowed" {
					ran = append(ran, rec.Approval)
				}
			}
			if len(ran) != 2 || ran[0] == "" || ran[1] != ran[0] {
				t.Errorf("the verdicts that let it run name the approvals %q", ran)
			}
		})
	}
}

// What the gateway repeats to a server that came back is no call of the client's: the user is
// not asked about it, however often the server goes away.
func TestASubscriptionThatIsRepeatedAsksNobody(t *testing.T) {
	a := library("a", nil, nil, "")
	o, store := asking(t)
	r := newRig(t, o, a)
	c := newCaller(t, "local", `p: {default: allow, rules: [{name: ask-first, effect: ask, resources: ["*"]}]}`, nil)
	c.Decides, c.AskClient = "p1", true
	k := r.stdio(c)
	k.initialize()
	k.send(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"x://a"}}`)
	k.send(`{"jsonrpc":"2.0","id":` + message(k.next()).ID.Raw() + `,"result":` + yes + `}`)
	k.wants(k.next(), `{"jsonrpc":"2.0","id":1,"result":{"by":"a"}}`)
	a.last(t).die(fmt.Errorf("%w: %w", upstream.ErrDied, streamhttp.ErrSessionLost))
	eventually(t, "it was repeated", func() bool {
		return strings.Contains(r.log.String(), "refuses what it had taken before")
	})
	if open, err := store.List(t.Context()); err != nil || len(open) != 0 {
		t.Errorf("%d questions are open, %v", len(open), err)
	}
	k.close()
	for line := range k.lines {
		if strings.Contains(line, "elicitation/create") {
			t.Errorf("the client is asked %s", line)
		}
	}
}
