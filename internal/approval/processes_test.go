package approval

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func readAll(r io.Reader) ([]byte, error) { return io.ReadAll(r) }

// child is one process of several: it guesses, or answers, as the parent says.
func child() int {
	s := NewStore(StoreOptions{Dir: os.Getenv("APPROVAL_CHILD"), LockWait: 30 * time.Second})
	ctx := context.Background()
	for range 20 {
		if _, err := s.Answer(ctx, os.Getenv("APPROVAL_ID"), Answer{Yes: true, Channel: ChannelCode}, time.Minute, nil, nil); err == nil {
			fmt.Println("answered")
		}
		if _, err := s.Lookup(ctx, newCode()); err == ErrNoSuchCode { //nolint:errorlint // as it is
			fmt.Println("guessed")
		}
	}
	return 0
}

// Several processes together count one answer, and no more guesses than one process may make.
func TestProcessesShareAnswersAndGuesses(t *testing.T) {
	r := newRig(t)
	r.now = time.Now()
	a := r.ask(r.desk(), r.request("send_email", mail("bob@partner.example")), Asked).Approval()
	self, err := os.Executable()
	must(t, err)
	var all []*exec.Cmd
	var outs []*bytes.Buffer
	for range 4 {
		c := exec.Command(self)
		out := new(bytes.Buffer)
		c.Stdout, c.Stderr = out, os.Stderr
		c.Env = append(os.Environ(), "APPROVAL_CHILD="+r.dir, "APPROVAL_ID="+a.ID)
		must(t, c.Start())
		all, outs = append(all, c), append(outs, out)
	}
	said := ""
	for i, c := range all {
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
		said += outs[i].String()
	}
	if answered, guessed := strings.Count(said, "answered"), strings.Count(said, "guessed"); answered != 1 || guessed != MaxGuesses {
		t.Errorf("%d answers and %d guesses counted", answered, guessed)
	}
}
