// Package stdio carries frames over pipes: newline-delimited messages of bounded size,
// and child processes that leave nothing behind.
//
// It frames on byte 0x0A only, never interprets a frame except to find the id of one
// that is too large, and never lets a child's stderr or a slow reader block the rest.
package stdio
