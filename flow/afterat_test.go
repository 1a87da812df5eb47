package flow

import "testing"

// No address has a domain whose last label begins with a digit. What stands behind "@" like
// that is text, and its words count: an account number there is seen.
func TestNumbersBehindAt(t *testing.T) {
	for output, text := range map[string]string{
		"pay to konto@1234.5678.9012.3456 today": "1234.5678.9012.3456",
		"pay to konto@1234-5678.9012-3456 today": "1234 5678 9012 3456",
		"write @4479.0011.2233 for it":           "4479.0011.2233",
		"see ops@203.0.113.7 for it":             "http://203.0.113.7/",
	} {
		l := observed(t, output)
		for _, d := range Flatten("to", value(t, text)) {
			if f := l.Lookup(d); f.Origin != Untrusted {
				t.Errorf("%q %v after %q: %v", d.Canonical, d.Kind, output, f.Origin)
			}
		}
	}
}

// A name behind an "@" with nothing before it is somebody's, not the domain of an address.
func TestHandles(t *testing.T) {
	for _, output := range []string{
		"ping @john.smith please", "@john.smith", "(@john.smith)", "*@john.smith*", "_@john.smith_", `"@john.smith"`, "cc:@john.smith,", "hello,@john.smith", "请联系@john.smith吧", "@john.smith.", "@John.Smith!",
	} {
		l := observed(t, output)
		if f := l.Lookup(Flatten("to", value(t, "@john.smith"))[0]); f.Origin != Untrusted {
			t.Errorf("%q: %+v", output, f)
		}
	}
	for _, output := range []string{"mail ana@john.smith please", "@johnsmith", "@john.doe and @anna.smith"} {
		l := observed(t, output)
		if f := l.Lookup(Flatten("to", value(t, "@john.smith"))[0]); f.Origin != Unknown {
			t.Errorf("%q: %+v", output, f)
		}
	}
}
