package mcp

import (
	"strings"
	"testing"
)

// schemaMethods are the methods of each protocol version's schema.ts and of the tasks
// extension (SEP-2663), by hand: what a version adds to the one before it, and takes away.
// Ways: > request to the server, < request to the client, ! notification to the server,
// ? notification to the client.
var schemaMethods = []struct{ version, adds, removes string }{
	{V20241105, `>initialize >ping <ping >completion/complete >logging/setLevel >prompts/get >prompts/list
		>resources/list >resources/templates/list >resources/read >resources/subscribe >resources/unsubscribe
		>tools/call >tools/list <sampling/createMessage <roots/list
		!notifications/cancelled ?notifications/cancelled !notifications/progress ?notifications/progress
		!notifications/initialized !notifications/roots/list_changed ?notifications/message
		?notifications/resources/updated ?notifications/resources/list_changed
		?notifications/tools/list_changed ?notifications/prompts/list_changed`, ``},
	{V20250326, ``, ``},
	{V20250618, `<elicitation/create`, ``},
	{V20251125, `?notifications/elicitation/complete >tasks/get >tasks/result >tasks/list >tasks/cancel
		<tasks/get <tasks/result <tasks/list <tasks/cancel !notifications/tasks/status ?notifications/tasks/status`, ``},
	{
		V20260728, `>server/discover >subscriptions/listen ?notifications/subscriptions/acknowledged`,
		`>initialize >ping <ping >logging/setLevel >resources/subscribe >resources/unsubscribe
		<sampling/createMessage <roots/list <elicitation/create !notifications/initialized
		!notifications/roots/list_changed !notifications/progress ?notifications/elicitation/complete
		>tasks/get >tasks/result >tasks/list >tasks/cancel <tasks/get <tasks/result <tasks/list <tasks/cancel
		!notifications/tasks/status ?notifications/tasks/status`,
	},
	{"SEP-2663", `>tasks/get >tasks/update >tasks/cancel ?notifications/tasks`, ``},
}

// Every method of every version is known in its direction and as its kind, none is refused;
// and what is known stands in some version.
func TestEveryMethodOfEveryVersion(t *testing.T) {
	ways := map[byte]struct {
		d Direction
		k Kind
	}{'>': {ToServer, Request}, '<': {ToClient, Request}, '!': {ToServer, Notification}, '?': {ToClient, Notification}}
	everIn := make(map[string]bool)
	now := make(map[string]bool)
	for _, v := range schemaMethods {
		for _, m := range strings.Fields(v.removes) {
			if !now[m] {
				t.Errorf("%s removes %s, which was not there", v.version, m)
			}
			delete(now, m)
		}
		for _, m := range strings.Fields(v.adds) {
			if now[m] {
				t.Errorf("%s adds %s, which was there", v.version, m)
			}
			now[m], everIn[m] = true, true
		}
		for m := range now {
			w := ways[m[0]]
			if !Known(w.d, w.k, m[1:]) {
				t.Errorf("%s: %s %s %s is not known", v.version, w.k, w.d, m[1:])
			}
		}
	}
	names := []string{"", "Ping", "ping ", "tools/Call", "notifications/tasks/", "tasks/status"}
	for name := range methods {
		names = append(names, name)
	}
	for _, name := range names {
		for sign, w := range ways {
			if Known(w.d, w.k, name) && !everIn[string(sign)+name] {
				t.Errorf("%s %s %q is known and in no version", w.k, w.d, name)
			}
		}
		for _, d := range []Direction{ToServer, ToClient} {
			if Known(d, Response, name) || Known(d, 0, name) {
				t.Errorf("%q is known as what has no method", name)
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
