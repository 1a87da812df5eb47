package cli

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/internal/lint"
	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

// maxListedTools bounds one file, as one server's list is bounded when it is wrapped.
const maxListedTools = 10_000

// readToolLists reads the files of --tools: [NAME=]FILE. A name has to be that of an
// upstream, if any are configured, and only one list may come without.
func readToolLists(args []string, c *config.Config) ([]lint.ToolList, error) {
	return toolListsFrom(args, c, config.ReadFile)
}

// toolListsFrom is [readToolLists] for files that read gives.
func toolListsFrom(args []string, c *config.Config, read func(file string) ([]byte, error)) ([]lint.ToolList, error) {
	var lists []lint.ToolList
	for _, arg := range args {
		name, file := toolListFile(arg)
		switch {
		case name == "" && len(c.Upstreams) == 1:
			name = c.Upstreams[0].Name
		case name == "" && len(c.Upstreams) > 1:
			return nil, fmt.Errorf("--tools %s: say whose tools these are: NAME=FILE, with the name of an upstream", quote.Text(arg, 200))
		}
		if len(c.Upstreams) > 0 && !slices.ContainsFunc(c.Upstreams, func(u *config.Upstream) bool { return u.Name == name }) {
			return nil, fmt.Errorf("--tools %s: there is no upstream %s", quote.Text(arg, 200), strictyaml.Quote(name))
		}
		if slices.ContainsFunc(lists, func(l lint.ToolList) bool { return l.Upstream == name }) {
			return nil, fmt.Errorf("--tools %s: there is already a list for this upstream", quote.Text(arg, 200))
		}
		data, err := read(file)
		if err != nil {
			return nil, err
		}
		tools, err := toolsOf(file, data, name)
		if err != nil {
			return nil, err
		}
		lists = append(lists, lint.ToolList{Upstream: name, Tools: tools})
	}
	return lists, nil
}

// toolListFile takes [NAME=]FILE apart.
func toolListFile(arg string) (name, file string) {
	name, file, named := strings.Cut(arg, "=")
	if !named || strings.ContainsAny(name, `/\`) {
		return "", arg
	}
	return name, file
}

// readTools reads the answer to tools/list, its result, or the list alone.
func readTools(file, upstream string) ([]contract.Tool, error) {
	data, err := config.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return toolsOf(file, data, upstream)
}

func toolsOf(file string, data []byte, upstream string) ([]contract.Tool, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, fmt.Errorf("%s: the file is empty", quote.Text(file, 1000))
	}
	v, err := doc.Parse(data, doc.Limits{})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", quote.Text(file, 1000), err)
	}
	return toolsIn(quote.Text(file, 1000), v, upstream)
}

// toolsIn reads a list of tools from a JSON value. where names it, safe to print.
func toolsIn(where string, v doc.Value, upstream string) ([]contract.Tool, error) {
	if r := v.Get("result"); r.Kind() == doc.Object {
		v = r
	}
	if l := v.Get("tools"); l.Kind() == doc.List {
		v = l
	}
	if v.Kind() != doc.List || v.Len() > maxListedTools {
		return nil, fmt.Errorf("%s: this is no list of tools: write the answer to tools/list there, with at most %d tools", where, maxListedTools)
	}
	tools := make([]contract.Tool, 0, v.Len())
	for i, t := range v.Elements() {
		name := t.Get("name")
		if name.Kind() != doc.String || name.String() == "" {
			return nil, fmt.Errorf("%s: the tool at position %d has no name", where, i)
		}
		tools = append(tools, contract.Tool{Upstream: upstream, Name: name.String(), Definition: t})
	}
	return tools, nil
}
