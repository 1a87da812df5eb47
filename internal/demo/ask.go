package demo

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// asking answers the questions that the gateway asks through the client, as a client's own
// window would: by the script, or by whoever sits at the terminal.
type asking struct {
	out  *out
	read func(context.Context) (string, error) // a line of the person; nil: nobody is there

	mu       sync.Mutex
	step     step // the call that is under way
	given    []answer
	wrong    string // a question that the story does not have
	declined bool   // the person said no where the script says yes
}

// about says which call comes next.
func (a *asking) about(st step) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.step, a.given, a.wrong = st, nil, ""
}

// said is what was answered about the call, "" if the gateway is not to ask about it. An error
// is a question that should have been another, or should have been asked.
func (a *asking) said(guarded bool) (answer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	asks := 0
	if guarded && a.step.answer != "" {
		asks = 1
	}
	switch {
	case a.wrong != "":
		return "", fmt.Errorf("%w: the gateway asked: %s", ErrWorld, a.wrong)
	case len(a.given) != asks:
		return "", fmt.Errorf("%w: the gateway asked %d times about %s, want %d", ErrWorld, len(a.given), call(a.step), asks)
	case asks == 0:
		return "", nil
	}
	return a.given[0], nil
}

// saidNo reports that the person said no where the script says yes.
func (a *asking) saidNo() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.declined
}

// elicit is the client's handler: one question of the gateway's.
func (a *asking) elicit(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if question := req.Params.Message; a.step.answer == "" || !strings.Contains(question, a.step.asks) {
		a.wrong = show(question)
		return &mcp.ElicitResult{Action: "decline"}, nil
	}
	a.out.asked(a.step, req.Params.Message)
	said := a.step.answer
	if a.step.person && a.read != nil {
		a.out.raw(strings.Repeat(" ", indent) + "Let it run? y for yes, anything else for no: ")
		line, err := a.read(ctx)
		if err != nil {
			return nil, err
		}
		if said = answerNo; strings.EqualFold(line, "y") || strings.EqualFold(line, "yes") {
			said = answerYes
		}
		a.declined = a.declined || said != a.step.answer
	} else {
		a.out.styled("bold", indent, "The answer is scripted: "+string(said)+".")
	}
	a.given = append(a.given, said)
	if said == answerNo {
		return &mcp.ElicitResult{Action: "decline"}, nil
	}
	return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"allow": true}}, nil
}
