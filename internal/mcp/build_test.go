package mcp

import "testing"

func TestBuild(t *testing.T) {
	one := IntID(1)
	for want, got := range map[string][]byte{
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no \"x\""}}`:                                                                                        ErrorResponse(one, CodeMethodNotFound, `no "x"`, nil),
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m","data":{"a":1}}}`:                                                                             ErrorResponse(ID{}, CodeParse, "m", []byte(`{"a":1}`)),
		`{"jsonrpc":"2.0","id":"a","result":{"content":[{"type":"text","text":"no\n"}],"isError":true}}`:                                                               ToolRefusal(StringID("a"), "no\n", nil, false),
		`{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[{"type":"text","text":"no"}],"isError":true,"_meta":{"io.sallyport/decision":{"v":1}}}}`: ToolRefusal(one, "no", []byte(`{"v":1}`), true),
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`:                                                                                                               NewRequest(one, "tools/list", nil),
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`:                                                                                                   NewRequest(one, "tools/list", []byte("{}")),
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`:                                                                                NewNotification("notifications/cancelled", []byte(`{"requestId":1}`)),
	} {
		if string(got) != want {
			t.Errorf("built %s\nwant  %s", got, want)
		}
		parsed(t, string(got))
	}
	// Text that is not UTF-8 must not make a frame that the other side refuses.
	parsed(t, string(ErrorResponse(one, CodeInternal, "\xff\x00\u2028", nil)))
	parsed(t, string(ToolRefusal(StringID("\xff"), "\xed\xa0\x80", nil, false)))
	parsed(t, string(NewNotification("\xff", nil)))
}
