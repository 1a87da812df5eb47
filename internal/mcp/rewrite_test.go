package mcp

import (
	"encoding/json/jsontext"
	json "encoding/json/v2"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func set(value string, path ...string) Edit { return Edit{Path: path, Value: []byte(value)} }
func cut(path ...string) Edit               { return Edit{Path: path} }

func TestRewrite(t *testing.T) {
	for _, c := range []struct {
		name, in string
		edits    []Edit
		want     string // "": an error
	}{
		{"an id", `{"jsonrpc":"2.0", "id" : 1 ,"method":"a"}`, []Edit{set("7", "id")}, `{"jsonrpc":"2.0", "id" : 7 ,"method":"a"}`},
		{"an escaped name", `{"jsonrpc":"2.0","\u0069d":1,"method":"a"}`, []Edit{set("7", "id")}, `{"jsonrpc":"2.0","\u0069d":7,"method":"a"}`},
		{"a name deep down and the id", `{"jsonrpc":"2.0","id":1,"method":"a","params":{"name":"x","_meta":{"t": 1}}}`, []Edit{set("2", "id"), set(`"y"`, "params", "name"), set(`"z"`, "params", "_meta", "t")}, `{"jsonrpc":"2.0","id":2,"method":"a","params":{"name":"y","_meta":{"t": "z"}}}`},
		{"what is not there", `{"jsonrpc":"2.0","id":1,"method":"a"}`, []Edit{set("1", "params", "_meta", "a"), set("2", "params", "_meta", "b"), set("3", "params", "c")}, `{"jsonrpc":"2.0","id":1,"method":"a","params":{"_meta":{"a":1,"b":2},"c":3}}`},
		{"into an empty object", `{"jsonrpc":"2.0","id":1,"method":"a","params":{ }}`, []Edit{set("1", "params", "a"), set("2", "params", "b")}, `{"jsonrpc":"2.0","id":1,"method":"a","params":{ "a":1,"b":2}}`},
		{"the only member taken out", `{"jsonrpc":"2.0","id":1,"method":"a","params":{"a":1}}`, []Edit{cut("params", "a")}, `{"jsonrpc":"2.0","id":1,"method":"a","params":{}}`},
		{"the last taken out, another added", `{"jsonrpc":"2.0","id":1,"method":"a","params":{"a":1 , "b":2}}`, []Edit{cut("params", "b"), set("3", "params", "c")}, `{"jsonrpc":"2.0","id":1,"method":"a","params":{"a":1 ,"c":3}}`},
		{"all taken out, another added", `{"jsonrpc":"2.0","id":1,"method":"a","params":{"a":1,"b":2}}`, []Edit{cut("params", "b"), cut("params", "a"), set("3", "params", "c")}, `{"jsonrpc":"2.0","id":1,"method":"a","params":{"c":3}}`},
		{"nothing to take out", `{"jsonrpc":"2.0","id":1,"method":"a"}`, []Edit{cut("params", "_meta", "x"), cut("params", "y")}, `{"jsonrpc":"2.0","id":1,"method":"a"}`},
		{"a whole object", `{"jsonrpc":"2.0","id":1,"result":{"a":{"b":1}}}`, []Edit{set("{}", "result", "a")}, `{"jsonrpc":"2.0","id":1,"result":{"a":{}}}`},
		{"an object on the way is none", `{"jsonrpc":"2.0","id":1,"result":{"_meta":3}}`, []Edit{set("{}", "result", "_meta", "x")}, ""},
		{"a removal on a way that is none", `{"jsonrpc":"2.0","id":1,"result":{"_meta":3}}`, []Edit{cut("result", "_meta", "x")}, ""},
		{"twice the same", `{"jsonrpc":"2.0","id":1,"method":"a"}`, []Edit{set("1", "id"), set("2", "id")}, ""},
		{"one inside the other", `{"jsonrpc":"2.0","id":1,"method":"a"}`, []Edit{set("{}", "params"), set("2", "params", "x")}, ""},
		{"a path of nothing", `{"jsonrpc":"2.0","id":1,"method":"a"}`, []Edit{{}}, ""},
		{"what must be there taken out", `{"jsonrpc":"2.0","id":1,"method":"a"}`, []Edit{cut("jsonrpc")}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := parsed(t, c.in)
			got, err := Rewrite(m, c.edits...)
			if (err == nil) != (c.want != "") {
				t.Fatalf("error %v, message %s", err, got.Raw)
			}
			if err != nil {
				return
			}
			if string(got.Raw) != c.want {
				t.Errorf("got  %s\nwant %s", got.Raw, c.want)
			}
			if again := parsed(t, c.want); !reflect.DeepEqual(got, again) {
				t.Errorf("the message is not that of its bytes:\n%+v\n%+v", got, again)
			}
			if string(m.Raw) != c.in {
				t.Errorf("the original was changed: %s", m.Raw)
			}
		})
	}
}

