package mcp

import (
	"bytes"
	"encoding/json/jsontext"
	json "encoding/json/v2"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/quote"
)

// oracle judges a frame with the standard library's strict decoder and plain loops. It
// is slow and shares nothing with Parse.
func oracle(frame []byte) (members map[string]jsontext.Value, ok bool) {
	if depth(frame) > MaxDepth || json.Unmarshal(frame, &members) != nil || members == nil {
		return nil, false
	}
	if string(decoded(members["jsonrpc"])) != "2.0" || folds(members, "jsonrpc", "id", "method", "params", "result", "error") {
		return members, false
	}
	method, call := members["method"]
	_, result := members["result"]
	failure, failed := members["error"]
	id, hasID := members["id"]
	params, hasParams := members["params"]
	if hasParams && !paramsOK(params) {
		return members, false
	}
	switch {
	case call && !result && !failed:
		return members, method.Kind() == '"' && (!hasID || legalID(id))
	case result && !failed && !call:
		return members, !hasParams && legalID(id)
	case failed && !result && !call:
		return members, !hasParams && failure.Kind() == '{' && (!hasID || id.Kind() == 'n' || legalID(id))
	}
	return members, false
}

func paramsOK(raw jsontext.Value) bool {
	var params, args map[string]jsontext.Value
	if raw.Kind() != '{' || json.Unmarshal(raw, &params) != nil {
		return false
	}
	var names []string
	for _, name := range paramNames {
		names = append(names, name)
	}
	if folds(params, names...) {
		return false
	}
	if raw, ok := params["arguments"]; ok && raw.Kind() == '{' {
		return json.Unmarshal(raw, &args) == nil && !folds(args)
	}
	return true
}

// folds reports whether two names are equal but for case, or one is one of known but for
// case.
func folds(members map[string]jsontext.Value, known ...string) bool {
	all := append([]string(nil), known...)
	for name := range members {
		for _, other := range all {
			if name != other && strings.EqualFold(name, other) {
				return true
			}
		}
		all = append(all, name)
	}
	return false
}

func legalID(raw jsontext.Value) bool {
	return len(raw) <= MaxID && (raw.Kind() == '"' || raw.Kind() == '0' && !bytes.ContainsAny(raw, ".eE"))
}

func decoded(raw jsontext.Value) []byte {
	var s string
	if raw.Kind() != '"' || json.Unmarshal(raw, &s) != nil {
		return nil
	}
	return []byte(s)
}

