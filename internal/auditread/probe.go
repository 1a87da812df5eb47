package auditread

import (
	"strings"

	"github.com/sallyport-dev/sallyport/audit"
)

// The name of the tool that sallyport doctor calls: this, and so many lowercase hexadecimal
// digits that it chose at random.
const (
	probeName   = "sallyport_doctor_"
	probeDigits = 16
)

// Probe reports whether r is a call with which sallyport doctor looked whether calls are refused.
// Anybody can make such a call, so only one that did nothing and says nothing counts: without
// arguments, of a name of that form, refused because the server lists no such tool.
func (r *Record) Probe() bool {
	digits, ok := strings.CutPrefix(r.Target, probeName)
	if !ok || len(digits) != probeDigits || strings.Trim(digits, "0123456789abcdef") != "" {
		return false
	}
	args, left := r.Arguments()
	return r.Event == "tools/call" && r.Phase == audit.PhaseVerdict && r.Verdict == "deny" && r.Outcome == "denied" &&
		r.Check == "pin" && r.Approval == "" && left == 0 && string(args) == "{}" &&
		r.Reason() == "the server lists no tool '"+r.Target+"'"
}

// ProbeCount is how many probes the filter chose.
func (s *Summary) ProbeCount() uint64 {
	n := s.Probes.Others.Calls
	for i := range s.Probes.Rows {
		n += s.Probes.Rows[i].Calls
	}
	return n
}
