package policytest

import (
	"time"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
	"github.com/sallyport-dev/sallyport/policy"
)

// Suite is one file of tests. Read only once loaded.
type Suite struct {
	File  string // as given
	Tests []*Test
}

// Test is one sequence of steps in a session of its own.
type Test struct {
	Name   string
	Policy *policy.Policy
	Caller string
	Line   int // in the file

	lists []list // tool lists of the whole file, told first
	steps []step
}

// step is one thing that happens; exactly one of the pointers is set, or wait.
type step struct {
	at     *strictyaml.Node
	list   *list
	output *sallyport.Output
	prompt *string
	call   *callStep
	shown  *shownStep
	wait   time.Duration
}

// list is what an upstream lists.
type list struct {
	upstream string
	tools    []contract.Tool
	partly   bool // a part could not be read; then there is no suite
}

// shownStep says which tools a client sees in a list, and which it does not.
type shownStep struct {
	upstream string
	names    []shownName
}

type shownName struct {
	at     *strictyaml.Node
	tool   string
	hidden bool // it must not be seen
}

type callStep struct {
	named  *strictyaml.Node // where the tool's name stands; nil after a problem
	call   sallyport.Call
	want   expectation
	answer *bool // nil: nobody answers
	then   expectation
	result *sallyport.Value // of the call, if it runs
}

// expectation is what a decision has to be. An empty text is not compared.
type expectation struct {
	at      *strictyaml.Node
	verdict sallyport.Verdict
	rule    string
	check   sallyport.Check
	reason  string // a part of it
}

// defaultRule stands for the policy's default where a rule is expected.
const defaultRule = "default"
