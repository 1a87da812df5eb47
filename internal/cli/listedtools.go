package cli

import (
	"fmt"

	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/internal/quote"
)

// listedTools reads a server's answer to tools/list, the result of it, or the list alone.
func listedTools(file, upstream string) ([]contract.Tool, error) {
	data, err := config.ReadFile(file)
	if err != nil {
		return nil, err
	}
	v, err := doc.Parse(data, doc.Limits{})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", quote.Text(file, 1000), err)
	}
	if r := v.Get("result"); r.Kind() == doc.Object {
		v = r
	}
	if l := v.Get("tools"); l.Kind() == doc.List {
		v = l
	}
	if v.Kind() != doc.List {
		return nil, fmt.Errorf("%s: this is no list of tools: write the answer to tools/list there", quote.Text(file, 1000))
	}
	tools := make([]contract.Tool, 0, v.Len())
	for i, t := range v.Elements() {
		name := t.Get("name")
		if name.Kind() != doc.String || name.String() == "" {
			return nil, fmt.Errorf("%s: the tool at position %d has no name", quote.Text(file, 1000), i)
		}
		tools = append(tools, contract.Tool{Upstream: upstream, Name: name.String(), Definition: t})
	}
	return tools, nil
}
