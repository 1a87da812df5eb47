package approval

import (
	"slices"
	"strings"
	"time"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/flow"
)

// listable are the origins of destinations that the user's list can settle. What a call
// carries is asked about whatever it says.
var listable = []string{flow.Unknown.String(), flow.Party.String(), flow.Inside.String(), flow.Untrusted.String()}

// OnList reports that the user's list, as it is now, settles every question: the same call
// made again is not asked about them.
func (a *Approval) OnList(list []sallyport.TrustedDestination, now time.Time) bool {
	open := func(q Question) bool {
		if !slices.Contains(listable, q.Origin) {
			return true
		}
		v, ok := doc.Text(q.Destination)
		if !ok {
			return true
		}
		ds := flow.Flatten("", v)
		return len(ds) != 1 || !slices.ContainsFunc(list, func(t sallyport.TrustedDestination) bool {
			return (t.Upstream == "" || t.Upstream == a.Upstream) && (t.Tool == "" || t.Tool == a.Tool) &&
				(t.Expires.IsZero() || now.Before(t.Expires)) && t.Pattern.Matches(ds[0])
		})
	}
	return a.Listed && len(a.Questions) > 0 && !slices.ContainsFunc(a.Questions, open)
}

// TrustCommands are what the user types to have the destinations of the questions let through
// from now on, one for each; none where the user's list does not hold for the caller, or
// settles nothing. They are safe to show, and to paste into a shell: a destination that is not
// plain is left for the user to write.
func (a *Approval) TrustCommands() (all []string) {
	if !a.Listed {
		return nil
	}
	for _, q := range a.Questions {
		if !slices.Contains(listable, q.Origin) {
			return nil
		}
		command := "sallyport trust DESTINATION --because \"WHY\""
		if plain(q.Destination) && (Trusted{Destination: q.Destination, Because: "x"}).Check() == nil {
			command = "sallyport trust " + q.Destination + " --because \"WHY\""
		}
		if !slices.Contains(all, command) {
			all = append(all, command)
		}
	}
	return all
}

// plain reports text that every shell takes as it stands, and that is no flag and no pattern.
func plain(s string) bool {
	return s != "" && s[0] != '-' && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@.:/_+-") == ""
}
