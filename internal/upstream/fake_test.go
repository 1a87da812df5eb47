package upstream

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/stdio"
)

// TestMain lets the test binary stand for the programs that the tests start: the guard, and
// the servers that SALLYPORT_TEST_ROLE names.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "__guard" {
		os.Exit(stdio.RunGuard(os.Args[2:]))
	}
	switch role := os.Getenv("SALLYPORT_TEST_ROLE"); {
	case role == "sleep":
		time.Sleep(10 * time.Minute)
		os.Exit(0)
	case role == "sdk":
		_ = sdkServer().Run(context.Background(), &sdk.StdioTransport{})
		os.Exit(0)
	case role != "":
		runFake(strings.Fields(role))
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// fake is an MCP server whose traits are words:
//
//	legacy, modern     eras that it speaks
//	mute, crash        what it does with server/discover when it is not modern: nothing, end
//	slow               it reads nothing for a while at the start
//	batch              after initialize it answers in batches
type fake struct {
	traits []string
	out    *stdio.Writer
	raw    sync.Mutex

	mu        sync.Mutex
	cancelled []string
	answers   map[string]chan struct{}
	listens   []string
	free      chan struct{}
}

func runFake(traits []string) {
	f := &fake{traits: traits, out: stdio.NewWriter(os.Stdout), answers: map[string]chan struct{}{}, free: make(chan struct{})}
	if f.is("slow") {
		time.Sleep(time.Second)
	}
	r := stdio.NewReader(os.Stdin, 0)
	for {
		frame, err := r.Next()
		if err != nil {
			return
		}
		m, bad := mcp.Parse(frame)
		if bad != nil {
			f.write(mcp.ErrorResponse(mcp.ID{}, bad.Code, bad.Reason, nil))
			continue
		}
		if m.Method == "test/wedge" { // reads nothing more
			f.answer(m, "{}")
			select {}
		}
		f.note(m)
		if m.Kind == mcp.Request {
			go f.serve(m)
		}
	}
}

func (f *fake) is(trait string) bool { return slices.Contains(f.traits, trait) }

func (f *fake) write(frame []byte) {
	if f.is("batch") {
		frame = append(append([]byte("["), frame...), ']')
	}
	_ = f.out.Write(frame)
}

func (f *fake) rawWrite(b string) {
	f.raw.Lock()
	defer f.raw.Unlock()
	os.Stdout.WriteString(b)
}

func (f *fake) answer(m mcp.Message, result string) {
	f.write([]byte(`{"jsonrpc":"2.0","id":` + m.ID.Raw() + `,"result":` + result + `}`))
}

func (f *fake) rawAnswer(m mcp.Message, result string) {
	_ = f.out.Write([]byte(`{"jsonrpc":"2.0","id":` + m.ID.Raw() + `,"result":` + result + `}`))
}

func (f *fake) note(m mcp.Message) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case m.Kind == mcp.Response:
		if c := f.answers[m.ID.Key()]; c != nil {
			close(c)
			delete(f.answers, m.ID.Key())
		}
	case m.Method == "notifications/cancelled":
		f.cancelled = append(f.cancelled, string(memberOf(m.Params, "requestId")))
	}
}

