package mcp

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/quote"
)

// parsed parses a frame that must be a message.
func parsed(t *testing.T, frame string) Message {
	t.Helper()
	m, err := Parse([]byte(frame))
	if err != nil {
		t.Fatalf("Parse(%.200q) = %v", frame, err)
	}
	return m
}

// refused parses a frame that must be none.
func refused(t *testing.T, frame string) *ParseError {
	t.Helper()
	m, err := Parse([]byte(frame))
	if err == nil {
		t.Fatalf("Parse(%.200q) accepted it as %+v", frame, m)
	}
	if quote.Text(err.Error(), 0) != err.Error() {
		t.Errorf("reason %q is not printable", err.Error())
	}
	if len(err.Error()) > 500 {
		t.Errorf("reason has %d bytes", len(err.Error()))
	}
	return err
}

func TestParse(t *testing.T) {
	tests := []struct {
		frame                         string
		kind                          Kind
		id, method, params, res, fail string
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"ping"}`, Request, "1", "ping", "", "", ""},
		{` {"method" : "x/y" , "id":"a","params": { } ,"jsonrpc":"2.0"}` + "\r\n", Request, `"a"`, "x/y", "{ }", "", ""},
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, Notification, "", "notifications/initialized", "", "", ""},
		{`{"jsonrpc":"2.0","id":-7,"result":{"a":[1,{"b":2}]}}`, Response, "-7", "", "", `{"a":[1,{"b":2}]}`, ""},
		{`{"jsonrpc":"2.0","id":7,"result":null}`, Response, "7", "", "", "null", ""},
		{`{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"m"}}`, Response, "7", "", "", "", `{"code":1,"message":"m"}`},
		{`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}`, Response, "", "", "", "", `{"code":1,"message":"m"}`},
		{`{"jsonrpc":"2.0","error":{"code":1,"message":"m"}}`, Response, "", "", "", "", `{"code":1,"message":"m"}`},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","x-unknown":[1],"":0}`, Request, "1", "ping", "", "", ""},
		{`{"\u006asonrpc":"\u0032.0","\u0069d":1,"m\u0065thod":"p\u0069ng","par\u0061ms":{}}`, Request, "1", "ping", "{}", "", ""},
		{`{"jsonrpc":"2.0","method":"n","params":{"arguments":{"a":1,"b":{"A":1,"a":2}}}}`, Notification, "", "n", `{"arguments":{"a":1,"b":{"A":1,"a":2}}}`, "", ""},
	}
	for _, tt := range tests {
		m := parsed(t, tt.frame)
		if want := strings.TrimSpace(tt.frame); string(m.Raw) != want {
			t.Errorf("Raw = %q, want %q", m.Raw, want)
		}
		if m.Kind != tt.kind || m.ID.Raw() != tt.id || m.Method != tt.method ||
			string(m.Params) != tt.params || string(m.Result) != tt.res || string(m.Error) != tt.fail {
			t.Errorf("Parse(%q) = %+v", tt.frame, m)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	tests := []struct {
		frame  string
		code   int
		id     string
		kind   Kind
		reason string
	}{
		{``, CodeParse, "", 0, "empty"},
		{" \t ", CodeParse, "", 0, "empty"},
		{`hello`, CodeParse, "", 0, "not JSON"},
		{`"hello"`, CodeInvalidRequest, "", 0, "not a JSON object"},
		{`12`, CodeInvalidRequest, "", 0, "not a JSON object"},
		{`null`, CodeInvalidRequest, "", 0, "not a JSON object"},
		{`{"jsonrpc":"2.0","id":1,"method":"ping"`, CodeParse, "", 0, "too early"},
		{`{"jsonrpc":"2.0","id":1,"method":"ping"}}`, CodeParse, "", 0, "after the end"},
		{`{"jsonrpc":"2.0","id":1,"method":"ping"}{}`, CodeParse, "", 0, "after the end"},
		{`{"jsonrpc":"2.0","id":1,"method":"ping"} x`, CodeParse, "", 0, "after the end"},
		{`{"jsonrpc":"2.0","id":1,"method":"ping",}`, CodeParse, "", 0, "not JSON"},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":01}}`, CodeParse, "1", Request, "not JSON"},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":NaN}}`, CodeParse, "1", Request, "not JSON"},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":'b'}}`, CodeParse, "1", Request, "not JSON"},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"a\":\"b\nc\"}}", CodeParse, "1", Request, "not JSON"},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"a\":\"b\x00c\"}}", CodeParse, "1", Request, "not JSON"},
		{`{"jsonrpc":"2.0","id":1,"method":"ping",//` + "\n" + `"params":{}}`, CodeParse, "", 0, "not JSON"},
		{`{"jsonrpc":"2.0","id":1,"result":{"t":"\ud800"}}`, CodeParse, "1", Response, "not JSON"},
		{`{"jsonrpc":"2.0","id":1,"result":{"t":"\udc00\ud800"}}`, CodeParse, "1", Response, "not JSON"},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"t\":\"\xed\xa0\x80\"}}", CodeParse, "1", Response, "UTF-8"},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"t\":\"\xc0\xaf\"}}", CodeParse, "1", Response, "UTF-8"},
		{`{"id":1,"method":"ping"}`, CodeInvalidRequest, "1", Request, "jsonrpc"},
		{`{"jsonrpc":2.0,"id":1,"method":"ping"}`, CodeInvalidRequest, "1", Request, "jsonrpc"},
		{`{"jsonrpc":"1.0","id":1,"method":"ping"}`, CodeInvalidRequest, "1", Request, "jsonrpc"},
		{`{"jsonrpc":"2.0","id":1,"method":5}`, CodeInvalidRequest, "1", Request, "method"},
		{`{"jsonrpc":"2.0","id":1,"method":null}`, CodeInvalidRequest, "1", Request, "method"},
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":[]}`, CodeInvalidRequest, "1", Request, "params is not an object"},
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":null}`, CodeInvalidRequest, "1", Request, "params is not an object"},
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":"x"}`, CodeInvalidRequest, "1", Request, "params is not an object"},
		{`{"jsonrpc":"2.0","method":"m","params":1}`, CodeInvalidRequest, "", Notification, "params is not an object"},
		{`{"jsonrpc":"2.0","id":1,"result":{},"params":{}}`, CodeInvalidRequest, "1", Response, "params"},
		{`{"jsonrpc":"2.0","id":1,"error":"no"}`, CodeInvalidRequest, "1", Response, "error is not an object"},
		{`{"jsonrpc":"2.0","id":1,"error":null}`, CodeInvalidRequest, "1", Response, "error is not an object"},
		{`{"jsonrpc":"2.0","result":{}}`, CodeInvalidRequest, "", Response, "without an id"},
		{`{"jsonrpc":"2.0","id":null,"result":{}}`, CodeInvalidRequest, "", Response, "an id must be"},
		{`{"jsonrpc":"2.0","id":1.5,"error":{}}`, CodeInvalidRequest, "", Response, "an id must be"},
		{`{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}`, CodeInvalidRequest, "", Request, "twice"},
		{`{"jsonrpc":"2.0","id":1,"\u0069d":2,"method":"m"}`, CodeInvalidRequest, "", Request, "twice"},
		{`{"jsonrpc":"2.0","id":1,"ID":2,"method":"m"}`, CodeInvalidRequest, "", Request, "but for case"},
		{`{"jsonrpc":"2.0","ID":2,"method":"m"}`, CodeInvalidRequest, "", Notification, "but for case"},
		{`{"jsonrpc":"2.0","id":1,"method":"m","Params":{}}`, CodeInvalidRequest, "1", Request, "but for case"},
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":{"b":[{"c":1,"\u0063":2}]}}}`, CodeInvalidRequest, "1", Request, "twice"},
	}
	for _, tt := range tests {
		err := refused(t, tt.frame)
		if err.Code != tt.code || err.ID.Raw() != tt.id || err.Kind != tt.kind || !strings.Contains(err.Error(), tt.reason) {
			t.Errorf("Parse(%q) = code %d, id %q, %v, %q; want %d, %q, %v, %q",
				tt.frame, err.Code, err.ID.Raw(), err.Kind, err.Error(), tt.code, tt.id, tt.kind, tt.reason)
		}
	}
}

