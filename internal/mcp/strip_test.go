package mcp

import (
	"strings"
	"testing"
)

func TestStripReserved(t *testing.T) {
	for in, want := range map[string]string{
		`{"_meta":{"io.sallyport/decision":{"a":[1,{}]}}}`:                                                               `{"_meta":{}}`,
		`{"_meta":{"io.sallyport/a":1,"b":2}}`:                                                                           `{"_meta":{"b":2}}`,
		`{"_meta":{"b":2,"io.sallyport/a":1}}`:                                                                           `{"_meta":{"b":2}}`,
		`{"_meta":{"b":2 , "io.sallyport/a" : 1 }}`:                                                                      `{"_meta":{"b":2  }}`,
		`{"_meta":{"b":2,"io.sallyport/a":1,"c":3}}`:                                                                     `{"_meta":{"b":2,"c":3}}`,
		`{"_meta":{"io.sallyport/a":1,"b":2,"io.sallyport/c":3,"io.sallyport/d":4}}`:                                     `{"_meta":{"b":2}}`,
		`{"_meta":{"io.sallyport/a":1,"io.sallyport/b":2}}`:                                                              `{"_meta":{}}`,
		`{"\u005fmeta":{"io\u002esallyport\/a":1,"x":"io.sallyport/"}}`:                                                  `{"\u005fmeta":{"x":"io.sallyport/"}}`,
		`{"_meta":{"\u0069o.sallyport/a":1}}`:                                                                            `{"_meta":{}}`,
		`{"_Meta":{"io.sallyport/a":1}}`:                                                                                 `{"_Meta":{}}`,
		`{"content":[{"type":"text","text":"t","_meta":{"io.sallyport/a":1}},[[{"_meta":{"io.sallyport/a":1,"z":0}}]]]}`: `{"content":[{"type":"text","text":"t","_meta":{}},[[{"_meta":{"z":0}}]]]}`,
		`{"_meta":{"x":{"_meta":{"io.sallyport/a":1}}}}`:                                                                 `{"_meta":{"x":{"_meta":{}}}}`,
		`{"_meta":{"io.sallyport/a":{"_meta":{"io.sallyport/b":1}},"c":1}}`:                                              `{"_meta":{"c":1}}`,
	} {
		for _, frame := range []string{
			`{"jsonrpc":"2.0","id":1,"result":%}`,
			`{"jsonrpc":"2.0","method":"notifications/message","params":%}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m","data":%}}`,
		} {
			if strings.Contains(in, "_Meta") && strings.Contains(frame, "params") {
				continue // refused before it could be stripped
			}
			before := strings.Replace(frame, "%", in, 1)
			got := StripReserved(parsed(t, before))
			after := parsed(t, strings.Replace(frame, "%", want, 1))
			if string(got.Raw) != string(after.Raw) || string(got.Params) != string(after.Params) ||
				string(got.Result) != string(after.Result) || string(got.Error) != string(after.Error) ||
				got.Kind != after.Kind || got.ID != after.ID || got.Method != after.Method {
				t.Errorf("%s\n got %s\nwant %s", before, got.Raw, after.Raw)
			}
		}
	}
}

func TestStripReservedKeeps(t *testing.T) {
	for _, result := range []string{
		`{"io.sallyport/a":1}`,
		`{"_meta":{"io.sallyportx":1,"IO.sallyport/a":1,"xio.sallyport/":1}}`,
		`{"_meta":["io.sallyport/a",{"io.sallyport/b":1}]}`,
		`{"text":"\"_meta\":{\"io.sallyport/a\":1}"}`,
		`{"text":"\u0041","_meta":{"a":1}}`,
		`{"_meta":{"a":{"io.sallyport/b":1}}}`,
	} {
		m := parsed(t, `{"jsonrpc":"2.0","id":1,"result":`+result+`}`)
		got := StripReserved(m)
		if &got.Raw[0] != &m.Raw[0] || string(got.Result) != result {
			t.Errorf("%s became %s", result, got.Result)
		}
	}
	clean := parsed(t, `{"jsonrpc":"2.0","id":1,"result":{"_meta":{"a":1},"content":[]}}`)
	if n := testing.AllocsPerRun(100, func() { StripReserved(clean) }); n != 0 {
		t.Errorf("%v allocations for a message with nothing to strip", n)
	}
}
