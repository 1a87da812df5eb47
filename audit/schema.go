package audit

import (
	"encoding/json/jsontext"
	"fmt"
	"strings"
)

// member is one member of a record, or of an object in it.
type member struct {
	name    string
	kind    jsontext.Kind // " for text, 0 for numbers, { and [; 0: any
	limits  string        // more of its schema
	doc     string
	members []member // of an object, or of the objects in a list
	must    bool     // it is always there
}

const (
	hexForm    = `"pattern": "^[0-9a-f]{64}$"`
	digestForm = `"pattern": "^hmac-sha256:[0-9a-f]{64}$"`
	timeForm   = `"pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z$"`
	whole      = `"type": "integer", "minimum": 0`
	counting   = `"type": "integer", "minimum": 1`
)

// members are those of a record, in order.
var members = []member{
	{name: "seq", kind: '0', limits: counting, doc: "number of the record in its log, from 1, without gaps", must: true},
	{name: "time", kind: '"', limits: timeForm, doc: "RFC 3339, UTC, milliseconds", must: true},
	{name: "event", kind: '"', doc: "an MCP method that was judged, or unknown, frame, session, pin, config, approval, trust, repair, restart, rotation", must: true},
	{name: "phase", kind: '"', doc: "verdict: written before the call is forwarded; outcome: when it has ended; of an approval asked, answered, used, expired, revoked"},
	{name: "ref", kind: '0', limits: counting, doc: "in an outcome: seq of its verdict"},
	{name: "session", kind: '"', doc: "the session"},
	{name: "caller", kind: '"', doc: "who made the call"},
	{name: "policy", kind: '"', doc: "name of the caller's policy"},
	{name: "policy_digest", kind: '"', doc: "digest of that policy as it was loaded"},
	{name: "upstream", kind: '"', doc: "the server"},
	{name: "target", kind: '"', doc: "the tool, prompt or resource URI"},
	{name: "call", kind: '0', limits: counting, doc: "number of the call in its session"},
	{name: "request", kind: '"', doc: "the JSON-RPC id as its JSON text"},
	{name: "trace", kind: '"', doc: "the trace that the request belongs to (W3C Trace Context)"},
	{name: "approval", kind: '"', doc: "the approval that was asked for, given or used"},
	{name: "arguments", doc: "the call's arguments after redaction"},
	{name: "arguments_left_out", kind: '0', limits: counting, doc: "values left out of arguments because they were too many"},
	{name: "arguments_digest", kind: '"', limits: digestForm, doc: "keyed digest of the whole arguments as compact JSON"},
	{name: "verdict", kind: '"', doc: "allow, ask, deny"},
	{name: "check", kind: '"', doc: "the check that decided"},
	{name: "rule", kind: '"', doc: "the rule that decided"},
	{name: "reason", kind: '"', doc: "why, for a person"},
	{name: "evidence", kind: '[', doc: "where the call's destinations were first seen", members: []member{
		{name: "argument", kind: '"', doc: "where the destination stands in the arguments"},
		{name: "destination", kind: '"', doc: "the destination, or a marker in its place"},
		{name: "destination_digest", kind: '"', limits: digestForm, doc: "keyed digest of the whole destination"},
		{name: "origin", kind: '"', doc: "where it is known from"},
		{name: "upstream", kind: '"', doc: "the server in whose output it was first seen"},
		{name: "tool", kind: '"', doc: "the tool in whose output it was first seen"},
		{name: "call", kind: '0', limits: counting, doc: "that output's call"},
		{name: "time", kind: '"', limits: timeForm, doc: "when it was first seen"},
		{name: "place", kind: '"', doc: "its position in that output"},
	}},
	{name: "evidence_left_out", kind: '0', limits: counting, doc: "evidence left out because it was too much"},
	{name: "outcome", kind: '"', doc: "allowed, denied, asked, rate_limited, error, cancelled, dry-run-allowed"},
	{name: "mode", kind: '"', doc: "enforce, dry-run"},
	{name: "duration_ms", kind: '0', limits: `"minimum": 0`, doc: "milliseconds, with microseconds as decimals"},
	{name: "result_bytes", kind: '0', limits: counting, doc: "size of the result"},
	{name: "result_digest", kind: '"', doc: "keyed digest of the result"},
	{name: "detail", kind: '"', doc: "what happened, for events that are no call"},
	{name: "sealed", kind: '{', doc: "in a repair: what stands, unusable, before it", members: []member{
		{name: "bytes", kind: '0', limits: whole, doc: "how many bytes", must: true},
		{name: "sha256", kind: '"', limits: hexForm, doc: "their SHA-256", must: true},
	}},
	{name: "before", kind: '{', doc: "in a restart or a rotation: the last record before it", members: []member{
		{name: "seq", kind: '0', limits: counting, doc: "its number", must: true},
		{name: "hash", kind: '"', limits: hexForm, doc: "its hash, if it has one"},
		{name: "file", kind: '"', doc: "in a rotation: the file in which it stands"},
		{name: "kept_from", kind: '0', limits: counting, doc: "in a rotation: the first record that is kept; those before may be removed"},
	}},
	{name: "prev", kind: '"', limits: hexForm, doc: "hash of the record before, 64 zeros if there is none"},
	{name: "hash", kind: '"', limits: hexForm, doc: "hash of this record"},
}

// kinds are the JSON kinds of the members of a record that have one.
var kinds = func() map[string]jsontext.Kind {
	all := map[string]jsontext.Kind{}
	for _, m := range members {
		if m.kind != 0 {
			all[m.name] = m.kind
		}
	}
	return all
}()

// Schema is the JSON Schema (2020-12) of one line of a log, indented, with a line end.
func Schema() []byte {
	var b strings.Builder
	b.WriteString("{\n" + `  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "One line of Sallyport's audit log",
  "description": "audit-format.md explains each member. Members that are not named here may be added by later versions.",
  "type": "object",
`)
	writeMembers(&b, "  ", members)
	b.WriteString("}\n")
	return []byte(b.String())
}

func writeMembers(b *strings.Builder, indent string, all []member) {
	var must []string
	for _, m := range all {
		if m.must {
			must = append(must, `"`+m.name+`"`)
		}
	}
	if len(must) > 0 {
		fmt.Fprintf(b, "%s\"required\": [%s],\n", indent, strings.Join(must, ", "))
	}
	fmt.Fprintf(b, "%s\"properties\": {\n", indent)
	for i, m := range all {
		fmt.Fprintf(b, "%s  %q: {\"description\": %q", indent, m.name, m.doc)
		names := map[jsontext.Kind]string{'"': "string", '0': "number", '[': "array", '{': "object"}
		if t := names[m.kind]; t != "" && !strings.Contains(m.limits, `"type"`) {
			fmt.Fprintf(b, `, "type": "%s"`, t)
		}
		if m.limits != "" {
			b.WriteString(", " + m.limits)
		}
		switch {
		case m.kind == '[':
			fmt.Fprintf(b, ", \"items\": {\n%s    \"type\": \"object\",\n", indent)
			writeMembers(b, indent+"    ", m.members)
			b.WriteString(indent + "  }}")
		case m.kind == '{':
			b.WriteString(",\n")
			writeMembers(b, indent+"    ", m.members)
			b.WriteString(indent + "  }")
		default:
			b.WriteString("}")
		}
		if i < len(all)-1 {
			b.WriteString(",")
		}
		b.WriteString("\n")
	}
	b.WriteString(indent + "}\n")
}
