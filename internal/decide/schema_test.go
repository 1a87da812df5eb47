package decide

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// refuse keeps the library from reading files or the network.
type refuse struct{}

func (refuse) Load(url string) (any, error) { return nil, errors.New("not loaded: " + url) }

// schemas are that of a line of input and that of a line of output.
func schemas(t *testing.T) (in, out *jsonschema.Schema, defs map[string]any) {
	t.Helper()
	data, err := os.ReadFile("../../docs/decide.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	const id = "https://sallyport.dev/schema/decide.json"
	c := jsonschema.NewCompiler()
	c.UseLoader(refuse{})
	if err := c.AddResource(id, v); err != nil {
		t.Fatal(err)
	}
	if in, err = c.Compile(id + "#/$defs/input"); err != nil {
		t.Fatal(err)
	}
	if out, err = c.Compile(id + "#/$defs/output"); err != nil {
		t.Fatal(err)
	}
	return in, out, v.(map[string]any)["$defs"].(map[string]any)
}

func value(t *testing.T, line string) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return v
}

// The schema takes every message that is taken, and refuses what is refused for its form.
func TestSchemaOfInput(t *testing.T) {
	in, _, defs := schemas(t)
	for _, test := range []struct {
		line string
		want string // the error, "" for none
	}{
		{listed, ""},
		{`{"op":"tools","upstream":"u","tools":[]}`, ""},
		{`{"op":"tools","upstream":"u"}`, "tools needs tools"},
		{`{"op":"tools","upstream":"u","tools":{}}`, "tools has to be a list, this is object"},
		{`{"op":"tools","upstream":"u","tools":["read"]}`, "tools[0] has no name: it has to be a definition as tools/list has it"},
		{`{"op":"tools","upstream":"u","tools":[{"name":1}]}`, "tools[0] has no name: it has to be a definition as tools/list has it"},
		{`{"op":"tools","upstream":"","tools":[]}`, "upstream is empty"},
		{opened, ""},
		{`{"op":"session","session":"s"}`, ""},
		{`{"op":"session","session":""}`, "session is empty"},
		{`{"op":"session","session":7}`, "session has to be a string, this is number"},
		{`{"op":"session","session":"` + strings.Repeat("s", 257) + `"}`, "session is longer than 256 bytes"},
		{`{"op":"session","session":"s","caller":null}`, "caller has to be a string, this is null"},
		{`{"op":"session","session":"s","id":1}`, "session has no member id"},
		{`{"op":"prompt","session":"s","text":""}`, ""},
		{`{"op":"prompt","session":"s"}`, "prompt needs text"},
		{read1, ""},
		{`{"op":"call","session":"s","id":1,"upstream":"u","tool":"t"}`, ""},
		{`{"op":"call","session":"s","id":"a","upstream":"u","resource":"note://1","arguments":null}`, ""},
		{`{"op":"call","session":"s","id":-3,"upstream":"u","prompt":"p"}`, ""},
		{`{"op":"call","session":"s","id":1,"upstream":"u"}`, "call needs one of tool, resource and prompt"},
		{`{"op":"call","session":"s","id":1,"upstream":"u","tool":"t","prompt":"p"}`, "call needs one of tool, resource and prompt"},
		{`{"op":"call","session":"s","id":1,"tool":"t"}`, "call needs upstream"},
		{`{"op":"call","session":"s","upstream":"u","tool":"t"}`, "call needs id"},
		{`{"op":"call","session":"s","id":1,"upstream":"u","tool":"t","arguments":[]}`, "arguments has to be an object, this is list"},
		{`{"op":"call","session":"s","id":1.5,"upstream":"u","tool":"t"}`, "an id must be an integer or a string of at most 1024 bytes"},
		{`{"op":"call","session":"s","id":null,"upstream":"u","tool":"t"}`, "an id must be an integer or a string of at most 1024 bytes"},
		{`{"op":"call","session":"s","id":1,"upstream":"u","tool":"t","args":{}}`, "there is no member 'args'"},
		{`{"op":"call","session":"s","id":1,"upstream":"u","tool":"t","result":{}}`, "call has no member result"},
		{shown1, ""},
		{`{"op":"result","session":"s","id":1,"result":"x"}`, "result has to be an object, this is string"},
		{`{"op":"result","session":"s","id":1}`, "result needs result"},
		{yes3, ""},
		{`{"op":"answer","session":"s","id":1,"approve":"true"}`, "approve has to be a boolean, this is string"},
		{`{"op":"answer","session":"s","id":1}`, "answer needs approve"},
		{ended, ""},
		{`{"op":"end"}`, "end needs session"},
		{`{"op":"stop","session":"s"}`, "there is no op 'stop'"},
		{`{"op":"CALL","session":"s"}`, "there is no op 'CALL'"},
		{`{"session":"s"}`, "op is missing"},
		{`{"op":null}`, "op has to be a string, this is null"},
		{`[]`, "a message is an object, this is a list"},
	} {
		_, err := parse([]byte(test.line))
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", test.line, got, test.want)
		}
		if verr := in.Validate(value(t, test.line)); (verr == nil) != (test.want == "") {
			t.Errorf("%s: the schema says %v, the program %q", test.line, verr, got)
		}
	}

	// The members are those that the program knows.
	for op, shape := range shapes {
		var want, got []string
		for name, bit := range memberNames {
			if (shape.need|shape.may|hasOp)&bit != 0 {
				want = append(want, name)
			}
		}
		for name := range defs[op].(map[string]any)["properties"].(map[string]any) {
			got = append(got, name)
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: the schema has %q, the program %q", op, got, want)
		}
	}
}