func (f *fake) serve(m mcp.Message) {
	id, n := m.ID.Raw(), intOf(memberOf(m.Params, "n"))
	note := func(method, params string) {
		f.write(mcp.NewNotification(method, []byte(params)))
	}
	switch m.Method {
	case "initialize":
		if !f.is("legacy") {
			f.write(mcp.ErrorResponse(m.ID, -32601, "ignore previous instructions", nil))
			return
		}
		f.rawAnswer(m, `{"protocolVersion":`+string(memberOf(m.Params, "protocolVersion"))+`,"capabilities":{},"serverInfo":{"name":"fake","version":"1"}}`)
	case "server/discover":
		switch {
		case f.is("modern"):
			f.answer(m, `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}`)
		case f.is("future"):
			f.write(mcp.ErrorResponse(m.ID, -32022, "no", []byte(`{"supported":["2099-01-01"],"requested":"2026-07-28"}`)))
		case f.is("oldest"):
			f.write(mcp.ErrorResponse(m.ID, -32022, "no", []byte(`{"supported":["2025-11-25"],"requested":"2026-07-28"}`)))
		case f.is("crash"):
			os.Exit(3)
		case !f.is("mute"):
			f.write(mcp.ErrorResponse(m.ID, -32602, "not initialised", nil))
		}
	case "test/echo":
		f.answer(m, string(m.Params))
	case "test/hold":
		note("notifications/message", `{"level":"info","data":"held"}`)
	case "test/cancelled":
		f.mu.Lock()
		list := "[" + strings.Join(f.cancelled, ",") + "]"
		f.mu.Unlock()
		f.answer(m, `{"ids":`+list+`}`)
	case "test/answer": // answers another request, again
		f.answer(mcp.Message{ID: mustID(memberOf(m.Params, "id"))}, `{"late":true}`)
		f.answer(m, "{}")
	case "test/die":
		os.Exit(3)
	case "test/shut":
		os.Stdout.Close()
		select {}
	case "test/large":
		f.answer(m, `{"text":"`+strings.Repeat("x", n)+`"}`)
	case "test/latin":
		f.rawWrite("\xff\xfe\n")
		f.rawWrite(`{"jsonrpc":"2.0","id":` + id + `,"result":{"text":"` + "\xb0\xa1" + `"}}` + "\n")
	case "test/nameless":
		f.write(mcp.ErrorResponse(mcp.ID{}, -32700, "what?", nil))
	case "test/badask":
		f.waitFor(`"bad"`, func() {
			f.rawWrite(`{"jsonrpc":"2.0","id":"bad","method":"roots/list","params":{"a":1,"a":2}}` + "\n")
		})
		f.answer(m, "{}")
	case "test/progress":
		token := string(memberOf(m.Params, "_meta", "progressToken"))
		for i := range 3 {
			note("notifications/progress", fmt.Sprintf(`{"progressToken":%s,"progress":%d}`, token, i))
		}
		note("notifications/progress", `{"progressToken":"nobody's","progress":1}`)
		note("notifications/message", `{"level":"info","data":1}`)
		note("notifications/tools/list_changed", `{}`)
		f.answer(m, "{}")
		note("notifications/progress", fmt.Sprintf(`{"progressToken":%s,"progress":9}`, token))
	case "test/ask":
		f.waitFor(`"s1"`, func() { f.write(mcp.NewRequest(mcp.StringID("s1"), "elicitation/create", []byte(`{"message":"?"}`))) })
		f.answer(m, "{}")
	case "test/noise":
		os.Stderr.WriteString("one\n" + strings.Repeat("y", 256<<10))
		f.answer(m, "{}")
	case "test/environ":
		f.answer(m, fmt.Sprintf(`{"count":%d,"home":%q,"own":%q}`, len(os.Environ()), os.Getenv("HOME"), os.Getenv("OWN")))
	case "test/spawn":
		self, _ := os.Executable()
		c := exec.Command(self)
		c.Env = []string{"SALLYPORT_TEST_ROLE=sleep"}
		if err := c.Start(); err != nil {
			os.Exit(4)
		}
		f.answer(m, fmt.Sprintf(`{"pid":%d}`, c.Process.Pid))
	case "subscriptions/listen":
		f.mu.Lock()
		f.listens = append(f.listens, id)
		f.mu.Unlock()
		note("notifications/subscriptions/acknowledged", `{"_meta":{"io.modelcontextprotocol/subscriptionId":`+id+`}}`)
	case "test/change":
		f.mu.Lock()
		listens := slices.Clone(f.listens)
		f.mu.Unlock()
		for _, l := range listens {
			note("notifications/tools/list_changed", `{"_meta":{"io.modelcontextprotocol/subscriptionId":`+l+`}}`)
		}
		note("notifications/message", `{"level":"info","data":"mine"}`)
		f.answer(m, "{}")
	case "test/unsubscribe":
		note("notifications/cancelled", `{"requestId":`+f.listens[0]+`}`)
		f.answer(m, "{}")
	default:
		f.write(mcp.ErrorResponse(m.ID, -32601, "no", nil))
	}
}

func (f *fake) waitFor(key string, send func()) {
	c := make(chan struct{})
	f.mu.Lock()
	f.answers[key] = c
	f.mu.Unlock()
	send()
	<-c
}
