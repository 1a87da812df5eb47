package approval

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/sallyport-dev/sallyport"
)

// State is how far an approval has come.
type State string

const (
	Asked   State = "asked"   // nobody has answered yet
	Granted State = "granted" // a yes that was not used up
	Denied  State = "denied"  // a no
	Used    State = "used"    // the call that it covered has begun
	Expired State = "expired" // nobody answered, or called again, in time
	Revoked State = "revoked" // taken back: the session ended, or the call was given up
)

// Bounds of one approval.
const (
	// MaxQuestions is how many questions one call may raise. A call that raises more is
	// refused: nobody reads a longer list.
	MaxQuestions = 16

	// MaxDestination is how long a destination may be, in bytes. Of a longer one a person
	// would see only a part, and say yes to what was left out.
	MaxDestination = 1024

	maxName     = 1 << 10 // bytes of other names
	maxEvidence = 4       // of one question
	maxShown    = 32 << 10
)

// Approval is what a person is asked about one call, and what became of it.
type Approval struct {
	ID    string // 16 hexadecimal digits: the same in every audit record of it
	Code  string // for sallyport approve, such as K7Q-F2MX
	State State
	Why   string `json:",omitempty"` // of what has expired or was revoked

	Caller   string // a token's name, a subject, or "local"
	Session  string // what the answer is good for
	Upstream string
	Subject  string // tool, resource, prompt
	Tool     string // its name or URI, as the upstream knows it; hostile text
	Shown    string // as the client knows it; hostile text
	Call     uint64 // number of the call that raised it

	Questions []Question
	// Arguments are the call's, redacted as the audit log's are; LeftOut is how many values
	// are missing because they were too much. nil: none, or they are not to be shown.
	Arguments json.RawMessage `json:",omitempty"`
	LeftOut   int             `json:",omitempty"`

	ArgumentsDigest Key
	Policy          string // digest of what decided
	Bound           Key    // everything that a yes once is bound to
	BindCall        bool   // to all arguments
	Listed          bool   `json:",omitempty"` // the user's own list holds for the caller

	Asked   time.Time
	Expires time.Time // of the question, then of the yes
	Ended   time.Time // used, denied, expired or revoked
	Told    bool      `json:",omitempty"` // of Expired: the log has it

	Answered time.Time
	Lasting  bool   `json:",omitempty"` // the yes is for the session
	Channel  string `json:",omitempty"` // how it was answered: client, code
	By       string `json:",omitempty"` // by whom, as far as known

	Log string `json:",omitempty"` // the audit log of the gateway that asked
}

// Question is one thing that a person agrees to.
type Question struct {
	Check       sallyport.Check
	Argument    string // place in the arguments, hostile text; "": the call as a whole
	Destination string // in canonical form, hostile text; "": the question is about the call as it stands
	Origin      string // where the destination is known from, or what else is asked about
	Text        string // the question, safe to show
	Evidence    []sallyport.Evidence

	Key   Key // what a yes to it is bound to
	NoKey Key // what a no to it is remembered by
}

// CanLast reports whether a yes can be given for the session: every question is about a
// destination, and the yes is not bound to all arguments.
func (a *Approval) CanLast() bool {
	return !a.BindCall && !slices.ContainsFunc(a.Questions, func(q Question) bool { return q.Destination == "" })
}

// over reports that nothing can become of it any more.
func (a *Approval) over() bool { return a.State != Asked && a.State != Granted }

// untold reports that it has expired and no log says so yet.
func (a *Approval) untold() bool { return a.State == Expired && !a.Told }

// mustEnd reports that its time is over.
func (a *Approval) mustEnd(now time.Time) bool { return !a.over() && !now.Before(a.Expires) }

// end ends it. What only somebody who answers would be shown is dropped: the state file holds
// many that are over, and is read whole each time.
func (a *Approval) end(s State, why string, now time.Time) {
	a.State, a.Why, a.Ended = s, why, now
	a.Arguments, a.LeftOut = nil, 0
	kept := make([]Question, len(a.Questions))
	for i, q := range a.Questions {
		kept[i] = Question{Check: q.Check, Key: q.Key, NoKey: q.NoKey}
	}
	a.Questions = kept
}

// Answer is what a person said.
type Answer struct {
	Yes     bool
	Lasting bool   // for the session; it counts once where [Approval.CanLast] is false
	Channel string // client, code
	By      string // who, as far as known
}

// The channels.
const (
	ChannelClient = "client" // the client's own prompt
	ChannelCode   = "code"   // a person at a terminal
)