func TestParseDepth(t *testing.T) {
	frame := func(depth int, open, shut string) string {
		return `{"jsonrpc":"2.0","id":1,"result":` + strings.Repeat(open, depth) + "1" + strings.Repeat(shut, depth) + "}"
	}
	for _, tt := range [][2]string{{"[", "]"}, {`{"a":`, "}"}} {
		parsed(t, frame(MaxDepth-1, tt[0], tt[1]))
		err := refused(t, frame(MaxDepth, tt[0], tt[1]))
		if err.Code != CodeInvalidRequest || err.ID.Raw() != "1" || !strings.Contains(err.Error(), "deeper than 500") {
			t.Errorf("one level too many: %+v", err)
		}
	}
	// Many brackets that do not nest, and brackets in strings, are not depth.
	parsed(t, `{"jsonrpc":"2.0","id":1,"result":[`+strings.Repeat("[],", 2000)+`"`+strings.Repeat(`[{\"`, 2000)+`"]}`)
}

func TestParseManyMembers(t *testing.T) {
	object := func(n int) string { return "{" + numbered(n, "%d") + "}" }
	frame := `{"jsonrpc":"2.0","id":1,"result":%}`
	parsed(t, strings.Replace(frame, "%", object(MaxNames), 1))
	err := refused(t, strings.Replace(frame, "%", object(MaxNames+1), 1))
	if err.Code != CodeInvalidRequest || err.ID.Raw() != "1" || !strings.Contains(err.Error(), "262144 members") {
		t.Errorf("one member too many: %+v", err)
	}
	// Many members of many objects are not many of one, nor are colons in strings.
	half := object(MaxNames/2 + 1)
	parsed(t, strings.Replace(frame, "%", "["+half+","+half+`,"`+strings.Repeat(":", MaxNames)+`"]`, 1))
}

