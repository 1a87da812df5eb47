package approval

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestMain is also the command that is notified: it keeps what it is given.
func TestMain(m *testing.M) {
	if file := os.Getenv("NOTIFY_TO"); file != "" {
		b, err := readAll(os.Stdin)
		if err == nil {
			err = os.WriteFile(file+".part", b, 0o600)
		}
		if err == nil {
			err = os.Rename(file+".part", file)
		}
		if err != nil || os.Getenv("SALLYPORT_AUDIT_KEY") != "" {
			os.Exit(9)
		}
		os.Exit(0)
	}
	if os.Getenv("APPROVAL_CHILD") != "" {
		os.Exit(child())
	}
	os.Exit(m.Run())
}

func TestNotifyGetsTheQuestion(t *testing.T) {
	r := newRig(t)
	told := filepath.Join(t.TempDir(), "told.json")
	t.Setenv("NOTIFY_TO", told)
	t.Setenv("SALLYPORT_AUDIT_KEY", "secret")
	self, err := os.Executable()
	must(t, err)
	n := NewNotifier([]string{self, "-an", "argument"}, "", func(err error) { t.Error(err) })
	done := make(chan error, 1)
	d := r.desk(func(o *DeskOptions) { o.Notify = func(a Approval) { done <- n.run(a) } })
	a := r.ask(d, r.request("send_email", mail("bob@partner.example")), Asked).Approval()
	r.ask(d, r.request("send_email", mail("bob@partner.example")), Asked) // is open: nobody is told twice
	must(t, <-done)
	if len(done) != 0 {
		t.Error("one question, two notices")
	}
	b, err := os.ReadFile(told)
	must(t, err)
	var got Notice
	must(t, json.Unmarshal(b, &got))
	want := Notice{
		Version: 1, ID: a.ID, Code: a.Code, Command: "sallyport approve " + a.Code, Caller: "local", Upstream: "mail", Tool: "send_email",
		Questions: []NoticeDetail{{"to[0]", "bob@partner.example", "unknown", "destination to[0]='bob@partner.example' is not a vouched recipient"}},
		Asked:     start, Expires: start.Add(DefaultTTL),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestNotifyFailsOrHangs(t *testing.T) {
	if NewNotifier(nil, "", nil) != nil {
		t.Error("a notifier without a command")
	}
	(*Notifier)(nil).Notify(Approval{})
	if err := NewNotifier([]string{filepath.Join(t.TempDir(), "none")}, "", nil).run(Approval{}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	n := NewNotifier([]string{"sleep", "600"}, "", nil)
	n.timeout = 20 * time.Millisecond
	if err := n.run(Approval{}); err == nil {
		t.Error("a command that hangs is waited for")
	}
	warned := make(chan error, 1)
	n.warn = func(err error) { warned <- err }
	for range cap(n.free) {
		n.free <- struct{}{}
	}
	n.Notify(Approval{})
	if err := <-warned; err == nil {
		t.Error("nothing was said")
	}
}
