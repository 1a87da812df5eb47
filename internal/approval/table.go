package approval

import (
	"encoding/json"
	"errors"
	"slices"
	"time"
)

// Bounds of what is kept.
const (
	// MaxOpen is how many questions may wait for an answer at once, over all sessions.
	MaxOpen = 64

	// MaxOpenOfOne is how many of them may be one caller's: the rest is for the others.
	MaxOpenOfOne = 48

	// MaxLasting is how long a yes for the session counts, and how long a no is
	// remembered, should the session not end before.
	MaxLasting = 8 * time.Hour

	// MaxBack is how far the clock may step back without ending what is open.
	MaxBack = 2 * time.Second

	// MaxGuesses is how many wrong codes are looked at in [GuessTime], over all processes.
	MaxGuesses = 10
	GuessTime  = 5 * time.Minute

	maxKept     = 512              // approvals of any state
	maxSessions = 1024             // of which questions are counted
	keptOver    = 10 * time.Minute // after the end, to say what became of a code
)

// table is the content of the state file.
type table struct {
	Latest    time.Time // the last change
	Approvals []*Approval
	Sessions  map[Key]*counted
	Guesses   []time.Time // wrong codes
}

// counted are the questions of one scope.
type counted struct {
	Questions int
	Last      time.Time
	Ended     bool `json:",omitempty"` // no session of it has asked since one has ended
}

func readTable(content []byte) (*table, error) {
	t := &table{Sessions: map[Key]*counted{}}
	if content == nil {
		return t, nil
	}
	if err := json.Unmarshal(content, t); err != nil {
		return nil, err
	}
	if t.Sessions == nil || slices.Contains(t.Approvals, nil) {
		return nil, errors.New("a part is missing")
	}
	for _, c := range t.Sessions {
		if c == nil {
			return nil, errors.New("a part is missing")
		}
	}
	return t, nil
}

// tick brings the table to now: it ends whatever is over, and drops what nobody will ask
// for. It returns the time to go by, and whether anything ended.
func (t *table) tick(now time.Time) (_ time.Time, ended bool) {
	if now.Before(t.Latest.Add(-MaxBack)) {
		for _, a := range t.Approvals {
			if !a.over() {
				a.end(Expired, "the clock was set back", now)
				ended = true
			}
			a.Ended = now // or it would be kept too long
		}
		for i := range t.Guesses {
			t.Guesses[i] = now
		}
		for _, c := range t.Sessions {
			c.Last = now
		}
	} else if now.Before(t.Latest) {
		now = t.Latest
	}
	t.Latest = now
	for _, a := range t.Approvals {
		if a.mustEnd(now) {
			why := "nobody answered in time"
			if a.State == Granted {
				why = "the call was not made again in time"
			}
			a.end(Expired, why, now)
			ended = true
		}
	}
	t.Approvals = slices.DeleteFunc(t.Approvals, func(a *Approval) bool {
		kept := keptOver
		if a.State == Denied || a.untold() {
			kept = MaxLasting
		}
		return a.over() && now.Sub(a.Ended) > kept
	})
	t.Guesses = slices.DeleteFunc(t.Guesses, func(g time.Time) bool { return now.Sub(g) > GuessTime })
	for k, c := range t.Sessions {
		if now.Sub(c.Last) > MaxLasting {
			delete(t.Sessions, k)
		}
	}
	return now, ended
}

// cover returns the yes, or several for the session, that cover exactly what b asks.
func (t *table) cover(b bound) []*Approval {
	var lasting []*Approval
	covered := func(k Key) bool {
		for _, a := range t.Approvals {
			if a.State == Granted && a.Lasting && slices.ContainsFunc(a.Questions, func(q Question) bool { return q.Key == k }) {
				if !slices.Contains(lasting, a) {
					lasting = append(lasting, a)
				}
				return true
			}
		}
		return false
	}
	rest, left := b.key(covered)
	if left == 0 {
		return lasting
	}
	whole, _ := b.key(nil)
	for _, a := range t.Approvals {
		if a.State != Granted || a.Lasting {
			continue
		}
		switch a.Bound {
		case whole:
			return []*Approval{a}
		case rest:
			return append(lasting, a)
		}
	}
	return nil
}

// open returns the question that is open already for what b asks.
func (t *table) open(b bound) *Approval {
	k, _ := b.key(nil)
	return t.find(func(a *Approval) bool { return a.State == Asked && a.Bound == k })
}

// refused returns a no that covers what b asks: everything that was refused together stands
// in it.
func (t *table) refused(b bound) *Approval {
	return t.find(func(a *Approval) bool {
		return a.State == Denied && !slices.ContainsFunc(a.Questions, func(no Question) bool {
			return !slices.ContainsFunc(b.questions, func(q Question) bool { return q.NoKey == no.NoKey })
		})
	})
}

func (t *table) find(is func(*Approval) bool) *Approval {
	if i := slices.IndexFunc(t.Approvals, is); i >= 0 {
		return t.Approvals[i]
	}
	return nil
}

func (t *table) byID(id string) *Approval {
	return t.find(func(a *Approval) bool { return a.ID == id })
}

// waiting counts the questions that are open, and those of them that are a caller's.
func (t *table) waiting(caller string) (n, own int) {
	for _, a := range t.Approvals {
		if a.State == Asked {
			n++
			if a.Caller == caller {
				own++
			}
		}
	}
	return n, own
}

// room drops the oldest that are over, until one more fits, and what was refused last: a no is
// not forgotten because others ask much. It reports false if all are alive.
func (t *table) room() bool {
	for len(t.Approvals) >= maxKept {
		i := slices.IndexFunc(t.Approvals, func(a *Approval) bool { return a.over() && a.State != Denied })
		if i < 0 {
			i = slices.IndexFunc(t.Approvals, (*Approval).over)
		}
		if i < 0 {
			return false
		}
		t.Approvals = slices.Delete(t.Approvals, i, i+1)
	}
	return true
}

// full reports that the questions of another scope cannot be counted. Of those that have ended
// the oldest makes room.
func (t *table) full(scope Key) bool {
	if t.Sessions[scope] != nil || len(t.Sessions) < maxSessions {
		return false
	}
	var oldest Key
	var ended *counted
	for k, c := range t.Sessions {
		if c.Ended && (ended == nil || c.Last.Before(ended.Last)) {
			oldest, ended = k, c
		}
	}
	delete(t.Sessions, oldest)
	return ended == nil
}

// count adds a question to a scope's, unless that has had its most.
func (t *table) count(scope Key, most int, now time.Time) bool {
	c := t.Sessions[scope]
	if c == nil {
		c = &counted{}
		t.Sessions[scope] = c
	}
	if c.Questions >= most {
		return false
	}
	c.Questions, c.Last, c.Ended = c.Questions+1, now, false
	return true
}
