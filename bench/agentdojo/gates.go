package main

import (
	"slices"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/flow"
)

// gate is one way to run the engine. Its row adds to those above it.
type gate struct {
	name    string
	profile string // "" is balanced
	untold  bool   // the session is not told the prompt
	grants  bool   // labels vouched, party and id
	careful bool   // labels inside and secret, destructive, typed_params, what content carries
	copies  bool   // word-for-word copies
	party   sallyport.Verdict
}

var gates = []gate{
	{name: "flat taint on every sink", untold: true},
	{name: "+ typed"},
	{name: "+ labels", grants: true, party: sallyport.Allow},
	{name: "+ inside, carried, destructive, typed_params, secrets", grants: true, careful: true, party: sallyport.Allow},
	{name: "+ endorsement, copies", profile: "assist", grants: true, careful: true, copies: true, party: sallyport.Allow},
	{name: "the same, prompt unknown", profile: "assist", untold: true, grants: true, careful: true, copies: true, party: sallyport.Allow},
	{name: "profile strict", profile: "strict", grants: true, careful: true, copies: true, party: sallyport.Ask},
	{name: "profile balanced", profile: "balanced", grants: true, careful: true, copies: true, party: sallyport.Ask},
	{name: "profile assist", profile: "assist", grants: true, careful: true, copies: true, party: sallyport.Ask},
	{name: "profile assist, prompt unknown", profile: "assist", untold: true, grants: true, careful: true, copies: true, party: sallyport.Ask},
}

func (g gate) flow() *sallyport.FlowSettings {
	profile := g.profile
	if profile == "" {
		profile = sallyport.DefaultProfile
	}
	f, _ := sallyport.Profile(profile)
	f.Party = g.party
	if !g.careful {
		f.Carried = sallyport.Allow
	}
	if !g.copies {
		f.Copies = sallyport.Allow
	}
	return &f
}

// contracts returns the entries without what the gate does not have.
func (g gate) contracts(entries []*contract.Contract) []*contract.Contract {
	var all []*contract.Contract
	for _, e := range entries {
		c := *e
		c.Output = slices.DeleteFunc(slices.Clone(e.Output), func(l flow.FieldLabel) bool {
			switch l.Label {
			case flow.LabelVouched, flow.LabelParty, flow.LabelID:
				return !g.grants
			default:
				return !g.careful
			}
		})
		if !g.careful {
			c.Destructive, c.TypedParams = false, nil
		}
		all = append(all, &c)
	}
	return all
}