func TestB005SeparatorsInStrings(t *testing.T) {
	text := "a\u2028b\u2029c\u0085d"
	frame := `{"jsonrpc":"2.0","id":1,"result":{"t":"` + text + `"}}`
	m := parsed(t, frame)
	if string(m.Raw) != frame || !bytes.Contains(m.Result, []byte(text)) {
		t.Errorf("changed: %q", m.Raw)
	}
	// VT and FF are control characters: legal in a string only when escaped, and never
	// white space.
	parsed(t, `{"jsonrpc":"2.0","id":1,"result":{"t":"\u000b\f"}}`)
	refused(t, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"t\":\"\v\"}}")
	refused(t, "\f{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}")
	refused(t, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\u00a0")
}

func TestB007BadUTF8(t *testing.T) {
	if err := refused(t, "\xff\xfe"); err.Code != CodeParse || !err.ID.IsZero() {
		t.Errorf("%+v", err)
	}
	err := refused(t, "{\"jsonrpc\":\"2.0\",\"id\":\"q-9\",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"\xb0\xa1\"}]}}")
	if err.Code != CodeParse || err.Kind != Response || err.ID.Raw() != `"q-9"` {
		t.Errorf("the pending id is not known: %+v", err)
	}
}

func TestB019NumbersKept(t *testing.T) {
	args := `{"id":9223372036854775807,"n":9007199254740993,"d":1.10,"e":1E400,"z":-0}`
	m := parsed(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":`+args+`}}`)
	got, err := Fields(m.Params, "arguments")
	if err != nil || string(got[0]) != args {
		t.Errorf("arguments = %s, %v", got[0], err)
	}
}

func TestB022AbsentEmptyNull(t *testing.T) {
	for params, want := range map[string]string{
		`{"name":"t"}`:                          "absent",
		`{"name":"t","arguments":{}}`:           "{}",
		`{"name":"t","arguments":null}`:         "null",
		`{"name":"t","arguments":{"b":1}}`:      `{"b":1}`,
		`{"name":"t","arguments":{ "b":null }}`: `{ "b":null }`,
	} {
		frame := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + params + `}`
		m := parsed(t, frame)
		if string(m.Raw) != frame || string(m.Params) != params {
			t.Errorf("bytes changed: %s", m.Raw)
		}
		f, err := Fields(m.Params, "arguments", "name")
		if err != nil {
			t.Fatal(err)
		}
		got := string(f[0])
		if f[0] == nil {
			got = "absent"
		}
		if got != want || string(f[1]) != `"t"` {
			t.Errorf("%s: arguments %s, name %s", params, got, f[1])
		}
	}
}

func TestB026IllegalIDs(t *testing.T) {
	for _, id := range []string{"null", "true", "false", "1.5", "1.0", "1e3", "1E0", "[]", "[1]", "{}", `{"a":1}`, `"` + strings.Repeat("x", MaxID) + `"`} {
		err := refused(t, `{"jsonrpc":"2.0","id":`+id+`,"method":"tools/call","params":{"name":"rm"}}`)
		if err.Code != CodeInvalidRequest || !err.ID.IsZero() || err.Kind != Request {
			t.Errorf("id %.20s: %+v", id, err)
		}
	}
}

func TestB072Batches(t *testing.T) {
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"denied","arguments":{}}}`
	note := `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	for _, frame := range []string{
		"[" + call + "]", "[]", " \t [" + call + "]", "[[" + call + "]]", "[" + note + "," + call + "]", "[", "[1,",
	} {
		err := refused(t, frame)
		if err.Code != CodeInvalidRequest || !err.ID.IsZero() || !strings.Contains(err.Error(), "batch") {
			t.Errorf("%s: %+v", frame, err)
		}
	}
	for _, frame := range []string{"\ufeff[" + call + "]", "\ufeff" + call} {
		if err := refused(t, frame); err.Code != CodeParse || !strings.Contains(err.Error(), "byte order mark") {
			t.Errorf("%s: %+v", frame, err)
		}
	}
}

