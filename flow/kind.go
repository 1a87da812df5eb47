package flow

// kind separates facts, so that a word and a host with the same letters never meet.
// The order is part of the form of facts: add at the end.
type kind uint8

const (
	factWord    kind = iota // a word
	factPair                // two words that follow each other
	factAddress             // a mail address, without tag and dots
	factHost                // a host that has no registrable domain, or a many-tenant host
	factDomain              // a registrable domain
	factTenant              // a many-tenant host and a first path segment
	factTyped               // a canonical form, with its kind, that the user typed
	factRun                 // five words that follow each other
	factKinds               // how many there are
)
