package flow

// Origin is where a destination is known from, weakest first.
type Origin uint8

const (
	// Malformed: it must be refused outright. It holds control characters, user
	// information, a backslash, bidirectional marks, or an unusable scheme.
	Malformed Origin = iota
	Untrusted        // it stands in recorded output
	Unknown          // never seen
	Inside           // label inside, or a page or file that the user named
	Party            // label party
	Vouched          // label vouched
	Typed            // the user wrote it
	Approved         // a human said yes (given by the engine)
	Trusted          // in trusted_destinations (given by the engine, see Pattern)
)

var originNames = [...]string{"malformed", "untrusted", "unknown", "inside", "party", "vouched", "typed", "approved", "trusted"}

// String gives the name used in configuration, log and messages.
func (o Origin) String() string {
	if int(o) < len(originNames) {
		return originNames[o]
	}
	return "invalid"
}

// DestKind says how a destination was read.
type DestKind uint8

const (
	Text  DestKind = iota // anything that is none of the following: a channel, a payee, an account, a handle
	Email                 // one mail address
	URL                   // with a scheme, or a host followed by a path
	Host                  // a host name or IP address, port allowed
)

var kindNames = [...]string{"text", "email", "url", "host"}

// String gives the kind in lower case, for logs and messages.
func (k DestKind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "invalid"
}
