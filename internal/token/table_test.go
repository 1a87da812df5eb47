package token

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func entry(name, value string, expires time.Time) Entry {
	return Entry{Name: name, SHA256: Digest(value), Expires: expires}
}

func TestFind(t *testing.T) {
	table := NewTable([]Entry{
		entry("ann", "value-of-ann", time.Time{}),
		entry("ben", "value-of-ben", noon.Add(time.Second)),
		entry("cid", "value-of-cid", noon), // not valid from this moment on
		entry("dot", "a value with spaces", noon.Add(time.Hour)),
	}, func() time.Time { return noon })
	for name, tt := range map[string]struct {
		headers []string
		caller  string
		err     error
	}{
		"known":            {[]string{"Bearer value-of-ann"}, "ann", nil},
		"scheme's case":    {[]string{"bEARER value-of-ann"}, "ann", nil},
		"spaces":           {[]string{"Bearer   value-of-ann  "}, "ann", nil},
		"spaces within":    {[]string{"Bearer a value with spaces"}, "dot", nil},
		"not yet expired":  {[]string{"Bearer value-of-ben"}, "ben", nil},
		"expired":          {[]string{"Bearer value-of-cid"}, "cid", ErrExpired},
		"none":             {nil, "", ErrNone},
		"unknown":          {[]string{"Bearer value-of-eve"}, "", ErrUnknown},
		"prefix":           {[]string{"Bearer value-of-an"}, "", ErrUnknown},
		"longer":           {[]string{"Bearer value-of-anna"}, "", ErrUnknown},
		"other case":       {[]string{"Bearer VALUE-of-ann"}, "", ErrUnknown},
		"the digest":       {[]string{"Bearer " + hexOf("value-of-ann")}, "", ErrUnknown},
		"the name":         {[]string{"Bearer ann"}, "", ErrUnknown},
		"empty":            {[]string{""}, "", ErrForm},
		"no value":         {[]string{"Bearer "}, "", ErrForm},
		"no scheme":        {[]string{"value-of-ann"}, "", ErrForm},
		"other scheme":     {[]string{"Basic value-of-ann"}, "", ErrForm},
		"twice":            {[]string{"Bearer value-of-ann", "Bearer value-of-ann"}, "", ErrForm},
		"a tab for space":  {[]string{"Bearer\tvalue-of-ann"}, "", ErrForm},
		"joined by comma":  {[]string{"Bearer value-of-ann, Bearer value-of-ben"}, "", ErrUnknown},
		"longer than read": {[]string{"Bearer " + strings.Repeat("x", maxValue+1)}, "", ErrForm},
	} {
		h := http.Header{"Authorization": tt.headers}
		if e, err := table.Find(h); e.Name != tt.caller || err != tt.err {
			t.Errorf("%s: %q, %v", name, e.Name, err)
		}
	}
	if _, err := NewTable(nil, nil).Find(http.Header{"Authorization": {"Bearer x"}}); err != ErrUnknown {
		t.Errorf("an empty table: %v", err)
	}
}

func hexOf(value string) string {
	d := Digest(value)
	const digits = "0123456789abcdef"
	var b strings.Builder
	for _, c := range d {
		b.WriteByte(digits[c>>4])
		b.WriteByte(digits[c&15])
	}
	return b.String()
}

func TestReplace(t *testing.T) {
	later := noon.Add(time.Hour)
	table := NewTable([]Entry{entry("stays", "s", later), entry("gone", "g", later), entry("turned", "old", later), entry("moved", "m", later)}, func() time.Time { return noon })
	revoked := table.Replace([]Entry{entry("turned", "new", later), entry("stays", "s", time.Time{}), entry("other", "m", later), entry("fresh", "f", noon)})
	if !slices.Equal(revoked, []string{"gone", "turned", "moved"}) {
		t.Errorf("revoked: %v", revoked)
	}
	for value, want := range map[string]error{"s": nil, "g": ErrUnknown, "old": ErrUnknown, "new": nil, "m": nil, "f": ErrExpired} {
		if _, err := table.Find(http.Header{"Authorization": {"Bearer " + value}}); err != want {
			t.Errorf("%s: %v, want %v", value, err, want)
		}
	}
	for _, tt := range []struct {
		e    Entry
		want bool
	}{{entry("turned", "new", later), true}, {entry("turned", "old", later), false}, {entry("other", "new", later), false}, {entry("fresh", "f", later), false}} {
		if table.Holds(tt.e) != tt.want {
			t.Errorf("%s holds: %v", tt.e.Name, !tt.want)
		}
	}
	for name, want := range map[string]bool{"stays": true, "turned": true, "fresh": false, "gone": false, "moved": false, "other": true} {
		if table.Valid(name) != want {
			t.Errorf("%s is valid: %v", name, !want)
		}
	}
}

func TestNextExpiry(t *testing.T) {
	now := noon
	table := NewTable([]Entry{entry("a", "a", noon.Add(2*time.Hour)), entry("b", "b", noon.Add(time.Hour)), entry("c", "c", time.Time{})}, func() time.Time { return now })
	for range 2 {
		in, ok := table.NextExpiry()
		if !ok || in != time.Hour {
			t.Errorf("%v, %v", in, ok)
		}
		now = now.Add(in)
	}
	if in, ok := table.NextExpiry(); ok {
		t.Errorf("%v", in)
	}
}

func TestNewIsRandom(t *testing.T) {
	seen := map[string]bool{}
	form := regexp.MustCompile(`^sp_[a-z2-7]{52}$`) // internal/lint looks for it
	for range 1000 {
		s := New()
		if !form.MatchString(s) || seen[s] {
			t.Fatalf("%q", s)
		}
		seen[s] = true
	}
}
