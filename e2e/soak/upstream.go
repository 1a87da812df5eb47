package main

import (
	"context"
	json "encoding/json/v2"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/sallyport-dev/sallyport/e2e/peer"
)

// newUpstream is a server with tools that answer, take their time, report progress, ask
// the client, answer at length, or end the process.
func newUpstream(era peer.Era) *peer.Server {
	return &peer.Server{
		Era: era, Capabilities: `{"tools":{"listChanged":true},"resources":{"subscribe":true},"prompts":{}}`,
		Handle: func(ctx context.Context, q *peer.Request) { handle(ctx, era, q) },
	}
}

func serveStdio(era string) error {
	e := peer.Handshake
	if era == peer.Stateless.String() {
		e = peer.Stateless
	}
	return newUpstream(e).ServeStdio(os.Stdin, os.Stdout)
}

var tools = []string{"echo", "slow", "progress", "big", "ask", "crash"}

func handle(ctx context.Context, era peer.Era, q *peer.Request) {
	more := ""
	if era == peer.Stateless {
		more = `,"resultType":"complete"`
	}
	lists := more
	if lists != "" {
		lists += `,"ttlMs":0,"cacheScope":"private"`
	}
	switch q.Method {
	case "tools/list":
		var all []string
		for _, t := range tools {
			all = append(all, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, t))
		}
		q.Reply([]byte(`{"tools":[` + strings.Join(all, ",") + `]` + lists + `}`))
	case "resources/list":
		q.Reply([]byte(`{"resources":[{"uri":"soak://one","name":"one"}]` + lists + `}`))
	case "resources/templates/list":
		q.Reply([]byte(`{"resourceTemplates":[]` + lists + `}`))
	case "prompts/list":
		q.Reply([]byte(`{"prompts":[{"name":"one"}]` + lists + `}`))
	case "resources/read":
		q.Reply([]byte(`{"contents":[{"uri":"soak://one","text":"one"}]` + lists + `}`))
	case "prompts/get":
		q.Reply([]byte(`{"messages":[]` + more + `}`))
	case "tools/call":
		call(ctx, era, q, more)
	default:
		q.Reply([]byte(`{` + strings.TrimPrefix(more, ",") + `}`))
	}
}

func call(ctx context.Context, era peer.Era, q *peer.Request, more string) {
	var p struct {
		Name      string `json:"name"`
		Arguments struct {
			Nonce string `json:"nonce"`
		} `json:"arguments"`
		RequestState string `json:"requestState"`
	}
	if err := json.Unmarshal(q.Params, &p); err != nil {
		q.Fail([]byte(`{"code":-32602,"message":"not readable"}`))
		return
	}
	text := p.Arguments.Nonce
	switch p.Name {
	case "slow":
		select {
		case <-time.After(300 * time.Millisecond):
		case <-ctx.Done():
			return
		}
	case "progress":
		if token := q.ProgressToken(); token != nil {
			for i := range 3 {
				q.Notify("notifications/progress", fmt.Appendf(nil, `{"progressToken":%s,"progress":%d,"message":%q}`, token, i, text))
			}
		}
	case "big":
		text += strings.Repeat(" so many words", 20_000)
	case "ask":
		params := fmt.Sprintf(`{"message":%q,"requestedSchema":{"type":"object","properties":{}}}`, text)
		if era == peer.Stateless {
			if p.RequestState == "" {
				q.Reply(fmt.Appendf(nil, `{"resultType":"input_required","requestState":"s","inputRequests":{"q":{"method":"elicitation/create","params":%s}}}`, params))
				return
			}
			break
		}
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		if _, err := q.Ask(ctx, "elicitation/create", []byte(params)); err != nil {
			return
		}
	case "crash":
		os.Exit(3)
	}
	q.Reply(fmt.Appendf(nil, `{"content":[{"type":"text","text":%q}]%s}`, text, more))
}
