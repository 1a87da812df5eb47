package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/internal/explain"
	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/policy"
)

// asked is what has happened before the call that is asked about.
type asked struct {
	tools  []contract.Tool // what the server lists, if listed
	listed bool
	seen   []sallyport.Output
	typed  []string
}

// explainAsked answers a question in a session of its own.
func explainAsked(ctx context.Context, cfg *config.Config, contracts contract.Options, more sallyport.Options, before asked, q explain.Question) (explain.Report, error) {
	var none explain.Report
	engine, err := newEngine(cfg, q.Policy, contracts, more)
	if err != nil {
		return none, err
	}
	session, err := engine.Session(sallyport.SessionOptions{Caller: q.Caller, Doubt: "explain"})
	if err != nil {
		return none, errors.New("--caller must not be empty")
	}
	early := q.Notes
	q.Notes = nil
	tool, err := prepareSession(session, before, &q)
	if err != nil {
		return none, err
	}
	x := session.Explain(ctx, q.Call)
	if tool != nil && x.Contract == "fallback" {
		q.Notes = append(q.Notes, derivedNotes(*tool)...)
	}
	q.Notes = append(append(q.Notes, early...), explainNotes(cfg, before, q)...)
	return explain.New(x, q), nil
}

func explainNotes(cfg *config.Config, before asked, q explain.Question) []string {
	var notes []string
	if why := unknownUpstream(cfg, q.Call.Upstream); why != "" {
		notes = append(notes, why)
	}
	if dryByFile(cfg, q.Policy) {
		notes = append(notes, "mode: dry-run: nothing is enforced")
	}
	if q.Policy.Mode() == policy.DryRun {
		notes = append(notes, "the policy runs dry: what its rules and rate limits say is not enforced")
	}
	if before.listed && q.Call.Subject != policy.Tool {
		notes = append(notes, "--tools says nothing about resources and prompts")
	}
	return notes
}

// prepareSession tells a new session what has happened before the call. It returns the tool
// that is called, as the list has it; nil if that does not.
func prepareSession(s *sallyport.Session, before asked, q *explain.Question) (*contract.Tool, error) {
	tool := listTools(s, before, q)
	for _, out := range before.seen {
		s.Observe(out)
	}
	for _, text := range before.typed {
		if !utf8.ValidString(text) {
			return nil, errors.New("--typed is not valid UTF-8")
		}
		s.Prompt(text)
	}
	return tool, nil
}

// listTools pins the list of tools, or takes the one tool as listed. It returns the tool
// as the list has it.
func listTools(s *sallyport.Session, before asked, q *explain.Question) *contract.Tool {
	c := q.Call
	tools := []contract.Tool{bareTool(c.Upstream, c.Name)}
	if before.listed {
		tools = before.tools
	}
	if c.Subject != policy.Tool {
		if before.listed {
			s.Pin(c.Upstream, tools)
		}
		return nil
	}
	q.Assumed = !before.listed
	for _, notice := range s.Pin(c.Upstream, tools) {
		if concerns(notice.Text, c.Upstream, c.Name, q.Assumed) {
			q.Notes = append(q.Notes, notice.Text)
		}
	}
	for i, t := range tools {
		if t.Name == c.Name && s.Listing(c.Upstream, tools[i:i+1]) {
			if q.Assumed {
				return nil
			}
			return &tools[i]
		}
	}
	q.Unlisted = true
	return nil
}

// concerns reports whether a notice about a list of tools is about the one tool, by the
// places where a notice names it: names are quoted there, so no name passes for another.
// Of an assumed list with that tool alone, what it does not hold means nothing.
func concerns(notice, upstream, tool string, assumed bool) bool {
	const ofContracts, ofPins = 80, 120 // characters of a name that are shown
	pinned := quote.Value(tool, ofPins)
	if strings.HasPrefix(notice, "tool "+pinned+" of ") {
		return true
	}
	text, ok := strings.CutPrefix(notice, "upstream "+quote.Value(upstream, ofContracts)+": ")
	if ok && strings.HasPrefix(text, "tool "+quote.Value(tool, ofContracts)+": ") {
		return true
	}
	if assumed {
		return false
	}
	for _, label := range []string{tool, upstream + "/" + tool} {
		_, rest, found := strings.Cut(text, " matches no tool: there is no "+quote.Value(label, ofContracts))
		if ok && found && (rest == "" || rest[0] == ';') {
			return true
		}
	}
	return strings.HasSuffix(notice, " names the tool "+pinned+", and "+quote.Value(upstream, ofPins)+" lists none")
}

// derivedNotes say what the contract that was derived from a tool's definition holds.
func derivedNotes(t contract.Tool) []string {
	var notes []string
	if c := contract.Fallback(t); c.Exfiltrating {
		into := "any of its arguments"
		if len(c.SinkParams) > 0 {
			params := make([]string, len(c.SinkParams))
			for i, p := range c.SinkParams {
				params[i] = p.String()
			}
			into = strings.Join(params, ", ")
		}
		notes = append(notes, fmt.Sprintf("by its schema %s sends to what stands in %s", quote.Value(t.Name, 0), into))
	}
	alone, err := contract.NewSet(nil, contract.Options{Packs: contract.PackChoice{None: true}})
	if err != nil {
		return notes
	}
	for _, n := range alone.Bind(t.Upstream, []contract.Tool{t}) {
		if strings.Contains(n.Text, ": nothing confines where these tools write") {
			notes = append(notes, "nothing confines where it writes, if it writes files; give it write_params")
		}
	}
	return notes
}

// bareTool is a tool of which only the name is known.
func bareTool(upstream, name string) contract.Tool {
	definition, err := doc.FromGo(map[string]any{"name": name})
	if err != nil { // not UTF-8: no server can list it, and no client call it
		definition = doc.Value{}
	}
	return contract.Tool{Upstream: upstream, Name: name, Definition: definition}
}
