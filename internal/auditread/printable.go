package auditread

import (
	"fmt"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sallyport-dev/sallyport/internal/quote"
)

// Printable escapes, in a JSON text, whatever could move a cursor or hide something where it is
// shown. The text means the same afterwards.
func Printable(text []byte) []byte {
	var out []byte
	from := 0
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf && c != 0x7f {
			i++ // JSON escapes control characters itself
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		if s := string(text[i : i+size]); quote.Text(s, 0) != s {
			out = append(out, text[from:i]...)
			if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
				out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
			} else {
				out = fmt.Appendf(out, `\u%04x`, r)
			}
			from = i + size
		}
		i += size
	}
	if out == nil {
		return text
	}
	return append(out, text[from:]...)
}
