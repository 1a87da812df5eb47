package audit

import (
	"regexp"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/doc"
)

func TestShowIsWhatARecordHolds(t *testing.T) {
	sel, err := doc.ParseSelector("note")
	if err != nil {
		t.Fatal(err)
	}
	args := parse(t, `{"to":"a@x.example","password":"hunter22","note":"private","body":"`+strings.Repeat("b", 600)+`","n":1.50}`)
	shown, left := Redaction{Selectors: []doc.Selector{sel}, MaxValue: 100}.Show(args)
	want := regexp.MustCompile(`^\{"to":"a@x\.example","password":\{"redacted":"hmac-sha256:[0-9a-f]{64}"\},"note":\{"redacted":"[^"]+"\},"body":"b{100}…\(\+500 bytes\)","n":1\.50\}$`)
	if !want.Match(shown) || left != 0 {
		t.Errorf("%s, %d left out", shown, left)
	}
	if shown, left := (Redaction{}).Show(parse(t, `[`+strings.Repeat(`"some value",`, 9000)+`1]`)); left == 0 || len(shown) > MaxArguments+2 {
		t.Errorf("%d bytes, %d left out", len(shown), left)
	}
	for _, r := range []Redaction{{DropArguments: true}} {
		if shown, _ := r.Show(args); shown != nil {
			t.Errorf("dropped arguments are shown: %s", shown)
		}
	}
	if shown, _ := (Redaction{}).Show(doc.Value{}); shown != nil {
		t.Errorf("absent arguments are shown as %q", shown)
	}
}