func TestB073FoldedNames(t *testing.T) {
	envelope := func(members string) string { return `{"jsonrpc":"2.0","id":1,` + members + `}` }
	params := func(members string) string { return envelope(`"method":"tools/call","params":{` + members + `}`) }
	args := func(members string) string { return params(`"name":"a","arguments":{` + members + `}`) }
	for _, frame := range []string{
		params(`"name":"allowed","Name":"denied","arguments":{}`),
		params(`"name":"allowed","name":"denied"`),
		params(`"Name":"denied"`),
		params(`"name":"allowed","Arguments":{"to":"x"}`),
		params(`"name":"allowed","argument\u017f":{"to":"x"}`),
		params(`"name":"allowed","\u004eame":"denied"`),
		params(`"name":"a","zz":1,"ZZ":2`),
		params("\"name\":\"a\",\"to\u212aen\":1,\"token\":2"),
		envelope(`"method":"a","Method":"b"`),
		envelope(`"method":"a","METHOD":"b"`),
		envelope("\"method\":\"a\",\"param\u017f\":{}"),
		envelope(`"method":"a","x":1,"X":2`),
		args(`"to":"a","To":"b"`),
		args("\"subject\":\"a\",\"\u017fubject\":\"b\""),
		args(`"\u212aey":1,"key":2`),
		args("\"\u03c3\":1,\"\u03c2\":2"), // two lower-case sigmas
		args(`"to":"a","t\u006f":"b"`),
		args(numbered(40, "n%d") + `,"N7":1`),
		args(numbered(40, "k%d") + ",\"\u212a3\":1"),
	} {
		if err := refused(t, frame); err.Code != CodeInvalidRequest || err.ID.Raw() != "1" {
			t.Errorf("%s: %+v", frame, err)
		}
	}
	for _, frame := range []string{
		args(`"a":{"to":1,"To":2}`), // deeper than the top level: the engine's matter
		args(numbered(40, "n%d")),
		args(`"Name":1,"Arguments":2,"ID":3`),
		params(`"name":"a","nam":1,"names":2`),
	} {
		parsed(t, frame)
	}
}

// numbered returns n members with distinct names.
func numbered(n int, format string) string {
	members := make([]string, n)
	for i := range members {
		members[i] = fmt.Sprintf(`"`+format+`":1`, i)
	}
	return strings.Join(members, ",")
}

