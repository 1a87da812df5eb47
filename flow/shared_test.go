package flow

import "testing"

func TestSharedHost(t *testing.T) {
	for h, want := range map[string]bool{
		"github.com": true, "hooks.slack.com": true, "slack.com": true, "example.com": false, "acme.slack.com": false, "": false,
	} {
		if SharedHost(h) != want {
			t.Errorf("%s: %v", h, !want)
		}
	}
}
