package gateway

import (
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/internal/streamhttp"
)

const codeHeaderMismatch = streamhttp.CodeHeaderMismatch

// maxSchemaDepth bounds how deep a schema's properties are looked at for x-mcp-header.
const maxSchemaDepth = 32

// checkHeaders compares Mcp-Param-… with the arguments, as the schema of the tool says
// (2026-07-28, transports, Streamable HTTP, "Server Behavior for Custom Headers"). A tool
// that is not listed has none: it is refused later. Only the tool's own server is asked for
// its list: what is wrong with another is no affair of this call.
func (c *call) checkHeaders(p *place, tool string) (why string) {
	var definition []byte
	for _, e := range c.s.elements(c.ctx, tools, p) {
		if f, err := mcp.Fields(e, "name"); err == nil {
			if name, ok := mcp.Str(f[0]); ok && name == tool {
				definition = e
				break
			}
		}
	}
	if definition == nil {
		return ""
	}
	f, err := mcp.Fields(definition, "inputSchema")
	if err != nil || f[0] == nil {
		return ""
	}
	args, err := mcp.Fields(c.m.Params, "arguments")
	if err != nil {
		return ""
	}
	return c.checkProperties(parsed(f[0]), args[0], 0)
}

// checkProperties looks at one object of the schema and the arguments that it describes.
func (c *call) checkProperties(schema doc.Value, object []byte, depth int) (why string) {
	if depth > maxSchemaDepth {
		return ""
	}
	for p := range schema.Get("properties").Members() {
		var value []byte
		if f, err := mcp.Fields(object, p.Name); err == nil {
			value = f[0]
		}
		if header := p.Value.Get("x-mcp-header").String(); header != "" {
			if why := c.checkHeader(header, value); why != "" {
				return why
			}
		}
		if p.Value.Get("properties").Kind() == doc.Object {
			nested := value
			if len(nested) == 0 || nested[0] != '{' {
				nested = nil
			}
			if why := c.checkProperties(p.Value, nested, depth+1); why != "" {
				return why
			}
		}
	}
	return ""
}

func (c *call) checkHeader(name string, value []byte) (why string) {
	shown := quote.Value("Mcp-Param-"+name, 100)
	got, present, ok := c.headers(name)
	given := len(value) > 0 && string(value) != "null"
	switch {
	case !ok:
		return "the header " + shown + " stands there more than once"
	case given && !present:
		return "the header " + shown + " is missing, and the arguments have its value"
	case present && !given:
		return "the header " + shown + " has a value that the arguments have not"
	case present && !streamhttp.ParamMatches(got, value):
		return "the header " + shown + " differs from the arguments"
	}
	return ""
}
