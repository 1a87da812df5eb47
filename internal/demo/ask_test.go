package demo

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What is said is the script's word, or that of the person at the terminal where the story
// lets a person answer.
func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		name     string
		step     step
		line     string // of the person; "-": nobody is there
		action   string
		declined bool
	}{
		{"the script's yes", step{tool: "t", answer: answerYes, asks: "may"}, "-", "accept", false},
		{"the script's no", step{tool: "t", answer: answerNo, asks: "may"}, "-", "decline", false},
		{"no person may answer this", step{tool: "t", answer: answerNo, asks: "may"}, "y", "decline", false},
		{"nobody is there", step{tool: "t", answer: answerYes, asks: "may", person: true}, "-", "accept", false},
		{"a person's yes", step{tool: "t", answer: answerYes, asks: "may", person: true}, "y", "accept", false},
		{"a person's word", step{tool: "t", answer: answerYes, asks: "may", person: true}, "Yes", "accept", false},
		{"a person's no", step{tool: "t", answer: answerYes, asks: "may", person: true}, "n", "decline", true},
		{"an empty line", step{tool: "t", answer: answerYes, asks: "may", person: true}, "", "decline", true},
		{"a typing mistake", step{tool: "t", answer: answerYes, asks: "may", person: true}, "yy", "decline", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b strings.Builder
			a := &asking{out: &out{w: &b}}
			if c.line != "-" {
				a.read = func(context.Context) (string, error) { return c.line, nil }
			}
			a.about(c.step)
			res, err := a.elicit(t.Context(), &mcp.ElicitRequest{Params: &mcp.ElicitParams{Message: "may it \x1b[2J run?"}})
			if err != nil || res.Action != c.action || (res.Content["allow"] == true) != (c.action == "accept") {
				t.Errorf("answered %+v, %v; want %s", res, err, c.action)
			}
			said, err := a.said(true)
			if err != nil || (said == answerYes) != (c.action == "accept") || a.saidNo() != c.declined {
				t.Errorf("said %q, %v, declined %v", said, err, a.saidNo())
			}
			if !strings.Contains(b.String(), "asked   t") || strings.Contains(b.String(), "\x1b") {
				t.Errorf("shown: %q", b.String())
			}
		})
	}
}

// A question that the story does not have is answered with no, and fails the demo; so does one
// that is missing.
func TestQuestionsThatAreNotTheStorys(t *testing.T) {
	for _, c := range []struct {
		name    string
		step    step
		guarded bool
		asked   int
	}{
		{"about a call that is not asked about", step{tool: "t"}, true, 1},
		{"about something else", step{tool: "t", answer: answerYes, asks: "other"}, true, 1},
		{"missing", step{tool: "t", answer: answerYes, asks: "may"}, true, 0},
		{"twice", step{tool: "t", answer: answerYes, asks: "may"}, true, 2},
		{"without a gateway", step{tool: "t", answer: answerYes, asks: "may"}, false, 1},
	} {
		a := &asking{out: &out{w: new(strings.Builder)}}
		a.about(c.step)
		for range c.asked {
			res, err := a.elicit(t.Context(), &mcp.ElicitRequest{Params: &mcp.ElicitParams{Message: "may it run?"}})
			if err != nil || c.step.asks != "may" && res.Action != "decline" {
				t.Errorf("%s: %+v, %v", c.name, res, err)
			}
		}
		if said, err := a.said(c.guarded); !errors.Is(err, ErrWorld) {
			t.Errorf("%s: %q, %v; want ErrWorld", c.name, said, err)
		}
	}
}
