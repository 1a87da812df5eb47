package lint

// Code is one kind of finding. Codes are stable: none is ever used for another thing.
type Code struct {
	ID       string
	Name     string   // kebab-case, for tools
	Severity Severity // the usual one
	Needs    string   // "tools": found only with tool lists; "strict": only with [Options].Strict
	Text     string   // what it is, in one sentence
}

// Codes is the table of all kinds, in order. NotLoaded stands for every problem that
// keeps a file from loading; [Check] never returns it.
var Codes = []Code{
	{NotLoaded, "not-loaded", Error, "", "the file does not load"},

	{"SP101", "rule-never-matches", Warning, "", "an earlier rule covers everything that this one names; an error if this one is stricter"},
	{"SP102", "rule-matches-no-tool", Warning, "tools", "no listed tool has a name that the rule names; an error for deny and ask"},
	{"SP103", "argument-not-in-schema", Warning, "tools", "a constraint looks at an argument that no listed tool of the rule has; an error for deny and ask"},
	{"SP104", "value-outside-enum", Warning, "tools", "a value to compare with that the schema's enum does not have"},
	{"SP105", "value-of-other-type", Warning, "tools", "an operator or value that does not fit the type in the schema"},
	{"SP106", "allow-everything", Warning, "", "an allow rule that names every tool and constrains nothing"},
	{"SP107", "default-allow", Warning, "", "a policy that allows what no rule covers"},
	{"SP108", "never-true", Error, "", "operators of one constraint that no value passes together, such as gt: 50 and lt: 10"},
	{"SP109", "pattern-outside-enum", Warning, "tools", "a pattern that matches none of the values in the schema's enum; an error for deny and ask"},
	{"SP110", "tool-not-named", Note, "tools", "listed tools that no rule of a policy names, but by *"},
	{"SP111", "name-without-prefix", Warning, "", "a rule, or a contract, with a name that no tool has for clients, or for its server, because upstreams' names stand in front; an error for deny and ask; the gateway does not start"},

	{"SP201", "pattern-narrows-nothing", Warning, "", "a pattern that every text matches, such as .*"},
	{"SP202", "redundant-anchor", Note, "", "^, $, \\A or \\z in a pattern that has to match in full anyway"},
	{"SP203", "glob-looks-like-regex", Warning, "", "a glob with .*, ^, $, | or the like, which stand for themselves there"},
	{"SP204", "regex-looks-like-glob", Warning, "", "a pattern such as read_*, where * repeats the character before it"},
	{"SP205", "unescaped-dot", Warning, "", "a dot in a host name that matches any character: example.com also matches examplexcom"},
	{"SP206", "only-optional", Warning, "", "an allow rule whose constraints are all optional: a call that leaves the arguments out is allowed"},
	{"SP207", "optional-in-allow", Note, "", "an optional constraint in an allow rule: leaving the argument out escapes it"},
	{"SP208", "any-in-allow", Warning, "", "quantifier: any in an allow rule: one good element lets the others through"},
	{"SP209", "all-in-deny", Warning, "strict", "[*] in a deny or ask rule without quantifier: any: one good element lets the bad ones through"},
	{"SP210", "one-element", Warning, "", "an allow rule that looks at one element of a list by its index; the others pass unseen"},
	{"SP211", "pattern-for-path", Note, "", "a pattern for everything below a directory, which .. and links lead out of; within follows them"},
	{"SP212", "contains-for-host", Warning, "", "contains in an allow rule with a host name, which can stand anywhere in a URL or address"},

	{"SP301", "sink-flow-off", Warning, "", "an entry turns the flow check off for a tool that sends; an error when the server's list says so"},
	{"SP302", "flow-off", Warning, "", "an entry without exfiltrating turns the flow check off; exfiltrating: false says that this is meant"},
	{"SP303", "sink-left-out", Warning, "", "an entry's sink_params leave out a sink that the server's list has; a note when only a pack for a tool of that name has it"},
	{"SP304", "unknown-allowed", Warning, "", "flow.unknown: allow"},
	{"SP305", "sink-lets-unknown-through", Warning, "", "an allow rule on a sink tool that lets unknown destinations through; an error for untrusted ones"},
	{"SP306", "untrusted-asked", Warning, "", "flow.untrusted: ask"},
	{"SP307", "destination-too-broad", Warning, "", "a trusted destination, host or domain where anybody can have a place: *, a whole top-level domain, public webmail, a many-tenant host"},
	{"SP308", "path-too-broad", Warning, "", "a path prefix that is relative, the root, a system directory or a home directory"},
	{"SP309", "contract-matches-no-tool", Warning, "tools", "a contract for a tool that is not listed"},
	{"SP310", "parameter-not-in-schema", Error, "tools", "a contract names a parameter that the tool does not have"},
	{"SP311", "sink-without-contract", Warning, "tools", "an allow rule on a tool that sends by its schema and has no contract: destinations that nobody vouched for are not let through"},
	{"SP312", "party-allowed", Warning, "", "flow.party: allow"},
	{"SP313", "content-not-asked-about", Warning, "", "flow.carried: allow or flow.copies: allow"},
	{"SP314", "pages-endorsed", Note, "", "flow.endorse: true under a profile that does not endorse"},
	{"SP315", "output-label-too-wide", Warning, "", "a label that loosens the whole output of a tool, or vouched for every element of it; a note for inside"},
	{"SP316", "label-without-upstream", Warning, "", "an entry that vouches, or names parties, and does not name its upstream, in a file with several"},
	{"SP317", "label-not-in-output", Note, "tools", "a label on a field that the tool's outputSchema does not have, so it labels nothing"},

	{"SP401", "secret-in-file", Error, "", "a secret stands in the file; ${VAR} belongs there"},
	{"SP402", "not-encrypted", Warning, "", "an upstream on another machine over http"},
	{"SP403", "unpinned-package", Note, "", "an upstream's command runs whatever version of a package is newest"},
	{"SP404", "unused-rate-limit", Warning, "", "a rate limit that no rule names"},
	{"SP405", "token-without-expiry", Note, "", "a token that is valid for ever"},
	{"SP406", "token-expired", Warning, "", "a token that is valid no more"},
	{"SP407", "token-too-short", Warning, "", "a token whose value can be guessed"},
	{"SP408", "policy-without-token", Warning, "", "a policy that no token reaches, in a file with tokens"},
	{"SP409", "shared-session", Warning, "", "an upstream with session: shared, in a file with several tokens: what one caller makes it keep, the others meet"},

	{"SP501", "dry-run", Warning, "", "mode: dry-run, of the file or of a policy"},
	{"SP502", "nothing-recorded", Warning, "", "audit.path: null"},
	{"SP503", "no-chain", Warning, "", "audit.hash_chain: false"},
	{"SP504", "unrecorded-calls-run", Warning, "", "audit.on_failure: continue"},
	{"SP505", "nothing-redacted", Warning, "", "audit.redact_key_patterns: []"},
	{"SP506", "no-policy", Note, "", "no policy is defined, so every tool is allowed and contracts and the flow guard"},
	{"SP507", "not-forced-to-disk", Note, "", "audit.sync: none"},
	{"SP508", "checkpoints-beside-log", Note, "", "audit.checkpoints in the directory of the log: who can change the one can take away the other"},
	{"SP509", "checkpoint-key", Warning, "", "audit.checkpoints whose signing key is missing or cannot be used on this machine: the gateway does not start"},

	{"SP901", "accept-without-reason", Warning, "", "an accept comment without a reason, without a code or not spelled right; it accepts nothing"},
	{"SP902", "accept-of-nothing", Warning, "", "an accept comment for a finding that is not there"},
}

// NotLoaded is the code of whatever keeps a file from loading.
const NotLoaded = "SP001"

// byID is Codes by ID.
var byID = func() map[string]Code {
	m := make(map[string]Code, len(Codes))
	for _, c := range Codes {
		m[c.ID] = c
	}
	return m
}()

func usual(code string) Severity { return byID[code].Severity }
