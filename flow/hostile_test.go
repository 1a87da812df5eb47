package flow

import (
	"strings"
	"testing"
	"time"
)

// No text makes observing it much dearer than its length: the cost of a byte in text
// made to be slow stays within a bound that a quadratic scan would break by far.
func TestHostileTextCostsItsLength(t *testing.T) {
	const size = 64 << 10
	for name, unit := range map[string]string{
		"at": "@", "locals": "a'", "address": "'a'b@c.d ", "spaced at": "a @ ", "colons": ":", "hex colons": "a:", "double colons": "::1:", "dots": "a.", "labels": "a.b.c.d.e.f ",
		"slashes": "://", "authority": "a://-", "brackets": "<a", "tags": "a<b></b>", "comments": "a<!--", "percent": "%25", "escapes": `\u0025`, "entities": "&amp;", "quotes": `"@`,
		"marks": "\u0301", "wide": "予", "sharp": "ß", "ligature": "\ufdfa", "zero width": "\u200b", "braces": "[", "numbers": "1.1.1.1 ", "ace": "xn--a.", "idn": "ü.ü.", "tenant": "github.com/a%61 ",
	} {
		text := strings.Repeat(unit, size/len(unit))
		start := time.Now()
		observed(t, text, "["+text+"]")
		if d := time.Since(start); d > 20*time.Second {
			t.Errorf("%s: %v for 128 KiB", name, d)
		} else {
			t.Logf("%-14s %v", name, d)
		}
	}
}