// depth returns the deepest nesting that the tokens of frame reach.
func depth(frame []byte) int {
	deepest := 0
	d := jsontext.NewDecoder(bytes.NewReader(frame), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		if _, err := d.ReadToken(); err != nil {
			return deepest
		}
		deepest = max(deepest, d.StackDepth())
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"a":[1,{"b":null}],"c":"\u00e9\n"},"_meta":{"progressToken":1}}}`,
		`{"jsonrpc":"2.0","id":"\u0061","result":{"content":[{"type":"text","text":"x","_meta":{"io.sallyport/decision":1,"b":2}}]}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}`,
		`{"jsonrpc":"2.0","method":"n","params":{"a":1,"A":2}}`,
		`{"jsonrpc":"2.0","id":1.5,"method":"n","params":null}`,
		`{"jsonrpc":"2.0","id":1,"id":2,"method":"n"}`,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"n\",\"param\u017f\":\"\xff\"}",
		` [{"jsonrpc":"2.0"}]`,
		"\ufeff{}",
		`{"jsonrpc":"2.0","id":-0,"\u006dethod":"\ud83d\ude00","params":{"arguments":{"\u212a":1,"k":2}}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"_meta":{"\u0069o.sallyport\/x":{},"y":[{"_meta":{"io.sallyport/":0}}]}}}`,
	} {
		f.Add([]byte(s), 3)
	}
	f.Fuzz(func(t *testing.T, frame []byte, piece int) {
		before := bytes.Clone(frame)
		members, ok := oracle(frame)
		m, perr := Parse(frame)
		if ok != (perr == nil) {
			t.Fatalf("Parse(%q) = %v; the oracle says %v", frame, perr, ok)
		}
		if !bytes.Equal(frame, before) {
			t.Fatalf("Parse changed the frame")
		}
		skim := skimmed(frame, 1+piece&0xff)
		if perr != nil {
			checkRefusal(t, perr, skim, members)
			return
		}
		checkMessage(t, frame, m, members)
		if m.Kind != skim.Kind() || m.ID != skim.ID() {
			if m.Kind != Response || !m.ID.IsZero() { // "id":null is a doubt for Skim
				t.Fatalf("Skim reads %q, %s of %q", skim.ID().Raw(), skim.Kind(), frame)
			}
		}
		checkStripped(t, m, StripReserved(m))
	})
}

func checkRefusal(t *testing.T, perr *ParseError, skim *Skim, members map[string]jsontext.Value) {
	if perr.Code != CodeParse && perr.Code != CodeInvalidRequest || perr.Error() == "" || len(perr.Error()) > 500 {
		t.Fatalf("refused with %+v", perr)
	}
	if quote.Text(perr.Error(), 0) != perr.Error() {
		t.Fatalf("reason %q", perr.Error())
	}
	if members != nil && !perr.ID.IsZero() && perr.ID.Raw() != string(members["id"]) {
		t.Fatalf("id %q of a frame with id %q", perr.ID.Raw(), members["id"])
	}
	// In pieces Skim must see the same as at once, except of a batch or other frame
	// that is refused before.
	if perr.ID != skim.ID() || perr.Kind != skim.Kind() {
		t.Fatalf("Skim in pieces reads %q, %s; at once %q, %s", skim.ID().Raw(), skim.Kind(), perr.ID.Raw(), perr.Kind)
	}
}

func checkMessage(t *testing.T, frame []byte, m Message, members map[string]jsontext.Value) {
	if !bytes.Equal(m.Raw, bytes.Trim(frame, " \t\r\n")) {
		t.Fatalf("Raw = %q", m.Raw)
	}
	for name, got := range map[string][]byte{"params": m.Params, "result": m.Result, "error": m.Error} {
		if !bytes.Equal(got, members[name]) || (got == nil) != (members[name] == nil) {
			t.Fatalf("%s = %q, want %q", name, got, members[name])
		}
	}
	if m.Method != string(decoded(members["method"])) {
		t.Fatalf("method = %q", m.Method)
	}
	if id := string(members["id"]); m.ID.Raw() != id && id != "null" {
		t.Fatalf("id = %q", m.ID.Raw())
	}
	var params map[string]jsontext.Value
	if m.Params != nil && json.Unmarshal(m.Params, &params) != nil {
		t.Fatal("params")
	}
	got, err := Fields(m.Params, "name", "arguments", "_meta")
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"name", "arguments", "_meta"} {
		if !bytes.Equal(got[i], params[name]) {
			t.Fatalf("%s = %q, want %q", name, got[i], params[name])
		}
	}
}

// checkStripped compares the token streams before and after, with the reserved members
// left out of the first.
func checkStripped(t *testing.T, before, after Message) {
	if _, perr := Parse(after.Raw); perr != nil {
		t.Fatalf("stripping made %q from %q: %v", after.Raw, before.Raw, perr)
	}
	var want, got any
	if json.Unmarshal(before.Raw, &want) != nil || json.Unmarshal(after.Raw, &got) != nil {
		return // a number out of range
	}
	if w, g := canonical(without(want)), canonical(got); w != g {
		t.Fatalf("stripping %q left %q", before.Raw, after.Raw)
	}
}

func canonical(v any) string {
	b, _ := json.Marshal(v, json.Deterministic(true))
	return string(b)
}

// without removes reserved members from a decoded value.
func without(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = without(v[i])
		}
	case map[string]any:
		for name, value := range v {
			if meta, ok := value.(map[string]any); ok && strings.EqualFold(name, "_meta") {
				for key := range meta {
					if strings.HasPrefix(key, ReservedPrefix) {
						delete(meta, key)
					}
				}
			}
			v[name] = without(value)
		}
	}
	return v
}