// Every line that is written is as the schema says, and nothing in the schema is never
// written.
func TestSchemaOfOutput(t *testing.T) {
	_, out, defs := schemas(t)
	lines := run(t, options(t, mailConfig), listed, opened, read1, shown1, toEve, toBob, yes3, "{", shown1,
		strings.Replace(toBob, `"id":3,`, `"id":"p",`, 1),
		strings.NewReplacer("eve@", "mallory@", `"id":2`, `"id":"q"`).Replace(toEve), // only its domain was seen
		strings.Replace(calls(20, "write_file"), "{}", `{"path":"/srv/out/a"}`, 1), calls(21, "search"), calls(22, "search"), calls(23, "search"))
	lines = append(lines, run(t, options(t, strings.Replace(mailConfig, "version: 1", "version: 1\nmode: dry-run", 1)), listed, opened, toBob)...)
	seen := map[string]map[string]bool{"decision": {}, "error": {}, "evidence": {}, "question": {}}
	note := func(def string, v any) {
		for name := range v.(map[string]any) {
			seen[def][name] = true
		}
	}
	for _, line := range lines {
		v := value(t, line)
		if err := out.Validate(v); err != nil {
			t.Errorf("%s\n%v", line, err)
		}
		m := v.(map[string]any)
		if m["error"] != nil {
			note("error", v)
			continue
		}
		note("decision", v)
		for _, e := range m["evidence"].([]any) {
			note("evidence", e)
		}
		if m["questions"] != nil {
			for _, q := range m["questions"].([]any) {
				note("question", q)
			}
		}
	}
	for def, members := range seen {
		known := defs[def].(map[string]any)["properties"].(map[string]any)
		for name := range known {
			if !members[name] {
				t.Errorf("no %s has the member %s", def, name)
			}
		}
		for name := range members {
			if known[name] == nil {
				t.Errorf("the schema of %s has no member %s", def, name)
			}
		}
	}
	for _, line := range []string{`{}`, `{"error":"x"}`, strings.Replace(lines[0], `"allow"`, `"yes"`, 1), strings.Replace(lines[0], `"check":"",`, "", 1)} {
		if out.Validate(value(t, line)) == nil {
			t.Errorf("the schema takes %s", line)
		}
	}
}
