package report

import "unicode"

// unseen reports a character that must not reach either form: it ends a line, moves what
// stands beside it or shows nothing. Texts are escaped when they come into the pack; this
// is for one that somebody forgot.
func unseen(r rune) bool {
	return r != ' ' && (unicode.IsControl(r) || unicode.IsSpace(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector))
}
