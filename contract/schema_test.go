package contract

import (
	"testing"

	"github.com/sallyport-dev/sallyport/doc"
)

// A schema that says little, or says it in a rare place, hides no sink.
func TestSinksInSparseSchemas(t *testing.T) {
	for _, c := range []struct{ name, schema, want string }{
		{"create_event", `{"properties":{"attendees":{"type":"array"}}}`, "attendees"},
		{"create_event", `{"properties":{"attendees":{"type":["array","null"]}}}`, "attendees"},
		{"create_event", `{"properties":{"attendees":{"type":"array","items":{"type":"object"}}}}`, "attendees"},
		{"create_event", `{"properties":{"attendee":{"type":"object"}}}`, "attendee"},
		{"create_event", `{"properties":{"attendee":{"type":"object","additionalProperties":true}}}`, "attendee"},
		{"create_event", `{"properties":{"tags":{"type":"array"},"options":{"type":"object"}}}`, "-"},
		{"create_event", `{"dependentSchemas":{"x":{"properties":{"email":{"type":"string"}}}}}`, "email"},
		{"create_event", `{"dependencies":{"x":{"properties":{"email":{"type":"string"}}},"y":["z"]}}`, "email"},
		{"create_event", `{"properties":{"a":{"type":"array","contains":{"properties":{"email":{"type":"string"}}}}}}`, "a[*].email"},
		{"create_event", `{"$ref":"https://schemas.example/event"}`, "*"},
		{"create_event", `{"properties":{"a":{"$ref":"#/$defs/missing"}}}`, "*"},
		{"create_event", `{"properties":{"a":{"$ref":"#/$defs/there"}},"$defs":{"there":{"type":"string"}}}`, "-"},
		{"sendmessage", `{"properties":{"text":{"type":"string"}}}`, "*"},
		{"postcomment", `{"properties":{"text":{"type":"string"}}}`, "*"},
		{"list_events", `{"properties":{"attendees":{"type":"array"}}}`, "-"},
	} {
		def, err := doc.Parse([]byte(`{"name":"`+c.name+`","inputSchema":`+c.schema+`}`), doc.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if got := sinksOf(Fallback(Tool{Name: c.name, Definition: def})); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.name, c.schema, got, c.want)
		}
	}
}
