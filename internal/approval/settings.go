package approval

import "time"

// Settings are what a configuration says of approvals.
type Settings struct {
	BindCall     bool          // bind: call: a yes holds for exactly these arguments
	MaxQuestions int           // questions asked in one scope until none was for [MaxLasting]; 0: DefaultMaxQuestions
	TTL          time.Duration // how long a question is open, and then how long a yes counts; 0: DefaultTTL
	Reask        bool          // ask again what was denied in the session
}

// Defaults of [Settings].
const (
	DefaultMaxQuestions = 30
	DefaultTTL          = 5 * time.Minute
)

func (s Settings) withDefaults() Settings {
	if s.MaxQuestions == 0 {
		s.MaxQuestions = DefaultMaxQuestions
	}
	if s.TTL <= 0 {
		s.TTL = DefaultTTL
	}
	return s
}
