package config

import (
	"strconv"
	"strings"
	"time"

	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

const (
	minEvery   = time.Second
	maxEvery   = 24 * time.Hour
	mostCounts = 1_000_000 // records
)

var checkpointKeys = []string{"path", "key", "every"}

// Checkpoints says where signed checkpoints of the log go.
type Checkpoints struct {
	Path string // absolute; a file or a named pipe
	Key  string // absolute; "": the default place
	// A checkpoint is due after so many records or so much time, whichever comes first; 0: that
	// does not count.
	Records  int
	Interval time.Duration
}

func readCheckpoints(n *strictyaml.Node, p *strictyaml.Problems, file string) *Checkpoints {
	fields, ok := n.Fields(p, checkpointKeys, nil)
	if !ok {
		return nil
	}
	c := &Checkpoints{Records: 100, Interval: time.Minute}
	for name, f := range fields {
		switch name {
		case "path":
			c.Path = readFileName(f, p, file, "write the file or named pipe that checkpoints go to")
		case "key":
			c.Key = readFileName(f, p, file, "write the file with the signing key, which sallyport audit keygen makes")
		case "every":
			c.Records, c.Interval = readEvery(f, p)
		}
	}
	if fields["path"] == nil {
		p.Add(n, "checkpoints says no path; write the file or named pipe that they go to")
	}
	return c
}

// readEvery reads 100 records, 1m, or both with | between them.
func readEvery(n *strictyaml.Node, p *strictyaml.Problems) (records int, interval time.Duration) {
	wrong := func() {
		p.Add(n, "write a number of records, a time, or both: 100 records|1m; not %s", strictyaml.Quote(n.Text()))
	}
	if !n.IsText() && !n.IsNull() && !n.IsList() && !n.IsMapping() {
		wrong()
		return 1, 0
	}
	s, ok := n.Str(p)
	if !ok {
		return 1, 0
	}
	parts := strings.Split(s, "|")
	for _, part := range parts {
		part = strings.TrimSpace(part)
		digits, counts := strings.CutSuffix(strings.TrimSuffix(part, "s"), " record")
		if counts {
			v, err := strconv.Atoi(digits)
			if err != nil || digits[0] < '1' || digits[0] > '9' || records > 0 {
				wrong()
				return 1, 0
			}
			if records = v; v > mostCounts {
				p.Add(n, "write at most %d records", mostCounts)
			}
			continue
		}
		d, err := parseDuration(part)
		if err != nil || interval > 0 {
			wrong()
			return 1, 0
		}
		if interval = d; d < minEvery || d > maxEvery {
			p.Add(n, "write a duration from %s to %s", showDuration(minEvery), showDuration(maxEvery))
			return 1, 0
		}
	}
	return records, interval
}
