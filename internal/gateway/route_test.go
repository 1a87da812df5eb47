package gateway

import (
	"strings"
	"testing"
)

func TestOneUpstreamIsPassedThrough(t *testing.T) {
	up := toolServer("files", "look")
	up.hello = `{ "protocolVersion":"2024-11-05","x-own":1.0 ,"capabilities":{"tools":{}},"serverInfo":{"name":"files","version":"1"}}`
	r := newRig(t, Options{}, up)
	k := r.stdio(newCaller(t, "local", everything, nil))
	k.wants(k.initialize(), `{"jsonrpc":"2.0","id":"init","result":{ "protocolVersion":"2025-11-25","x-own":1.0 ,"capabilities":{"tools":{}},"serverInfo":{"name":"files","version":"1"}}}`)
	k.wants(k.call(`{"jsonrpc":"2.0","id":7,"method":"tools/list"}`),
		`{"jsonrpc":"2.0","id":7,"result":{"tools":[{"name":"look","description":"of files","inputSchema":{"type":"object"},"x-unknown":[1.50,{"deep":12345678901234567890}]}]}}`)
	k.wants(k.call(`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"look","arguments":{"n":1.0}}}`),
		`{"jsonrpc":"2.0","id":"a","result":{"content":[{"type":"text","text":"files ran"}],"structuredContent":{"tool":"look","got":{"n":1.0}}}}`)
	k.wants(k.call(`{"jsonrpc":"2.0","id":"p","method":"ping"}`), `{"jsonrpc":"2.0","id":"p","result":{}}`)
	k.close()
	if up.saw(`"ping"`) {
		t.Error("a ping reached the server")
	}
}

func TestManyUpstreamsAreMerged(t *testing.T) {
	a, b := toolServer("a", "look", "b__c"), toolServer("b", "look")
	r := newRig(t, Options{Name: "port", Version: "9"}, a, b)
	k := r.stdio(newCaller(t, "local", everything, nil))
	hello := k.initialize()
	if got := get(t, hello, "result", "serverInfo", "name"); got != "port" {
		t.Errorf("the server is called %v", got)
	}
	text, _ := get(t, hello, "result", "instructions").(string)
	if !strings.Contains(text, "about a") || !strings.Contains(text, "about b") {
		t.Errorf("instructions are lost: %s", text)
	}
	list := k.call(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	for i, want := range []string{"a__look", "a__b__c", "b__look"} {
		if got := get(t, list, "result", "tools", i, "name"); got != want {
			t.Errorf("tool %d is called %v, want %s", i, got, want)
		}
	}
	if !strings.Contains(list, `{"name":"b__look","description":"of b","inputSchema":{"type":"object"},"x-unknown":[1.50,{"deep":12345678901234567890}]}`) {
		t.Errorf("bytes of an element changed: %s", list)
	}
	k.wants(k.call(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"b__look","arguments":{"x":[ ]}}}`),
		`{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"b ran"}],"structuredContent":{"tool":"look","got":{"x":[ ]}}}}`)
	if got := get(t, k.call(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"nobody_look"}}`), "error", "code"); got == nil || got.(interface{ String() string }).String() != "-32602" {
		t.Errorf("an unknown tool gives %v", got)
	}
	k.close()
}

// A name that two upstreams would have is neither's: it is not listed, and refused.
func TestB040AmbiguousNamesAreRefused(t *testing.T) {
	a, ab := toolServer("a", "b__c", "d"), toolServer("a__b", "c", "e")
	r := newRig(t, Options{}, a, ab)
	k := r.stdio(newCaller(t, "local", everything, nil))
	k.initialize()
	list := k.call(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if strings.Contains(list, `"a__b__c"`) || !strings.Contains(list, `"a__d"`) || !strings.Contains(list, `"a__b__e"`) {
		t.Errorf("got %s", list)
	}
	if got := k.call(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a__b__c"}}`); get(t, got, "error", "code") == nil {
		t.Errorf("got %s", got)
	}
	if got := k.call(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"a__b__e"}}`); !strings.Contains(got, "a__b ran") {
		t.Errorf("got %s", got)
	}
	k.close()
	if a.saw("tools/call") {
		t.Error("a call reached a server that it was not for")
	}
	if !strings.Contains(r.log.String(), "none of them is offered") {
		t.Error("the log does not say so")
	}
}
