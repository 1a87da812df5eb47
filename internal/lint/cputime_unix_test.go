//go:build unix

package lint

import (
	"syscall"
	"testing"
	"time"
)

// A person waits for validate in an editor and in CI. The processor's time is measured,
// not the clock's: other programs on the machine do not count.
func TestTwoThousandRulesInTwoSeconds(t *testing.T) {
	const limit = 2 * time.Second
	rules := 2000
	if raceEnabled {
		rules = 500 // each instruction takes ten times as long
	}
	for name, rule := range large {
		text := largeFile(rule, rules)
		start := cpuTime(t)
		r := Check(load(t, "large.yaml", text), Options{Strict: true})
		d := cpuTime(t) - start
		t.Logf("%s: %v, %d findings", name, d, len(r.Findings))
		if d > limit {
			t.Errorf("%s took %v, more than %v", name, d, limit)
		}
	}
}

func cpuTime(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