func TestB080AmbiguousShapes(t *testing.T) {
	if m := parsed(t, `{"jsonrpc":"2.0","id":99,"result":{}}`); m.Kind != Response || m.ID.Raw() != "99" {
		t.Errorf("%+v", m)
	}
	for frame, kind := range map[string]Kind{
		`{"jsonrpc":"2.0","id":99,"method":"ping","result":{}}`:           0,
		`{"jsonrpc":"2.0","id":99,"method":"ping","error":{}}`:            0,
		`{"jsonrpc":"2.0","id":99,"result":{},"error":{}}`:                Response,
		`{"jsonrpc":"2.0","id":99,"result":{},"error":null}`:              Response,
		`{"jsonrpc":"2.0","id":99}`:                                       0,
		`{"jsonrpc":"2.0","id":99,"params":{}}`:                           0,
		`{"jsonrpc":"2.0","id":99,"\u006dethod":"x","\u0072esult":{}}`:    0,
		`{"jsonrpc":"2.0","id":99,"method":"ping","Result":{}}`:           Request,
		`{"jsonrpc":"2.0","id":99,"result":{},"Method":"ping"}`:           Response,
		`{"jsonrpc":"2.0","id":99,"result":{},"params":{"name":"x"}}`:     Response,
		`{"jsonrpc":"2.0","id":99,"method":"a","result":{},"error":null}`: 0,
	} {
		err := refused(t, frame)
		if err.Code != CodeInvalidRequest || err.ID.Raw() != "99" || err.Kind != kind {
			t.Errorf("%s: %+v", frame, err)
		}
	}
}

func TestB081HostileText(t *testing.T) {
	name := "na\r\n{\"level\":\"info\"}\x1b[2J\u202e" + strings.Repeat("x", 1<<20)
	quoted := string(appendString(nil, name))
	err := refused(t, `{"jsonrpc":"2.0","id":1,"method":"m","params":{`+quoted+`:1,`+
		string(appendString(nil, strings.ToUpper(name)))+`:2}}`)
	if !strings.Contains(err.Error(), `NA\r\n{"LEVEL":"INFO"}\u{001b}[2J\u{202e}`) {
		t.Errorf("reason %q", err.Error())
	}
	deep := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
	err = refused(t, `{"jsonrpc":"2.0","id":4,"method":"m","params":{"a":`+deep+`}}`)
	if err.Code != CodeInvalidRequest || err.ID.Raw() != "4" {
		t.Errorf("%+v", err)
	}
	refused(t, strings.Repeat(`{"a":`, 100_000))
}

// What a frame calls its members stands apart from the reason: it is somebody else's text.
func TestReasonHoldsNoText(t *testing.T) {
	for _, frame := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{},"Eve@x.example":1,"eve@x.example":2}`,
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{"Eve@x.example":1,"eve@x.example":2}}`,
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{"arguments":{"Eve@x.example":1,"eve@x.example":2}}}`,
	} {
		_, bad := Parse([]byte(frame))
		if bad == nil || strings.Contains(bad.Reason, "x.example") || bad.Name != "'eve@x.example'" || bad.Error() != bad.Reason+": "+bad.Name {
			t.Errorf("%s: %#v", frame, bad)
		}
	}
}

func TestExtraMembersOfTheEnvelope(t *testing.T) {
	for frame, want := range map[string]bool{
		`{"jsonrpc":"2.0","id":1,"result":{}}`:                                   false,
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{"x":1}}`:                 false,
		`{"jsonrpc":"2.0","id":1,"result":{},"x":"eve@x.example"}`:               true,
		`{"x":null,"jsonrpc":"2.0","method":"notifications/message"}`:            true,
		`{"jsonrpc":"2.0","id":1,"result":{"_meta":{"io.sallyport/a":1}},"x":1}`: true,
	} {
		m, bad := Parse([]byte(frame))
		if bad != nil || m.Extra != want || StripReserved(m).Extra != want {
			t.Errorf("%s: %v %v", frame, m.Extra, bad)
		}
	}
}
