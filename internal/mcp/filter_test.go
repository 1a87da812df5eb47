package mcp

import (
	"strings"
	"testing"
)

func TestFilterList(t *testing.T) {
	dropB := func(e []byte) bool {
		f, err := Fields(e, "name")
		if err != nil {
			return false
		}
		name, _ := Str(f[0])
		return strings.HasPrefix(name, "b")
	}
	for _, c := range []struct{ in, want string }{
		{`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"},{"name":"b"},{"name":"c"}],"x":1.0}}`, `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"},{"name":"c"}],"x":1.0}}`},
		{`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"b"}],"nextCursor":"b"}}`, `{"jsonrpc":"2.0","id":1,"result":{"tools":[],"nextCursor":"b"}}`},
		{`{"result": { "to\u006fls" : [ {"name":"\u0062"} , {"name" : "c"} ] } ,"id":1,"jsonrpc":"2.0"}`, `{"result": { "to\u006fls" : [{"name" : "c"}] } ,"id":1,"jsonrpc":"2.0"}`},
		{`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"} , {"name":"c"}]}}`, ``},
		{`{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`, ``},
		{`{"jsonrpc":"2.0","id":1,"result":{"tools":{"name":"b"}}}`, ``},
		{`{"jsonrpc":"2.0","id":1,"result":{"x":{"tools":[{"name":"b"}]}}}`, ``},
		{`{"jsonrpc":"2.0","id":1,"result":{}}`, ``},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m","tools":[{"name":"b"}]}}`, ``},
	} {
		m, bad := Parse([]byte(c.in))
		if bad != nil {
			t.Fatal(bad)
		}
		if c.want == "" {
			c.want = c.in
		}
		got := FilterList(m, "tools", dropB)
		if string(got.Raw) != c.want {
			t.Errorf("%s\ngives %s\nwant  %s", c.in, got.Raw, c.want)
		}
		if again, bad := Parse(got.Raw); bad != nil || again.ID.Key() != m.ID.Key() || string(again.Result) != string(got.Result) {
			t.Errorf("%s: the result does not parse as itself: %v", got.Raw, bad)
		}
	}
}

func FuzzFilterList(f *testing.F) {
	f.Add(`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"},{"name":"b"},[1,"]"],"\"]"]}}`, uint64(5))
	f.Fuzz(func(t *testing.T, frame string, which uint64) {
		m, bad := Parse([]byte(frame))
		if bad != nil {
			t.Skip()
		}
		n, dropped := 0, 0
		got := FilterList(m, "tools", func([]byte) bool {
			n++
			d := which>>(n%64)&1 == 1
			if d {
				dropped++
			}
			return d
		})
		left := 0
		FilterList(got, "tools", func([]byte) bool { left++; return false })
		if _, bad := Parse(got.Raw); bad != nil || left != n-dropped {
			t.Fatalf("%s\ngives %s: %v; %d elements, %d dropped, %d left", frame, got.Raw, bad, n, dropped, left)
		}
	})
}
