package bridge

import (
	"crypto/rand"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// ForClient adapts what a server sent, a request or a result, to the version in which its
// handshake client is spoken to. serverVersion is the one in force with the server. m
// itself is returned when nothing has to change.
//
// An error is a *Refusal: this cannot be said in the client's version, and the server is
// to be answered with it. Whether the client declared the capability, and whether it has sent
// notifications/initialized, the caller knows.
func ForClient(m mcp.Message, serverVersion, clientVersion string) (mcp.Message, error) {
	modern := serverVersion >= mcp.V20260728
	if clientVersion >= mcp.V20260728 {
		return m, nil
	}
	switch {
	case m.Kind == mcp.Request && m.Method == "elicitation/create":
		return elicitationFor(m, modern, clientVersion)
	case m.Kind == mcp.Request && m.Method == "sampling/createMessage":
		return samplingFor(m, clientVersion)
	case m.Kind == mcp.Response && m.Result != nil && modern:
		return resultFor(m)
	}
	return m, nil
}

func elicitationFor(m mcp.Message, modern bool, version string) (mcp.Message, error) {
	f, err := mcp.Fields(m.Params, "mode", "elicitationId", "requestedSchema", "task")
	if err != nil {
		return m, refuse(mcp.CodeInvalidParams, "the question cannot be read")
	}
	mode := text(f[0])
	switch {
	case version < mcp.V20250618:
		return m, refuse(mcp.CodeMethodNotFound, "the client's protocol version has no elicitation/create")
	case f[0] != nil && mode != "form" && mode != "url":
		return m, refuse(mcp.CodeInvalidParams, "a mode of elicitation that no version of the protocol has")
	case version >= mcp.V20251125 && modern && mode == "url" && f[1] == nil:
		// 2025-11-25 wants an id to tell of the end by; 2026-07-28 has none.
		return rewritten(m, mcp.Edit{Path: []string{"params", "elicitationId"}, Value: quoted(rand.Text())})
	case version >= mcp.V20251125:
		return m, nil
	case mode == "url":
		return m, refuse(mcp.CodeInvalidParams, "the client's protocol version has no elicitation by URL")
	}
	edits := []mcp.Edit{{Path: []string{"params", "mode"}}, {Path: []string{"params", "task"}}}
	fields, err := members(at(f[2], "properties"), maxFields)
	if err == errMembers {
		return m, refuse(mcp.CodeInvalidParams, "the form has too many fields")
	}
	for _, p := range fields { // a schema without fields is the client's to judge
		changed, err := fieldFor(p.value)
		if err != nil {
			return m, err
		}
		for _, e := range changed {
			e.Path = append([]string{"params", "requestedSchema", "properties", p.name}, e.Path...)
			edits = append(edits, e)
		}
	}
	return rewritten(m, edits...)
}

// maxFields is how many fields a form may have that has to be adapted.
const maxFields = 256

// fieldFor adapts one field of a form to 2025-06-18: a choice with titles has its values in
// enum and its titles in enumNames there, and there is one choice only.
func fieldFor(schema []byte) ([]mcp.Edit, error) {
	if text(at(schema, "type")) == "array" {
		return nil, refuse(mcp.CodeInvalidParams, "the client's protocol version has no choice of several values in a form")
	}
	choices := at(schema, "oneOf")
	if choices == nil {
		return nil, nil
	}
	all, ok := elements(choices)
	if !ok {
		return nil, refuse(mcp.CodeInvalidParams, "the form has a field that cannot be adapted to the client's protocol version")
	}
	var values, titles [][]byte
	for _, c := range all {
		value, title := at(c, "const"), at(c, "title")
		if _, ok := mcp.Str(value); !ok {
			return nil, refuse(mcp.CodeInvalidParams, "the form has a field that cannot be adapted to the client's protocol version")
		}
		if _, ok := mcp.Str(title); !ok {
			title = value
		}
		values, titles = append(values, value), append(titles, title)
	}
	return []mcp.Edit{
		{Path: []string{"oneOf"}},
		{Path: []string{"enum"}, Value: list(values...)},
		{Path: []string{"enumNames"}, Value: list(titles...)},
	}, nil
}

// samplingFor adapts a request for sampling to a version before 2025-11-25: one block of
// content in each message, and no tools.
func samplingFor(m mcp.Message, version string) (mcp.Message, error) {
	if version >= mcp.V20251125 {
		return m, nil
	}
	f, err := mcp.Fields(m.Params, "tools", "toolChoice", "messages")
	if err != nil {
		return m, refuse(mcp.CodeInvalidParams, "the request for sampling cannot be read")
	}
	if f[0] != nil || f[1] != nil {
		return m, refuse(mcp.CodeInvalidParams, "the client's protocol version has no sampling with tools")
	}
	all, ok := elements(f[2])
	if !ok {
		return m, nil
	}
	changed := false
	for i, message := range all {
		content := at(message, "content")
		if blocks, several := elements(content); several {
			if len(blocks) != 1 {
				return m, refuse(mcp.CodeInvalidParams, "the client's protocol version has one block of content in a message for sampling")
			}
			content = blocks[0]
			if all[i], err = mcp.RewriteObject(message, mcp.Edit{Path: []string{"content"}, Value: content}); err != nil {
				return m, refuse(mcp.CodeInvalidParams, "the request for sampling cannot be read")
			}
			changed = true
		}
		switch kind := text(at(content, "type")); {
		case kind == "tool_use" || kind == "tool_result":
			return m, refuse(mcp.CodeInvalidParams, "the client's protocol version has no sampling with tools")
		case kind == "audio" && version < mcp.V20250326:
			return m, refuse(mcp.CodeInvalidParams, "the client's protocol version has no audio")
		}
	}
	if !changed {
		return m, nil
	}
	return rewritten(m, mcp.Edit{Path: []string{"params", "messages"}, Value: list(all...)})
}

// resultFor adapts a result of 2026-07-28 to a version with a handshake. There
// structuredContent is an object, and so is what an outputSchema describes: a client that
// reads strictly takes neither the result nor the whole list otherwise. Blocks of content
// that a version does not know are left as they are.
func resultFor(m mcp.Message) (mcp.Message, error) {
	f, err := mcp.Fields(m.Result, "structuredContent", "content", "tools")
	if err != nil {
		return m, refuse(mcp.CodeInternal, "the server's result cannot be read")
	}
	if f[0] != nil && !isObject(f[0]) {
		edits := []mcp.Edit{{Path: []string{"result", "structuredContent"}}}
		if blocks, ok := elements(f[1]); !ok || len(blocks) == 0 {
			edits = append(edits, mcp.Edit{
				Path:  []string{"result", "content"},
				Value: list(object(pair{"type", []byte(`"text"`)}, pair{"text", quoted(string(f[0]))})),
			})
		}
		return rewritten(m, edits...)
	}
	if f[2] == nil {
		return m, nil
	}
	out, err := mcp.EditList(m, "tools", func(tool []byte) ([]mcp.Edit, bool) {
		schema := at(tool, "outputSchema")
		if schema == nil || text(at(schema, "type")) == "object" {
			return nil, false
		}
		return []mcp.Edit{{Path: []string{"outputSchema"}}}, false
	})
	if err != nil {
		return m, refuse(mcp.CodeInternal, "the server's result cannot be read")
	}
	return out, nil
}

// rewritten is m with the edits; a Refusal if an edit meets something that is no object.
func rewritten(m mcp.Message, edits ...mcp.Edit) (mcp.Message, error) {
	out, err := mcp.Rewrite(m, edits...)
	if err != nil {
		code := mcp.CodeInvalidParams
		if m.Kind == mcp.Response {
			code = mcp.CodeInternal
		}
		return m, refuse(code, "the message cannot be adapted to the other side's protocol version")
	}
	return out, nil
}
