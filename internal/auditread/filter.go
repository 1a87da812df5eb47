package auditread

import "time"

// Filter chooses records. A zero field chooses all; a record is chosen if every other
// field holds for it. Texts compare exactly.
type Filter struct {
	Since   time.Time // records of this moment and later
	Until   time.Time // records before this moment
	Outcome string    // allowed, denied, …: see [Outcomes]
	Caller  string
	Tool    string // the target (tool, prompt or URI) alone, or upstream/target
	Policy  string
}

// Match reports whether r is chosen. Verdict and outcome of one call are two records, each of
// which has its own time and outcome.
func (f *Filter) Match(r *Record) bool {
	switch {
	case !f.Since.IsZero() && r.Time.Before(f.Since),
		!f.Until.IsZero() && !r.Time.Before(f.Until),
		f.Outcome != "" && f.Outcome != r.Outcome,
		f.Caller != "" && f.Caller != r.Caller,
		f.Policy != "" && f.Policy != r.Policy:
		return false
	}
	return f.Tool == "" || r.Target == f.Tool || r.Upstream != "" && isJoined(f.Tool, r.Upstream, r.Target)
}

// isJoined reports whether s is upstream, a slash and target.
func isJoined(s, upstream, target string) bool {
	n := len(upstream)
	return len(s) == n+1+len(target) && s[:n] == upstream && s[n] == '/' && s[n+1:] == target
}
