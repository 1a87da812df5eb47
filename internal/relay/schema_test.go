package relay

import (
	"bytes"
	"errors"
	"os"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sallyport-dev/sallyport/audit"
)

var recordSchema = sync.OnceValues(func() (*jsonschema.Schema, error) {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(audit.Schema()))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("record.json", v); err != nil {
		return nil, err
	}
	return c.Compile("record.json")
})

// wantSchema checks that every record of a log that a relay wrote is as the schema says. All
// tests' logs pass here.
func wantSchema(t *testing.T, path string) {
	t.Helper()
	s, err := recordSchema()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return // a test took it away
	}
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
		if err == nil {
			err = s.Validate(v)
		}
		if err != nil {
			t.Errorf("a record is not as the schema says: %v\n%s", err, line)
		}
	}
}
