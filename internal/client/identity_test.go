package client

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestIdentityRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		id := Identity{
			BootID:    rapid.StringMatching(`[0-9a-zA-Z-]{1,64}`).Draw(rt, "boot"),
			Namespace: rapid.Uint64().Draw(rt, "namespace"),
			PID:       rapid.IntRange(1, 1<<31-1).Draw(rt, "pid"),
			Start:     rapid.Uint64().Draw(rt, "start"),
		}
		s := id.String()
		if got, err := Parse(s); got != id || err != nil || len(s) > 130 {
			rt.Fatalf("%s is read as %v, %v", s, got, err)
		}
	})
}

func TestParseRefuses(t *testing.T) {
	for _, s := range []string{
		"", "/", "a/1/2", "a/1/2/3/4", "/1/2/3", "a b/1/2/3", "ä/1/2/3", strings.Repeat("a", 65) + "/1/2/3",
		"a/1/0/3", "a/1/-2/3", "a/1/2147483648/3", "a/01/2/3", "a/1/02/3", "a/1/2/+3", "a/1/2/ 3", "a/1/2/3\n",
		"a/18446744073709551616/2/3", "a/1/2/", "a/1//3", "a/0x1/2/3",
	} {
		if id, err := Parse(s); err == nil {
			t.Errorf("%q is read as %v", s, id)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("8a6f6f7b-d2ab-4045-90f5-3b9fdb467fdd/4026531836/1234/567890")
	f.Add("a/0/1/0")
	f.Add("a/00/1/0")
	f.Fuzz(func(t *testing.T, s string) {
		if id, err := Parse(s); err == nil && id.String() != s {
			t.Fatalf("%q is read as %v", s, id)
		}
	})
}

func TestErrorsSayWhy(t *testing.T) {
	err := unknown("because %d", 1)
	if !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), "because 1") {
		t.Error(err)
	}
}
