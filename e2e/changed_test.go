package e2e

import (
	"testing"

	"github.com/sallyport-dev/sallyport/e2e/peer"
)

// What the comparison overlooks is what is listed, and nothing beside it.
func TestOnlyListedMembersMayDiffer(t *testing.T) {
	bridged := pairing{client: peer.Stateless, server: peer.Handshake}
	for name, c := range map[string]struct {
		want, got string
		same      bool
	}{
		"the same":                   {`{"a":1}`, `{"a":1}`, true},
		"another token":              {`{"a":1,"_meta":{"progressToken":1,"x":1}}`, `{"a":1,"_meta":{"progressToken":"2","x":1}}`, true},
		"a _meta for the token":      {`{"a":1}`, `{"a":1,"_meta":{"progressToken":"2"}}`, true},
		"a number in other digits":   {`{"a":1.0}`, `{"a":1}`, false},
		"a name in other letters":    {`{"a\u0062":1}`, `{"ab":1}`, false},
		"text in other letters":      {`{"a":"\u0062"}`, `{"a":"b"}`, false},
		"space within a value":       {`{"a":[1, 2]}`, `{"a":[1,2]}`, false},
		"another order":              {`{"a":1,"b":2}`, `{"b":2,"a":1}`, false},
		"a member less":              {`{"a":1,"b":2}`, `{"a":1}`, false},
		"the token elsewhere":        {`{"progressToken":1}`, `{"progressToken":2}`, false},
		"another member in the meta": {`{"_meta":{"x":1}}`, `{"_meta":{"x":2}}`, false},
		"nothing":                    {`{"a":1}`, ``, false},
	} {
		if got := bridged.normal(paramsChanged, c.want) == bridged.normal(paramsChanged, c.got); got != c.same {
			t.Errorf("%s: %v", name, got)
		}
	}
	same := pairing{client: peer.Handshake, server: peer.Handshake}
	if same.normal(resultChanged, `{"resultType":"complete"}`) == same.normal(resultChanged, `{}`) {
		t.Error("resultType is overlooked between two sides of one era")
	}
}
