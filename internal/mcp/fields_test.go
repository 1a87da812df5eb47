package mcp

import (
	"strings"
	"testing"
)

func TestFields(t *testing.T) {
	got, err := Fields([]byte(` { "a" : [1,"]"] , "\u0062":"}\"" ,"c":{"a":2},"d":null,"e":-1e5 } `), "e", "a", "b", "c", "d", "z")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`-1e5`, `[1,"]"]`, `"}\""`, `{"a":2}`, `null`, ``}
	for i := range want {
		if string(got[i]) != want[i] {
			t.Errorf("field %d = %q, want %q", i, got[i], want[i])
		}
	}
	if got[5] != nil {
		t.Error("an absent member is not nil")
	}
	if got, err := Fields(nil, "a"); err != nil || len(got) != 1 || got[0] != nil {
		t.Errorf("no object: %v, %v", got, err)
	}
	if got, err := Fields([]byte("{}"), "a"); err != nil || got[0] != nil {
		t.Errorf("an empty object: %v, %v", got, err)
	}
}

func TestFieldsCannotReachTheNextMember(t *testing.T) {
	object := []byte(`{"a":1,"b":2}`)
	got, err := Fields(object, "a")
	if err != nil {
		t.Fatal(err)
	}
	_ = append(got[0], "999"...)
	if string(object) != `{"a":1,"b":2}` {
		t.Errorf("appending to a field changed the frame: %s", object)
	}
}

func TestFieldsRefuses(t *testing.T) {
	for _, object := range []string{
		``, ` `, `1`, `null`, `[]`, `"a"`, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{"a":1}x`, `{"a":1}{}`,
		`{"a":1 "b":2}`, `{"a" 1}`, `{"a":}`, `{"a":"x}`, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{a:1}`,
	} {
		if got, err := Fields([]byte(object), "a"); err == nil {
			t.Errorf("Fields(%q) = %q", object, got)
		} else if strings.ContainsAny(err.Error(), "{}\"") {
			t.Errorf("the error quotes the object: %v", err)
		}
	}
}

func FuzzFields(f *testing.F) {
	for _, s := range []string{`{"a":1}`, `{"a":"\\"}`, `{"a":{"b":[`, `{"a"`, `{"a":"\`, `{ "\u0061":2 , "b":[] }`} {
		f.Add([]byte(s), "a")
	}
	f.Fuzz(func(t *testing.T, object []byte, name string) {
		got, err := Fields(object, name, "b")
		if err == nil && len(got) != 2 {
			t.Fatalf("%d fields", len(got))
		}
		member(object, name)
		oversized(object)
		StripReserved(Message{Raw: object})
	})
}
