package quote

import "regexp"

// blank is a stretch of characters that show nothing. Emoji are joined, and flags are spelled, by
// fewer of them.
var blank = regexp.MustCompile(`[\p{Zs}\p{Cf}\t\x{34f}\x{115f}\x{1160}\x{2800}\x{3164}\x{ffa0}\x{fe00}-\x{fe0f}\x{e0100}-\x{e01ef}]{9,}`)

// Unpadded is text without long stretches that show nothing: on a screen, what stands behind one
// would begin a line, and look like one of whoever shows it. " … " stands in their place.
func Unpadded(text string) string { return blank.ReplaceAllLiteralString(text, " … ") }
