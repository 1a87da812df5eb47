//go:build !unix

package flow

import "time"

var started = time.Now()

// cpuTime is the clock where the use of the cores is not known.
func cpuTime() time.Duration { return time.Since(started) }
