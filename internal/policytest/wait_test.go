package policytest

import (
	"testing"
	"time"
)

func TestParseWait(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want time.Duration // 0: refused
	}{
		{"30s", 30 * time.Second},
		{"1h30m", 90 * time.Minute},
		{"900ms", 900 * time.Millisecond},
		{"1d", day},
		{"007d", 7 * day},
		{"366d", 366 * day},
		{"1d12h", 36 * time.Hour},
		{"2d1h30m5s", 2*day + time.Hour + 30*time.Minute + 5*time.Second},
		{in: "367d"},
		{in: "1d999999h"},
		{in: "99999999999999999999d"},
		{in: "1d-1h"},
		{in: "1d+1h"},
		{in: "1d.5h"},
		{in: "-1d"},
		{in: "+1d"},
		{in: "1.5d"},
		{in: "1d2d"},
		{in: "12h1d"},
		{in: "1d12"},
		{in: "1 d"},
		{in: "d"},
		{in: ""},
	} {
		got, ok := parseWait(tt.in)
		if got != tt.want || ok != (tt.want != 0) {
			t.Errorf("%q: %v, %v; want %v", tt.in, got, ok, tt.want)
		}
	}
}
