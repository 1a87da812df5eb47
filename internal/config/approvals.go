package config

import (
	"time"

	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

// Approvals is how a person is asked.
type Approvals struct {
	AskCode      bool          // ask: code: over stdio too, the client itself asks nothing
	BindCall     bool          // bind: call: a yes holds for exactly the call's arguments
	MaxQuestions int           // asked in one session
	TTL          time.Duration // how long a question is open, and then how long a yes counts
	Notify       []string      // command and arguments, run for each question; none: nothing is run
	Reask        bool          // flow.reask: ask again what was denied in the session
}

const (
	leastTTL      = 30 * time.Second
	mostTTL       = time.Hour
	mostQuestions = 1000
)

var approvalsKeys = []string{"ask", "bind", "max_questions", "ttl", "notify"}

func defaultApprovals() Approvals { return Approvals{MaxQuestions: 30, TTL: 5 * time.Minute} }

func (c *Config) readApprovals(n *strictyaml.Node, p *strictyaml.Problems) {
	fields, ok := n.Fields(p, approvalsKeys, nil)
	if !ok {
		return
	}
	a := &c.Approvals
	for name, f := range fields {
		switch name {
		case "ask":
			s, _ := f.OneOf(p, "client", "code")
			a.AskCode = s == "code"
		case "bind":
			s, _ := f.OneOf(p, "destination", "call")
			a.BindCall = s == "call"
		case "max_questions":
			if v, ok := f.Int(p); ok && (v < 1 || v > mostQuestions) {
				p.Add(f, "max_questions is %d; write 1 to %d. To be asked nothing, write deny where the configuration says ask", v, mostQuestions)
			} else if ok {
				a.MaxQuestions = int(v)
			}
		case "ttl":
			a.TTL = readDuration(f, p, leastTTL, mostTTL)
		case "notify":
			items, ok := f.List(p)
			if !ok {
				continue
			}
			if len(items) == 0 {
				p.Add(f, "notify is empty; write the command and its arguments as a list, or leave the key out")
			}
			for i, item := range items {
				s, ok := item.Str(p)
				if ok && s == "" && i == 0 {
					p.Add(item, "the command is empty; write the program's name")
				}
				a.Notify = append(a.Notify, s)
			}
		}
	}
}

// approvalsSection is the schema's.
func approvalsSection() []key {
	return []key{
		{"ask", "over stdio: client, which asks where it can, or code: in a terminal; default client. Over HTTP the token says it", enum("client", "code"), false},
		{"bind", "what a yes holds for: the destination with any other arguments, or exactly this call; default destination", enum("destination", "call"), false},
		{"max_questions", "questions asked in one session; beyond it calls are refused; default 30", integer(1, mostQuestions), false},
		{"ttl", "how long a question is open, and then how long a yes counts; 30s to 1h, default 5m", ref("duration"), false},
		{"notify", "command and arguments to run for each new question, which it gets as JSON on standard input", fragment{
			{"type", "array"}, {"minItems", 1}, {"prefixItems", []any{text()}}, {"items", typed("string")},
		}, false},
	}
}

// ParseDuration reads a duration as the file has it: a number and its unit, such as 30s, 5m
// or 30d.
func ParseDuration(s string) (time.Duration, error) { return parseDuration(s) }