// TestRewriteMeans compares with editing a decoded tree.
func TestRewriteMeans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"a", "b", "c", "\"", "_meta"})
		var object func(depth int) *rapid.Generator[map[string]any]
		object = func(depth int) *rapid.Generator[map[string]any] {
			return rapid.Custom(func(t *rapid.T) map[string]any {
				o := map[string]any{}
				for range rapid.IntRange(0, 4).Draw(t, "members") {
					n := name.Draw(t, "name")
					if depth > 0 && rapid.Bool().Draw(t, "object") {
						o[n] = object(depth-1).Draw(t, "below")
					} else {
						o[n] = rapid.SampledFrom([]any{"s", "}", `"`, 1.5, true, nil, []any{"]", map[string]any{"a": 1.0}}}).Draw(t, "value")
					}
				}
				return o
			})
		}
		tree := object(3).Draw(t, "result")
		raw, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "result": tree}, jsontext.SpaceAfterColon(rapid.Bool().Draw(t, "space")), jsontext.SpaceAfterComma(true))
		if err != nil {
			t.Fatal(err)
		}
		m, bad := Parse(raw)
		if bad != nil {
			t.Fatal(bad)
		}
		path := rapid.SliceOfN(name, 1, 4).Draw(t, "path")
		remove := rapid.Bool().Draw(t, "remove")
		e := Edit{Path: append([]string{"result"}, path...)}
		if !remove {
			e.Value = []byte(`"new"`)
		}
		got, err := Rewrite(m, e)
		ok := true
		o := tree
		for i, n := range path {
			if i == len(path)-1 {
				if remove {
					delete(o, n)
				} else {
					o[n] = "new"
				}
				break
			}
			next, there := o[n]
			if !there && remove {
				break
			}
			if !there {
				next = map[string]any{}
				o[n] = next
			}
			if o, ok = next.(map[string]any); !ok {
				break
			}
		}
		if ok != (err == nil) {
			t.Fatalf("%s %v: %v", raw, path, err)
		}
		if !ok {
			return
		}
		var after map[string]any
		if err := json.Unmarshal(got.Result, &after); err != nil {
			t.Fatalf("%s: %v", got.Raw, err)
		}
		if !reflect.DeepEqual(after, tree) {
			t.Fatalf("%s %v became %s", raw, path, got.Raw)
		}
	})
}

func TestEditList(t *testing.T) {
	m := parsed(t, `{"jsonrpc":"2.0","id":1,"result":{"tools":[ {"name":"a","x":1} , 3,{"name":"b"} , {"name":"c" }],"nextCursor":"n"}}`)
	got, err := EditList(m, "tools", func(element []byte) ([]Edit, bool) {
		f, err := Fields(element, "name")
		if err != nil {
			return nil, true
		}
		if string(f[0]) == `"b"` {
			return nil, false
		}
		return []Edit{set(`"s__`+strings.Trim(string(f[0]), `"`)+`"`, "name")}, false
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"s__a","x":1},{"name":"b"},{"name":"s__c" }],"nextCursor":"n"}}`; string(got.Raw) != want {
		t.Errorf("got  %s\nwant %s", got.Raw, want)
	}
	same, err := EditList(m, "tools", func([]byte) ([]Edit, bool) { return nil, false })
	if err != nil || &same.Raw[0] != &m.Raw[0] {
		t.Errorf("nothing to edit, and it was copied: %v", err)
	}
	if _, err := EditList(m, "tools", func([]byte) ([]Edit, bool) { return []Edit{set("1", "name")}, false }); err == nil {
		t.Error("3 was edited like an object")
	}
	var all []string
	Elements([]byte(` [1, {"a":[2,"]"]} ,"x" ] `), func(e []byte) bool {
		all = append(all, string(e))
		return true
	})
	if want := []string{"1", `{"a":[2,"]"]}`, `"x"`}; !reflect.DeepEqual(all, want) {
		t.Errorf("elements %q", all)
	}
}

func BenchmarkRewrite(b *testing.B) {
	m, _ := Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"send","arguments":{"to":"ana@example.org","body":"` + strings.Repeat("words ", 30) + `"},"_meta":{"progressToken":1}}}`))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Rewrite(m, set("12", "id"), set(`"send"`, "params", "name"), set("9", "params", "_meta", "progressToken")); err != nil {
			b.Fatal(err)
		}
	}
}

// FuzzRewrite: whatever Parse takes can be given another id and a member of _meta, is a
// message after that, and is what it was when both are undone.
func FuzzRewrite(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"a","params":{"_meta":{"progressToken":"t"},"name":"x"}}`,
		`{"\u0069d":"\"","jsonrpc":"2.0", "result" : {"a":[{},"]}"], "b" : null } }`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"\\"}}`,
		"{\"jsonrpc\":\"2.0\",\t\"method\":\"a\", \"params\": { }\n}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		m, bad := Parse(frame)
		if bad != nil || m.ID.IsZero() {
			return
		}
		got, err := Rewrite(m, set(`"another"`, "id"), set("1", "x", "y"))
		if err != nil {
			return // x is there and is no object
		}
		if again, bad := Parse(got.Raw); bad != nil || again.ID.Raw() != `"another"` || !reflect.DeepEqual(again, got) {
			t.Fatalf("%s became %s: %v", frame, got.Raw, bad)
		}
		back, err := Rewrite(got, set(m.ID.Raw(), "id"), cut("x"))
		if err != nil || back.ID.Key() != m.ID.Key() || string(back.Params) != string(m.Params) || string(back.Result) != string(m.Result) {
			t.Fatalf("%s became %s: %v", got.Raw, back.Raw, err)
		}
	})
}
