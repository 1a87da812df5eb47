package demo

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/sallyport-dev/sallyport/audit"
)

// logState is what the second run's audit log says.
type logState struct {
	Records  int64
	Problems int            // what verification found
	Verdicts map[string]int // verdicts on tool calls
}

// refusals is how many of the script's calls must be refused: the mail, the key and
// the third deletion.
const refusals = 3

// good reports that the log verifies and holds a verdict on each of calls.
func (l logState) good(calls int) bool {
	return l.Problems == 0 && l.Verdicts["deny"] == refusals && l.Verdicts["allow"] == calls-refusals
}

func readLog(path string) (logState, error) {
	l := logState{Verdicts: map[string]int{}}
	f, err := os.Open(path)
	if err != nil {
		return l, err
	}
	defer f.Close()
	report, err := audit.Verify(f)
	if err != nil {
		return l, fmt.Errorf("verifying %s: %w", path, err)
	}
	l.Records, l.Problems = report.Records, len(report.Problems)
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return l, err
	}
	for lines := bufio.NewReader(f); ; {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return l, nil
		}
		if err != nil {
			return l, err
		}
		var r struct{ Event, Phase, Verdict string }
		if err := json.Unmarshal(line, &r); err != nil {
			return l, err
		}
		if r.Event == "tools/call" && r.Phase == "verdict" {
			l.Verdicts[r.Verdict]++
		}
	}
}
