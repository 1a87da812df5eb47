package mcp

import (
	"strings"
	"testing"
)

func TestKnown(t *testing.T) {
	// The methods by way, from the schemas of the five versions, tasks left out.
	want := map[Direction]map[Kind]string{
		ToServer: {
			Request: `initialize ping server/discover completion/complete logging/setLevel prompts/get prompts/list
				resources/list resources/templates/list resources/read resources/subscribe resources/unsubscribe
				subscriptions/listen tools/call tools/list`,
			Notification: `notifications/cancelled notifications/progress notifications/initialized
				notifications/roots/list_changed`,
		},
		ToClient: {
			Request: `ping sampling/createMessage roots/list elicitation/create`,
			Notification: `notifications/cancelled notifications/progress notifications/message
				notifications/resources/updated notifications/resources/list_changed notifications/tools/list_changed
				notifications/prompts/list_changed notifications/elicitation/complete
				notifications/subscriptions/acknowledged`,
		},
	}
	names := []string{"", "tasks/get", "tasks/list", "tasks/cancel", "tasks/result", "notifications/tasks/status", "Ping", "ping ", "tools/Call"}
	for name := range methods {
		names = append(names, name)
	}
	for _, d := range []Direction{ToServer, ToClient} {
		for _, k := range []Kind{0, Request, Notification, Response} {
			known := map[string]bool{}
			for _, name := range strings.Fields(want[d][k]) {
				known[name] = true
				if !Known(d, k, name) {
					t.Errorf("%s %s %q is not known", k, d, name)
				}
			}
			for _, name := range names {
				if Known(d, k, name) != known[name] {
					t.Errorf("Known(%s, %s, %q) = %v", d, k, name, !known[name])
				}
			}
		}
	}
}

func TestRequestVersion(t *testing.T) {
	for params, want := range map[string]string{
		`{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`:                  V20260728,
		`{"\u005fmeta":{"a":1,"io.modelcontextprotocol\/protocolVersion":"2026-07-\u00328"}}`: V20260728,
		`{"_meta":{"io.modelcontextprotocol/protocolVersion":20260728}}`:                      "",
		`{"_meta":["io.modelcontextprotocol/protocolVersion"]}`:                               "",
		`{"_meta":{}}`: "",
		`{"arguments":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`: "",
	} {
		m := parsed(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":`+params+`}`)
		if got := RequestVersion(m); got != want {
			t.Errorf("RequestVersion(%s) = %q, want %q", params, got, want)
		}
	}
	if got := RequestVersion(Message{}); got != "" {
		t.Errorf("no params: %q", got)
	}
}

func TestStrings(t *testing.T) {
	got := []string{Request.String(), Notification.String(), Response.String(), Kind(0).String(), ToServer.String(), ToClient.String()}
	if s := strings.Join(got, ","); s != "request,notification,response,message,to server,to client" {
		t.Error(s)
	}
}
