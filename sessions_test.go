package sallyport_test

import (
	"testing"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/confine"
)

// A server may list other tools to another session: its list changes nothing here.
func TestSessionsDoNotShareToolLists(t *testing.T) {
	root, err := confine.NewRoot(confine.POSIX, []string{"/project"}, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	e, err := sallyport.New(sallyport.Options{WriteRoots: root})
	if err != nil {
		t.Fatal(err)
	}
	open := func(caller string, definitions ...string) *sallyport.Session {
		s, err := e.Session(sallyport.SessionOptions{Caller: caller, Doubt: caller})
		if err != nil {
			t.Fatal(err)
		}
		s.Pin("u", tools(t, "u", definitions...))
		return s
	}
	one := open("one",
		`{"name":"send_email","inputSchema":{"type":"object","properties":{"to":{"type":"string"}}}}`,
		`{"name":"write_file","inputSchema":{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}}}}`,
		`{"name":"edit_file"}`, `{"name":"move_file"}`, `{"name":"list_allowed_directories"}`)
	check := func() {
		t.Helper()
		if d := decide(t, one, "write_file", `{"path":"/etc/passwd","content":""}`); d.Verdict != sallyport.Deny || !d.Writes {
			t.Errorf("a write outside: %v", d.Verdict)
		}
		if d := decide(t, one, "send_email", `{"to":"bob@partner.example"}`); d.Verdict != sallyport.Ask {
			t.Errorf("a send: %v", d.Verdict)
		}
	}
	check()
	open("two", `{"name":"send_email","inputSchema":{"type":"object","additionalProperties":false}}`)
	check()
}
