package demo

import (
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// story is one demonstration. Nothing in it is code that plays: [Run] does that. dir is
// the directory of one run, in which all of its state is.
type story struct {
	name   string // on the command line
	title  string // one line
	intro  string // who the agent is and what its user wants
	poison string // what the attacker wrote, as the agent reads it
	where  string // where that stands, with a colon
	guard  string // what the configuration says, in a sentence or two

	state  string                       // a file of its state
	lay    func(dir string) error       // puts the first state on disk
	server func(dir string) *mcp.Server // judges nothing
	config func(dir string) string      // the file that guards the second run
	script func(dir string) []step
	rows   []row
	pack   bool // a review pack is made of the second run
}

// stories are all of them, in the order in which they are played.
func stories() []story { return []story{helpdesk(), home(), repository()} }

// Names are the names of the stories.
func Names() []string {
	all := stories()
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = s.name
	}
	return names
}

// step is one call of the script.
type step struct {
	tool string
	args []arg
	wish bool // what the attacker wrote asks for it

	// check is what refuses the call behind the gateway, "" if it runs. says is a part of
	// the refusal: a call that is refused for another reason proves nothing.
	check, says string

	// answer is what is said when the gateway asks about the call, "" if it does not ask. The
	// question says asks. person lets whoever sits at a terminal answer instead.
	answer answer
	asks   string
	person bool
}

// answer is what somebody says to a question.
type answer string

const (
	answerYes answer = "yes"
	answerNo  answer = "no"
)

// saidNo is what the refusal of a call says that somebody said no to.
const saidNo = "the user said no"

// becomes is the check that refuses the call behind the gateway, with what the refusal says,
// after what was said to a question; "" if it runs.
func (s step) becomes(said answer) (check, says string) {
	switch said {
	case answerYes:
		return "", ""
	case answerNo:
		return answeredCheck, saidNo
	}
	return s.check, s.says
}

// askingCheck is what asks in these stories: where a call goes, and what it carries.
const askingCheck = "flow"

// answeredCheck is what refuses a call after a no.
const answeredCheck = "approval"

// verdicts are those that the log has of the call.
func (s step) verdicts(said answer) []logged {
	var all []logged
	if said != "" {
		all = append(all, logged{s.tool, "ask", askingCheck})
	}
	check, _ := s.becomes(said)
	verdict := "allow"
	if check != "" {
		verdict = "deny"
	}
	return append(all, logged{s.tool, verdict, check})
}

// arg is one argument, in the order in which it is shown.
type arg struct{ name, value string }

// arguments is what the call carries.
func (s step) arguments() map[string]any {
	m := make(map[string]any, len(s.args))
	for _, a := range s.args {
		m[a.name] = a.value
	}
	return m
}

// world is what a run left.
type world struct {
	dir   string
	tools []string // what the agent was offered
}

// row is one line of the table: a question to a world, and what has to be the answer.
type row struct {
	what          string
	look          func(world) (string, error)
	without, with string
	declined      string // with, if the person at the terminal said no; "" where that changes nothing
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
