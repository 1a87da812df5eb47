package mcp

import (
	"encoding/json/jsontext"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestB025IDsKeepTheirTypeAndBytes(t *testing.T) {
	raws := []string{`1`, `"1"`, `""`, `"0001"`, `-1`, `9007199254740993`, `9007199254740992`, `"init-1"`, `"req-é"`, `"-1"`, `0`, `"0"`}
	keys := map[string]string{}
	for _, raw := range raws {
		m := parsed(t, `{"jsonrpc":"2.0","id":`+raw+`,"method":"ping"}`)
		if m.ID.Raw() != raw || m.ID.IsZero() {
			t.Errorf("id %s read as %s", raw, m.ID.Raw())
		}
		if other, taken := keys[m.ID.Key()]; taken {
			t.Errorf("%s and %s have one key", raw, other)
		}
		keys[m.ID.Key()] = raw
		for _, out := range [][]byte{
			ErrorResponse(m.ID, CodeInternal, "m", nil),
			ToolRefusal(m.ID, "no", nil, true),
			NewRequest(m.ID, "ping", nil),
		} {
			if got := parsed(t, string(out)); got.ID.Raw() != raw {
				t.Errorf("id %s echoed as %s", raw, got.ID.Raw())
			}
		}
	}
}

func TestIDKeyIgnoresSpelling(t *testing.T) {
	for _, pair := range [][2]string{{`"a"`, `"\u0061"`}, {`"a\/b"`, `"a/b"`}, {`"\""`, `"\u0022"`}, {`0`, `-0`}, {`"\\"`, `"\u005c"`}} {
		a, errA := ParseID([]byte(pair[0]))
		b, errB := ParseID([]byte(pair[1]))
		if errA != nil || errB != nil || a.Key() != b.Key() {
			t.Errorf("%s and %s: keys %q and %q, %v, %v", pair[0], pair[1], a.Key(), b.Key(), errA, errB)
		}
	}
	if (ID{}).Key() != "" || !(ID{}).IsZero() || (ID{}).Raw() != "" {
		t.Error("the zero ID is not none")
	}
}

func TestParseIDRefuses(t *testing.T) {
	for _, raw := range []string{
		``, ` 1`, `1 `, `+1`, `01`, `-`, `-01`, `1.0`, `1e2`, `0x1`, `null`, `true`, `[]`, `{}`,
		`"`, `"a`, `a"`, `"a"b"`, `"\ud800"`, "\"\xff\"", "\"a\nb\"", `"\x"`, `"a\"`,
		strings.Repeat("1", MaxID+1),
	} {
		if id, err := ParseID([]byte(raw)); err == nil || !id.IsZero() {
			t.Errorf("ParseID(%q) accepted it", raw)
		}
	}
	if _, err := ParseID([]byte(strings.Repeat("1", MaxID))); err != nil {
		t.Errorf("an id of %d bytes: %v", MaxID, err)
	}
}

func TestIDConstructors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64().Draw(t, "n")
		s := rapid.StringN(0, 40, 300).Draw(t, "s")
		other := rapid.StringN(0, 40, 300).Draw(t, "other")
		if id, err := ParseID([]byte(IntID(n).Raw())); err != nil || id.Key() != IntID(n).Key() {
			t.Fatalf("IntID(%d) = %q: %v", n, IntID(n).Raw(), err)
		}
		if id, err := ParseID([]byte(StringID(s).Raw())); err != nil || id.Key() != StringID(s).Key() {
			t.Fatalf("StringID(%q) = %q: %v", s, StringID(s).Raw(), err)
		}
		if (s == other) != (StringID(s).Key() == StringID(other).Key()) {
			t.Fatalf("keys of %q and %q", s, other)
		}
		if got, ok := Str([]byte(StringID(s).Raw())); !ok || got != s {
			t.Fatalf("Str(StringID(%q)) = %q", s, got)
		}
		if IntID(n).Key() == StringID(s).Key() {
			t.Fatalf("a number and a string have one key")
		}
	})
}

func TestStr(t *testing.T) {
	for raw, want := range map[string]string{`"a"`: "a", `""`: "", `"\u0041\n"`: "A\n", `"\ud83d\ude00"`: "\U0001F600"} {
		if got, ok := Str([]byte(raw)); !ok || got != want {
			t.Errorf("Str(%s) = %q, %v", raw, got, ok)
		}
	}
	for _, raw := range []string{"", "1", "null", `{"a":"b"}`, `"a`, `"`, "\"\xff\"", `"a" `} {
		if got, ok := Str([]byte(raw)); ok {
			t.Errorf("Str(%s) = %q", raw, got)
		}
	}
	if _, ok := Str(nil); ok {
		t.Error("Str(nil) is a string")
	}
}

func FuzzParseID(f *testing.F) {
	for _, s := range []string{`1`, `"a"`, `-0`, `"\u0061"`, `1e1`, `"\ud800\udc00"`, "\"\x80\""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		id, err := ParseID(raw)
		valid := jsontext.Value(raw).IsValid() && len(raw) <= MaxID && len(trimSpace(raw)) == len(raw)
		if valid {
			kind := jsontext.Value(raw).Kind()
			valid = kind == '"' || kind == '0' && !strings.ContainsAny(string(raw), ".eE")
		}
		if valid != (err == nil) {
			t.Fatalf("ParseID(%q): %v, want valid %v", raw, err, valid)
		}
		if err == nil && id.Raw() != string(raw) {
			t.Fatalf("ParseID(%q).Raw() = %q", raw, id.Raw())
		}
	})
}
