// Package lint finds what loads and is probably not what its author wants: rules that
// can never match, constraints that constrain nothing, trust that is too broad, secrets
// in the file. It is a pure function of a loaded configuration, and optionally of the
// tools that servers list.
//
// It never reads a file, changes a configuration, shows a secret that it found, or takes
// part in a decision.
//
// # Codes
//
// Each finding has a code, which is never used for another thing, and a severity: an
// error is a hole or a rule that does not do what it says, a warning weakens the guard
// or does nothing, a note is worth knowing and often meant. Behind some names stands what
// they need: "tools" are only found when tools are listed, "strict" only under
// [Options].Strict.
//
//	SP001  error    not-loaded: the file does not load
//	SP101  warning  rule-never-matches: an earlier rule covers everything that this one names; an error if this one is stricter
//	SP102  warning  rule-matches-no-tool (tools): no listed tool has a name that the rule names; an error for deny and ask
//	SP103  warning  argument-not-in-schema (tools): a constraint looks at an argument that no listed tool of the rule has; an error for deny and ask
//	SP104  warning  value-outside-enum (tools): a value to compare with that the schema's enum does not have
//	SP105  warning  value-of-other-type (tools): an operator or value that does not fit the type in the schema
//	SP106  warning  allow-everything: an allow rule that names every tool and constrains nothing
//	SP107  warning  default-allow: a policy that allows what no rule covers
//	SP108  error    never-true: operators of one constraint that no value passes together, such as gt: 50 and lt: 10
//	SP109  warning  pattern-outside-enum (tools): a pattern that matches none of the values in the schema's enum; an error for deny and ask
//	SP110  note     tool-not-named (tools): listed tools that no rule of a policy names, but by *
//	SP111  warning  name-without-prefix: a rule, or a contract, with a name that no tool has for clients, or for its server, because upstreams' names stand in front; an error for deny and ask; the gateway does not start
//	SP201  warning  pattern-narrows-nothing: a pattern that every text matches, such as .*
//	SP202  note     redundant-anchor: ^, $, \A or \z in a pattern that has to match in full anyway
//	SP203  warning  glob-looks-like-regex: a glob with .*, ^, $, | or the like, which stand for themselves there
//	SP204  warning  regex-looks-like-glob: a pattern such as read_*, where * repeats the character before it
//	SP205  warning  unescaped-dot: a dot in a host name that matches any character: example.com also matches examplexcom
//	SP206  warning  only-optional: an allow rule whose constraints are all optional: a call that leaves the arguments out is allowed
//	SP207  note     optional-in-allow: an optional constraint in an allow rule: leaving the argument out escapes it
//	SP208  warning  any-in-allow: quantifier: any in an allow rule: one good element lets the others through
//	SP209  warning  all-in-deny (strict): [*] in a deny or ask rule without quantifier: any: one good element lets the bad ones through
//	SP210  warning  one-element: an allow rule that looks at one element of a list by its index; the others pass unseen
//	SP211  note     pattern-for-path: a pattern for everything below a directory, which .. and links lead out of; within follows them
//	SP212  warning  contains-for-host: contains in an allow rule with a host name, which can stand anywhere in a URL or address
//	SP301  warning  sink-flow-off: an entry turns the flow check off for a tool that sends; an error when the server's list says so
//	SP302  warning  flow-off: an entry without exfiltrating turns the flow check off; exfiltrating: false says that this is meant
//	SP303  warning  sink-left-out: an entry's sink_params leave out a sink that the server's list has; a note when only a pack for a tool of that name has it
//	SP304  warning  unknown-allowed: flow.unknown: allow
//	SP305  warning  sink-lets-unknown-through: an allow rule on a sink tool that lets unknown destinations through; an error for untrusted ones
//	SP306  warning  untrusted-asked: flow.untrusted: ask
//	SP307  warning  destination-too-broad: a trusted destination, host or domain where anybody can have a place: *, a whole top-level domain, public webmail, a many-tenant host
//	SP308  warning  path-too-broad: a path prefix that is relative, the root, a system directory or a home directory
//	SP309  warning  contract-matches-no-tool (tools): a contract for a tool that is not listed
//	SP310  error    parameter-not-in-schema (tools): a contract names a parameter that the tool does not have
//	SP311  warning  sink-without-contract (tools): an allow rule on a tool that sends by its schema and has no contract: destinations that nobody vouched for are not let through
//	SP312  warning  party-allowed: flow.party: allow
//	SP313  warning  content-not-asked-about: flow.carried: allow or flow.copies: allow
//	SP314  note     pages-endorsed: flow.endorse: true under a profile that does not endorse
//	SP315  warning  output-label-too-wide: a label that loosens the whole output of a tool, or vouched for every element of it; a note for inside
//	SP316  warning  label-without-upstream: an entry that vouches, or names parties, and does not name its upstream, in a file with several
//	SP317  note     label-not-in-output (tools): a label on a field that the tool's outputSchema does not have, so it labels nothing
//	SP401  error    secret-in-file: a secret stands in the file; ${VAR} belongs there
//	SP402  warning  not-encrypted: an upstream on another machine over http
//	SP403  note     unpinned-package: an upstream's command runs whatever version of a package is newest
//	SP404  warning  unused-rate-limit: a rate limit that no rule names
//	SP405  note     token-without-expiry: a token that is valid for ever
//	SP406  warning  token-expired: a token that is valid no more
//	SP407  warning  token-too-short: a token whose value can be guessed
//	SP408  warning  policy-without-token: a policy that no token reaches, in a file with tokens
//	SP409  warning  shared-session: an upstream with session: shared, in a file with several tokens: what one caller makes it keep, the others meet
//	SP501  warning  dry-run: mode: dry-run, of the file or of a policy
//	SP502  warning  nothing-recorded: audit.path: null
//	SP503  warning  no-chain: audit.hash_chain: false
//	SP504  warning  unrecorded-calls-run: audit.on_failure: continue
//	SP505  warning  nothing-redacted: audit.redact_key_patterns: []
//	SP506  note     no-policy: no policy is defined, so every tool is allowed and contracts and the flow guard
//	SP507  note     not-forced-to-disk: audit.sync: none
//	SP508  note     checkpoints-beside-log: audit.checkpoints in the directory of the log: who can change the one can take away the other
//	SP509  warning  checkpoint-key: audit.checkpoints whose signing key is missing or cannot be used on this machine: the gateway does not start
//	SP901  warning  accept-without-reason: an accept comment without a reason, without a code or not spelled right; it accepts nothing
//	SP902  warning  accept-of-nothing: an accept comment for a finding that is not there
//
// # Accepting
//
// A file accepts a finding in place, with a reason, beside the value or in the line
// above:
//
//	# sallyport:accept SP106 because the server has only reads
//
// Several codes are separated by commas. A comment beside a value is for its own line
// alone; one that has its line to itself is for the next line that holds more than a
// comment. An accept without a reason accepts nothing, and one for a finding that is not
// there is a finding itself, so that none outlives what it was for.
package lint
