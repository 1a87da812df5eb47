package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/internal/explain"
	"github.com/sallyport-dev/sallyport/internal/ownserver"
	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/policy"
)

// explain answers what would become of a call.
func (a *adviser) explain(ctx context.Context, args ownserver.Args) (string, error) {
	l, err := a.load(args)
	if err != nil {
		return problems(err, "nothing is loaded")
	}
	q := explain.Question{Caller: localCaller, Limits: describeLimits(l.cfg)}
	if args.Has("caller") {
		q.Caller = args.Text("caller")
	}
	if q.Call, err = calledIn(args, l.cfg); err != nil {
		return "", err
	}
	if q.Policy, err = policyFor(l.cfg, args.Text("policy"), q.Caller); err != nil {
		return "", err
	}
	before, err := a.before(args, l, q.Call.Upstream)
	if err != nil {
		return "", err
	}
	if l.cfg.Audit.Path != "" {
		l.opt.Contracts.Deny = append(l.opt.Contracts.Deny, l.cfg.Audit.Path)
	}
	if l.file == "" {
		q.Notes = append(q.Notes, "there is no configuration: this is the built-in policy")
	}
	// No links are resolved: an answer would say which files there are.
	report, err := explainAsked(ctx, l.cfg, l.opt.Contracts, sallyport.Options{}, before, q)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if err := report.WriteText(&b); err != nil {
		return "", err
	}
	return audit.RedactText(b.String()), nil
}

// calledIn is the call that is asked about.
func calledIn(args ownserver.Args, cfg *config.Config) (sallyport.Call, error) {
	var c sallyport.Call
	given := 0
	for _, target := range []struct {
		name    string
		subject policy.Subject
	}{{"tool", policy.Tool}, {"resource", policy.Resource}, {"prompt", policy.Prompt}} {
		if name := args.Text(target.name); name != "" {
			given++
			c.Subject, c.Name = target.subject, name
		}
	}
	if given != 1 {
		return c, errors.New("say which call is meant by one of tool, resource and prompt")
	}
	c.Args = args.Value("arguments")
	var err error
	c.Upstream, err = askedUpstream(args, cfg)
	return c, err
}

// before is what a question says has happened before its call.
func (a *adviser) before(args ownserver.Args, l loaded, upstream string) (asked, error) {
	var b asked
	lists, err := a.toolLists(args, l.cfg)
	if err != nil {
		return b, err
	}
	for _, list := range lists {
		if list.Upstream == upstream || list.Upstream == "" && len(lists) == 1 {
			b.listed = true
			for _, t := range list.Tools {
				t.Upstream = upstream
				b.tools = append(b.tools, t)
			}
		}
	}
	for i, v := range args.Value("seen").Elements() {
		out, err := seenIn(v, upstream)
		if err != nil {
			return b, fmt.Errorf("seen[%d]: %w", i, err)
		}
		b.seen = append(b.seen, out)
	}
	for i, v := range args.Value("typed").Elements() {
		if v.Kind() != doc.String {
			return b, fmt.Errorf("typed[%d] is a %s, not a string", i, v.Kind())
		}
		b.typed = append(b.typed, v.String())
	}
	return b, nil
}

// seenIn reads one output that the agent has read: {"tool": NAME, "text": TEXT} or with json.
func seenIn(v doc.Value, upstream string) (sallyport.Output, error) {
	out := sallyport.Output{Upstream: upstream}
	if v.Kind() != doc.Object {
		return out, fmt.Errorf("this is a %s; write {\"tool\": NAME, \"text\": TEXT}", v.Kind())
	}
	for m := range v.Members() {
		switch {
		case m.Name == "tool" && m.Value.Kind() == doc.String:
			out.Tool = m.Value.String()
		case m.Name == "text" && m.Value.Kind() == doc.String, m.Name == "json":
			if out.Value.Kind() != doc.Absent {
				return out, errors.New("give text or json, not both")
			}
			out.Value = m.Value
		default:
			return out, fmt.Errorf("%s does not belong here, or is a %s; write {\"tool\": NAME, \"text\": TEXT}", quote.Value(m.Name, 80), m.Value.Kind())
		}
	}
	if out.Tool == "" || out.Value.Kind() == doc.Absent {
		return out, errors.New("write {\"tool\": NAME, \"text\": TEXT} or {\"tool\": NAME, \"json\": VALUE}")
	}
	return out, nil
}
