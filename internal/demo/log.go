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
	records  int64
	problems int // what verification found
	calls    []logged
}

// logged is a verdict on a call of a tool.
type logged struct{ Target, Verdict, Check string }

// wrong says how the log differs from the verdicts that the script must have left; "" if it
// does not.
func (l logState) wrong(want []logged) string {
	if l.problems > 0 {
		return fmt.Sprintf("verification finds %d problems", l.problems)
	}
	for i, w := range want[:min(len(want), len(l.calls))] {
		if c := l.calls[i]; c != w {
			return fmt.Sprintf("verdict %d is %s, want %s", i+1, c, w)
		}
	}
	if len(l.calls) != len(want) {
		return fmt.Sprintf("%d verdicts, want %d", len(l.calls), len(want))
	}
	return ""
}

func (c logged) String() string { return show(fmt.Sprintf("%s %s %q", c.Target, c.Verdict, c.Check)) }

func (l logState) lines() []tableLine {
	state := "verified"
	if l.problems > 0 {
		state = "BROKEN"
	}
	n := map[string]int{}
	for _, c := range l.calls {
		n[c.Verdict]++
	}
	verdicts := fmt.Sprintf("%d allow, %d deny", n["allow"], n["deny"])
	if n["ask"] > 0 {
		verdicts += fmt.Sprintf(", %d ask", n["ask"])
	}
	return []tableLine{
		{"audit log", "none", fmt.Sprintf("%d records", l.records), false},
		{"  its hash chain", "", state, l.problems > 0},
		{"  its verdicts on calls", "", verdicts, false},
	}
}

func readLog(path string) (logState, error) {
	var l logState
	f, err := os.Open(path)
	if err != nil {
		return l, err
	}
	defer f.Close()
	report, err := audit.Verify(f)
	if err != nil {
		return l, fmt.Errorf("verifying %s: %w", path, err)
	}
	l.records, l.problems = report.Records, len(report.Problems)
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
		var r struct {
			logged
			Event, Phase string
		}
		if err := json.Unmarshal(line, &r); err != nil {
			return l, err
		}
		if r.Event == "tools/call" && r.Phase == "verdict" {
			l.calls = append(l.calls, r.logged)
		}
	}
}
