package auditread

import (
	"errors"
	"time"
)

// ParseTime reads a bound of a [Filter]: a day (2026-01-31), which begins at midnight UTC, or a
// moment in RFC 3339. For Until, a day is meant with all of it: end is then true, and the
// result the beginning of the next.
func ParseTime(s string, end bool) (time.Time, error) {
	if t, err := time.Parse(time.DateOnly, s); err == nil {
		if end {
			t = t.AddDate(0, 0, 1)
		}
		return t, nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return t, errors.New("write a day as 2026-01-31, or a moment as 2026-01-31T15:04:05Z")
	}
	return t.UTC(), nil
}
