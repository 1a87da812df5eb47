package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
	"github.com/sallyport-dev/sallyport/policy"
)

// askedCall is the call that the flags ask about.
func askedCall(f explainFlags, changed func(string) bool, cfg *config.Config, stdin io.Reader) (sallyport.Call, error) {
	var c sallyport.Call
	given := 0
	for _, flag := range []struct {
		name, value string
		subject     policy.Subject
	}{{"tool", f.tool, policy.Tool}, {"resource", f.resource, policy.Resource}, {"prompt", f.prompt, policy.Prompt}} {
		if !changed(flag.name) {
			continue
		}
		if flag.value == "" {
			return c, fmt.Errorf("--%s must not be empty", flag.name)
		}
		given++
		c.Subject, c.Name = flag.subject, flag.value
	}
	if changed("call") {
		given++
	}
	if given != 1 {
		return c, errors.New("say which call is meant by one of --tool, --resource, --prompt and --call")
	}
	var err error
	switch {
	case changed("call") && changed("args"):
		return c, errors.New("--call has its own arguments: leave --args out")
	case changed("call"):
		c, err = clientCall(f.call, stdin)
	case changed("args"):
		c.Args, err = askedArgs(f.args, stdin)
	}
	if err != nil {
		return c, err
	}
	if c.Upstream = f.upstream; !changed("upstream") {
		if c.Upstream, err = defaultUpstream(cfg); err != nil {
			return c, fmt.Errorf("%w with --upstream", err)
		}
	} else if c.Upstream == "" {
		return c, errors.New("--upstream must not be empty")
	}
	return c, nil
}

// askedArgs reads --args.
func askedArgs(arg string, stdin io.Reader) (doc.Value, error) {
	data, where := []byte(arg), "--args"
	if file, isFile := strings.CutPrefix(arg, "@"); isFile || arg == "-" {
		if !isFile {
			file = "-"
		}
		var err error
		if data, err = readInput(file, stdin); err != nil {
			return doc.Value{}, err
		}
		where = quote.Text(cmp.Or(file, "@"), 1000)
	}
	v, err := doc.Parse(data, doc.Limits{})
	if err != nil {
		return doc.Value{}, fmt.Errorf("%s: %w; write an object, as in --args '{\"to\":\"ana@example.com\"}'", where, err)
	}
	if v.Kind() != doc.Object {
		return doc.Value{}, fmt.Errorf("%s: arguments are an object, not a %s", where, v.Kind())
	}
	return v, nil
}

// clientCall reads a request as the gateway does.
func clientCall(file string, stdin io.Reader) (c sallyport.Call, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("--call %s: %w", quote.Text(file, 1000), err)
		}
	}()
	data, err := readInput(file, stdin)
	if err != nil {
		return c, err
	}
	m, bad := mcp.Parse(data)
	switch {
	case bad != nil:
		return c, fmt.Errorf("the gateway would refuse this message before any rule: %w", bad)
	case m.Kind != mcp.Request:
		return c, fmt.Errorf("this is a %s, not a request", m.Kind)
	}
	target := "name"
	switch m.Method {
	case "tools/call":
		c.Subject = policy.Tool
	case "prompts/get":
		c.Subject = policy.Prompt
	case "resources/read":
		c.Subject, target = policy.Resource, "uri"
	default:
		return c, fmt.Errorf("the method is %s; tools/call, resources/read and prompts/get can be explained", strictyaml.Quote(m.Method))
	}
	return c, readParams(&c, m.Params, target)
}

// readParams reads what the gateway judges of a request's params.
func readParams(c *sallyport.Call, params []byte, target string) error {
	fields, err := mcp.Fields(params, target, "arguments", "task")
	if err != nil {
		return errors.New("its params cannot be read")
	}
	var ok bool
	if c.Name, ok = mcp.Str(fields[0]); !ok {
		return fmt.Errorf("params.%s has to be a string", target)
	}
	if fields[2] != nil {
		return errors.New("tasks are not relayed by this version")
	}
	if target == "uri" || fields[1] == nil || string(fields[1]) == "null" {
		return nil
	}
	if c.Args, err = doc.Parse(fields[1], doc.Limits{}); err != nil {
		return fmt.Errorf("params.arguments cannot be read: %w", err)
	}
	if c.Args.Kind() != doc.Object {
		return errors.New("params.arguments has to be an object")
	}
	return nil
}
