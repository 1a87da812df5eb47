package flow

// kind separates facts, so that a word and a host with the same letters never meet.
// The order is part of the form of facts: add at the end.
type kind uint8

const (
	factWord       kind = iota // a word
	factPair                   // two words that follow each other
	factAddress                // a mail address, without tag and dots
	factHost                   // a host that has no registrable domain, or a many-tenant host
	factDomain                 // a registrable domain
	factTenant                 // a many-tenant host and a first path segment
	factTyped                  // a canonical form, with its kind, that the user typed
	factPlace                  // a host as it stands, with the path behind it
	factExact                  // a canonical form, with its kind, found in text
	factVouched                // a canonical form that is a whole field with the label vouched
	factParty                  // the same for party
	factID                     // the same for id
	factWritten                // a canonical form that the agent wrote itself
	factSecret                 // letters and digits of a value that must not leave
	factRun                    // five words that follow each other
	factNamed                  // a canonical form that the agent named before any output showed it
	factOwnID                  // an id that a server gave for one of its own
	factMailDomain             // the domain of a mail address, as factDomain or factHost of it would be
	factKinds                  // how many there are
)

// A family is whose text a fact comes from. Facts of two families never meet: each has
// keys of its own. Grants (vouched, party, id), secrets and what the agent wrote are of
// the first.
type family uint8

const (
	outside  family = iota // everything that no label says otherwise of
	inside                 // label inside
	endorsed               // a page or file that the user named
	families
)

// holding is what a ledger may hold, a bit for each sort of fact that most sessions have
// none of: no lookup asks for one that was never recorded.
type holding uint8

const (
	holdsInside holding = 1 << iota
	holdsEndorsed
	holdsVouched
	holdsParty
	holdsID
	holdsWritten
	holdsNamed
	holdsAll = 1<<iota - 1
)
