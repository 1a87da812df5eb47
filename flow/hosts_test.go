package flow

import (
	"slices"
	"testing"
)

func TestHosts(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want []string // nil: refused
	}{
		{"https://api.Example.com:8443/x?y", []string{"api.example.com"}},
		{"api.example.com", []string{"api.example.com"}},
		{"api.example.com.", []string{"api.example.com"}},
		{"Ana <ana@mail.example>", []string{"mail.example"}},
		{"a@x.example, b@y.example", []string{"x.example", "y.example"}},
		{"http://0x7f.1/", []string{"127.0.0.1"}},
		{"http://[::ffff:7f00:1]/", []string{"127.0.0.1"}},
		{"http://localhost./", []string{"localhost"}},
		{"https://a.example/?next=https://b.example/", []string{"a.example", "b.example"}},
		{"", nil},
		{"general", nil},
		{"https://user@x.example/", nil},
		{"https://x.example\n", nil},
		{"file:///etc/passwd", nil},
		{"\xff", nil},
	} {
		got, why := Hosts(tt.in)
		if !slices.Equal(got, tt.want) || (why == "") != (tt.want != nil) {
			t.Errorf("%q: %q (%s), want %q", tt.in, got, why, tt.want)
		}
	}
}

func TestCanonicalHost(t *testing.T) {
	for in, want := range map[string]string{
		"API.example.com": "api.example.com", "[::1]": "::1", "::1": "::1", "0300.0.2.1": "192.0.2.1",
		"2130706433": "127.0.0.1", "bücher.example": "xn--bcher-kva.example", "intranet": "intranet",
		"a b": "", "x.example/": "", "x.example:80": "", "": "", "a\u200b.example": "", "1.2.3.4.5": "",
		"evil.example⁄.corp.example": "", "evil.example∕x.corp.example": "", "corp•example.com": "",
	} {
		got, why := CanonicalHost(in)
		if got != want || (why == "") != (want != "") {
			t.Errorf("%q: %q (%s), want %q", in, got, why, want)
		}
	}
}

func TestPublicSuffix(t *testing.T) {
	for h, want := range map[string]bool{
		"com": true, "co.uk": true, "github.io": true, "example.com": false, "local": false, "10.0.0.1": false, "::1": false, "intranet": false,
	} {
		if got := PublicSuffix(h); got != want {
			t.Errorf("%s: %v", h, got)
		}
	}
}
