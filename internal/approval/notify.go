package approval

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/sallyport-dev/sallyport/internal/quote"
)

// Notifier runs the user's own command for each new question, which it is given as one JSON
// object on standard input. It never decides anything: what the command prints, and how it
// ends, means nothing. Safe for concurrent use.
type Notifier struct {
	command []string
	program string
	warn    func(error)
	free    chan struct{}
	timeout time.Duration
}

// NewNotifier returns nil without a command. program is as in [StoreOptions]. warn is told of a command that failed, from any
// goroutine; nil: nobody is.
func NewNotifier(command []string, program string, warn func(error)) *Notifier {
	if len(command) == 0 {
		return nil
	}
	if warn == nil {
		warn = func(error) {}
	}
	return &Notifier{command: command, program: program, warn: warn, free: make(chan struct{}, 4), timeout: 10 * time.Second}
}

// Notice is what the command is given. Texts are bounded and escaped.
type Notice struct {
	Version   int            `json:"version"` // 1
	ID        string         `json:"id"`
	Code      string         `json:"code"`
	Command   string         `json:"command"` // what the user types to answer
	Caller    string         `json:"caller"`
	Upstream  string         `json:"upstream"`
	Tool      string         `json:"tool"`
	Questions []NoticeDetail `json:"questions"`
	Asked     time.Time      `json:"asked"`
	Expires   time.Time      `json:"expires"`
	Settled   string         `json:"settled,omitempty"` // "trust list": the user's own list lets the call through by now
}

// NoticeDetail is one question of a [Notice].
type NoticeDetail struct {
	Argument    string `json:"argument,omitempty"`
	Destination string `json:"destination,omitempty"`
	Origin      string `json:"origin,omitempty"`
	Text        string `json:"text"`
}

// Notice returns what may be told of an approval outside the terminal that answers. program
// is as in [StoreOptions].
func (a *Approval) Notice(program string) Notice {
	n := Notice{
		Version: 1, ID: a.ID, Code: a.Code, Command: cmp.Or(program, defaultProgram) + " approve " + a.Code, Caller: quote.Text(a.Caller, 120),
		Upstream: quote.Text(a.Upstream, 120), Tool: quote.Text(a.Name(), 120), Asked: a.Asked.UTC(), Expires: a.Expires.UTC(),
		Questions: []NoticeDetail{},
	}
	for _, q := range a.Questions {
		n.Questions = append(n.Questions, NoticeDetail{quote.Text(q.Argument, 120), quote.Text(q.Destination, 400), quote.Text(q.Origin, 40), q.Text})
	}
	return n
}

// Name is the tool as the client knows it. Hostile text.
func (a *Approval) Name() string {
	if a.Shown != "" {
		return a.Shown
	}
	return a.Tool
}

// Notify starts the command and does not wait for it. When four still run, nothing is
// started.
func (n *Notifier) Notify(a Approval) {
	if n == nil {
		return
	}
	select {
	case n.free <- struct{}{}:
	default:
		n.warn(errors.New("the command of approvals.notify still runs for four other questions"))
		return
	}
	go func() {
		defer func() { <-n.free }()
		if err := n.run(a); err != nil {
			n.warn(err)
		}
	}()
}

func (n *Notifier) run(a Approval) error {
	ctx, cancel := context.WithTimeout(context.Background(), n.timeout)
	defer cancel()
	text, err := json.Marshal(a.Notice(n.program))
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, n.command[0], n.command[1:]...)
	cmd.Stdin = bytes.NewReader(append(text, '\n'))
	cmd.WaitDelay = time.Second
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "SALLYPORT_") {
			cmd.Env = append(cmd.Env, e)
		}
	}
	return cmd.Run()
}
