package config

import (
	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/flow"
	"github.com/sallyport-dev/sallyport/policy"
)

// Forms of names and values.
const (
	anyName       = `^[^\s](.*[^\s])?$`
	upstreamForm  = `^[A-Za-z0-9_.-]{1,64}$`
	variableForm  = `^[A-Za-z_][A-Za-z0-9_]*$`
	durationForm  = `^[0-9]+(ms|s|m|h|d)$`
	sizeForm      = `^[0-9]+([KMG]i?B)$`
	separatorForm = `^[A-Za-z0-9_.-]{1,8}$`
	selectorForm  = `^(args|tool|upstream|resource|prompt|caller)([.\[].*)?$`
	argumentsForm = `^args([.\[].*)?$`
	absoluteForm  = `^(/|[A-Za-z]:[/\\]|\\\\)`
	hostForm      = `^[^/@\s]+$`
	callHostForm  = `^([A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(:[1-9][0-9]{0,4})?$`
	originForm    = `^https?://([A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(:[1-9][0-9]{0,4})?$`
	publicForm    = `^https?://[^\s#\\@?]+$`
	headerForm    = "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$"
)

// values are the definitions that are no mappings with known keys.
var values = fragment{
	{"variable", fragment{{"type", "string"}, {"pattern", `\$\{[A-Za-z_][A-Za-z0-9_]*\}`}}.with("description", "text with ${VAR}, which the environment replaces")},
	{"effect", enum("allow", "deny", "ask").with("description", "allow, deny, or ask a human")},
	{"duration", shaped(durationForm).with("description", "a number and its unit: 500ms, 30s, 5m, 1h, 1d")},
	{"globs", list(text()).with("description", "globs: * is any text, ? one character, [abc] and [!abc] one of or none of a set; a list is never empty")},
	{"contracts", byName(`^[^/\s*?]+(/[^\s*?]+)?$`, ref("contract"), 1).with("description", "a tool's name, or upstream/tool")},
	{"constraint", fragment{
		{"description", "operators that must all hold; a scalar is short for eq"},
		{"if", typed("object")},
		{"then", ref("operators")},
		{"else", fragment{{"type", []string{"string", "number", "boolean"}}}},
	}},
	{"directories", fragment{{"anyOf", []any{shaped(absoluteForm), list(shaped(absoluteForm))}}}},
	{"hosts", fragment{{"anyOf", []any{shaped(hostForm), list(shaped(hostForm))}}}},
}

// objects are the mappings with known keys; the first is the whole file.
var objects = []object{
	{"configuration", "a whole configuration", []key{
		{"version", "the language's version", fragment{{"const", Version}}, true},
		{"mode", "dry-run decides and records, and enforces nothing; default enforce", enum("enforce", "dry-run"), false},
		{"server", "what the gateway tells its clients of itself", ref("server"), false},
		{"upstreams", "the MCP servers behind the gateway, by name", byName(upstreamForm, ref("upstream"), 1), false},
		{"packs", "shipped contracts: auto takes those whose server is recognised; default auto", fragment{{"anyOf", []any{enum("auto", "none"), list(text())}}}, false},
		{"tools", "contracts, by tool or upstream/tool", byName(`^[^/\s*?]+(/[^\s*?]+)?$`, ref("contract"), 0), false},
		{"flow", "verdicts by where a destination is known from", ref("flow"), false},
		{"policies", "policies by name; without them every tool is allowed", byName(anyName, ref("policy"), 1), false},
		{"rate_limits", "token buckets that rules name", byName(anyName, ref("rate_limit"), 0), false},
		{"tokens", "callers over HTTP and their policies", listOrNone(ref("token")), false},
		{"approvals", "how a person is asked", ref("approvals"), false},
		{"audit", "the log", ref("audit"), false},
	}, nil},
	{"server", "what the gateway tells its clients of itself", []key{
		{"name", "its name; default sallyport", text(), false},
		{"instructions", "shown to the client; default: text that explains refusals", typed("string"), false},
		{"namespace", "when tools get their upstream's name in front: auto with two upstreams or more; default auto", enum("auto", "always", "never"), false},
		{"namespace_separator", "what stands between; default __", shaped(separatorForm), false},
		{"max_tool_name", "bytes of a tool's name with its upstream's in front; what is longer is shortened; default 64", integer(leastToolName, mostToolName), false},
		{"upstream_timeout", "for upstreams that set none; default 30s", ref("duration"), false},
		{"allowed_hosts", "HTTP: values of Host that are taken, with or without a port; default any, and on a loopback address its own names", list(shaped(callHostForm)), false},
		{"allowed_origins", "HTTP: origins whose pages may call, https://app.example; default none but the endpoint's own", list(shaped(originForm)), false},
		{"public_url", "HTTP: the endpoint as clients reach it, if something stands in front of the gateway", shaped(publicForm), false},
		{"session_idle", "without a request, after which a session ends and what it saw is forgotten; default 8h", ref("duration"), false},
		{"max_body_mb", "HTTP: size of a request in MiB; default 64", integer(1, mostBody), false},
		{"drain_timeout", "that open calls get when the gateway stops; default 30s", ref("duration"), false},
	}, nil},
	{"upstream", "one MCP server", []key{
		{"transport", "a child process, or Streamable HTTP", enum("stdio", "http"), true},
		{"command", "stdio: the program to start", text(), false},
		{"args", "stdio: its arguments", listOrNone(typed("string")), false},
		{"env", "stdio: variables set for it", byName(variableForm, typed("string"), 0), false},
		{"inherit_env", "stdio: variables taken from the gateway's environment; nothing else is", listOrNone(shaped(variableForm)), false},
		{"cwd", "stdio: the directory it is started in, relative to this file; default the gateway's own", text(), false},
		{"url", "http: the endpoint", shaped(`^https?://[^\s#\\@]+$`), false},
		{"headers", "http: headers sent with every request", byName(headerForm, typed("string"), 0), false},
		{"ca_file", "http: certificates (PEM) to trust beside the system's, relative to this file", text(), false},
		{"timeout", "for one request; default server.upstream_timeout", ref("duration"), false},
		{"session", "caller: each has a conversation of its own; shared: all have one, for a server that keeps nothing of its callers; default caller", enum("caller", "shared"), false},
		{"idle", "without a message, after which a conversation ends; default 15m", ref("duration"), false},
		{"start_timeout", "for the server to start or to be reached, and to say hello; default 60s", ref("duration"), false},
		{"max_sessions", "conversations at once; default 64", integer(1, maxSessions), false},
	}, fragment{{"allOf", []any{
		when("transport", "stdio", []string{"command"}, httpOnly),
		when("transport", "http", []string{"url"}, stdioOnly),
	}}}},
	{"contract", "what a tool does; it replaces the pack's and the fallback's", []key{
		{"exfiltrating", "the tool sends something out: its destinations are checked", typed("boolean"), false},
		{"sink_params", "selectors of the arguments that hold destinations, or several joined: {owner}/{repo}; default every argument", list(parameter()), false},
		{"destination_optional", "a call that names no destination stays with the caller: it is not asked about", typed("boolean"), false},
		{"trusted_destinations", `addresses, "*@domain", hosts, "*.example.com", URLs or plain names`, list(text()), false},
		{"write_params", "selectors of the arguments that hold paths to write", list(parameter()), false},
		{"path_base", "absolute directory that relative paths start from; without it they are refused", shaped(absoluteForm), false},
		{"allowed_path_prefixes", "absolute directories that paths must lie inside", list(shaped(absoluteForm)), false},
		{"arg_patterns", "selector to RE2 pattern, matched in full", byName(`.`, typed("string"), 1), false},
		{"max_calls", "calls in one session; 0 forbids the tool", fragment{{"type", "integer"}, {"minimum", 0}}, false},
		{"destructive", "a human is asked each time", typed("boolean"), false},
		{"typed_params", "selectors of the arguments that only the user may have written; a human is asked about others", list(parameter()), false},
		{"output", "labels on the tool's output: selector to label, or one label for all of it; default outside", fragment{{"anyOf", []any{
			enum(flow.LabelNames()...), byName(`.`, enum(flow.LabelNames()...), 1),
		}}}, false},
	}, fragment{
		{"minProperties", 1},
		{"dependentSchemas", fragment{
			{"sink_params", sends}, {"trusted_destinations", sends}, {"destination_optional", sends},
		}},
		{"dependentRequired", fragment{{"allowed_path_prefixes", []string{"write_params"}}, {"path_base", []string{"write_params", "allowed_path_prefixes"}}}},
	}},
	{"flow", "verdicts by where a destination is known from", flowSection(), nil},
	{"policy", "an ordered list of rules; the first that matches decides", []key{
		{"description", "for people", typed("string"), false},
		{"default", "for a tool that no rule covers; default deny", ref("effect"), false},
		{"mode", "default: as the whole file", enum("enforce", "dry-run"), false},
		{"hide_denied_tools", "leave out of lists what is denied whatever its arguments; default false", typed("boolean"), false},
		{"hide_denied_resources", "the same for resources; default false", typed("boolean"), false},
		{"hide_denied_prompts", "the same for prompts; default false", typed("boolean"), false},
		{"rules", "in order", listOrNone(ref("rule")), false},
	}, nil},
	{"rule", "an effect, what it is for, and what has to hold", []key{
		{"name", "for the log and for people; default its position, #1", shaped(`^[^#\s](.*[^\s])?$`), false},
		{"effect", "what happens", ref("effect"), true},
		{"tools", "names of tools; without tools, resources and prompts: every tool", ref("globs"), false},
		{"upstreams", "names of upstreams; default every one", ref("globs"), false},
		{"resources", "URIs of resources", ref("globs"), false},
		{"prompts", "names of prompts", ref("globs"), false},
		{"when", "selector to constraint; all have to hold", byName(selectorForm, ref("constraint"), 1), false},
		{"rate_limits", "names of rate limits that a call is charged to", list(text()), false},
		{"reason", "shown to the agent and in the log", typed("string"), false},
	}, fragment{{"if", fragment{
		{"properties", fragment{{"effect", fragment{{"const", "deny"}}}}}, {"required", []string{"effect"}},
	}}, {"then", fragment{{"properties", fragment{{"rate_limits", false}}}}}}},
	{"operators", "operators that must all hold", []key{
		{"eq", "the same JSON value", fragment{}, false},
		{"ne", "another JSON value", fragment{}, false},
		{"in", "one of a list", list(fragment{}), false},
		{"not_in", "none of a list", list(fragment{}), false},
		{"matches", "an RE2 pattern covers the whole text", text(), false},
		{"not_matches", "an RE2 pattern does not cover the whole text", text(), false},
		{"contains", "a text has this part, or a list this element", fragment{{"not", fragment{{"const", ""}}}}, false},
		{"gt", "a greater number", typed("number"), false},
		{"gte", "a number at least as great", typed("number"), false},
		{"lt", "a smaller number", typed("number"), false},
		{"lte", "a number at most as great", typed("number"), false},
		{"max_length", "at most so many characters or elements", fragment{{"type", "integer"}, {"minimum", 0}}, false},
		{"present", "the argument is there", typed("boolean"), false},
		{"absent", "the argument is not there", typed("boolean"), false},
		{"within", "a path inside one of these directories", ref("directories"), false},
		{"host", "the host of a URL, address or host is one of these", ref("hosts"), false},
		{"domain", "the host is one of these or below", ref("hosts"), false},
		{"origin", "where the destination is known from, at the weakest", origins(), false},
		{"optional", "a missing argument passes; default false", typed("boolean"), false},
		{"quantifier", "how many of the values that [*] finds must pass; default all", enum("all", "any"), false},
	}, fragment{{"anyOf", oneOperator()}}},
	{"rate_limit", "a token bucket", []key{
		{"rate", "calls", integer(1, maxRate), true},
		{"per", "in which they come back", ref("duration"), true},
		{"burst", "most calls at once; default rate", integer(1, maxRate), false},
		{"scope", "a bucket for each caller, or one for all; default token", enum("token", "global"), false},
	}, nil},
	{"token", "a caller over HTTP", []key{
		{"name", "the caller's name in rules and in the log", shaped(anyName), true},
		{"policy", "the name of its policy", text(), true},
		{"sha256", "SHA-256 of the token's value, in hexadecimal", shaped(`^[0-9A-Fa-f]{64}$`), false},
		{"env", "the variable that holds the token's value", shaped(variableForm), false},
		{"expires", "2027-01-31, until that day starts (UTC), or 2027-01-31T18:00:00Z", shaped(`^[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt ].+)?$`), false},
		{"ask", "client: a person sits at this client and is asked through it; default code: in a terminal", enum("code", "client"), false},
		{"description", "for people", typed("string"), false},
	}, fragment{{"oneOf", []any{fragment{{"required", []string{"sha256"}}}, fragment{{"required", []string{"env"}}}}}}},
	{"approvals", "how a person is asked before a call that nothing allows or refuses", approvalsSection(), nil},
	{"audit", "the log", []key{
		{"path", "its file, relative to this one; null turns it off; default in the state directory", fragment{{"type", []string{"string", "null"}}, {"minLength", 1}}, false},
		{"hash_chain", "default true", typed("boolean"), false},
		{"include_arguments", "default true", typed("boolean"), false},
		{"max_value_length", "bytes of one string kept; default 512", integer(minMaxValue, maxMaxValue), false},
		{"redact", "selectors of arguments that are replaced by a digest", listOrNone(shaped(argumentsForm)), false},
		{"redact_key_patterns", "RE2 patterns of keys whose values are replaced", listOrNone(typed("string")), false},
		{"on_failure", "a verdict that cannot be written: refuse the call, or let it run; default deny", enum("deny", "continue"), false},
		{"sync", "when records are forced to the disk: always before they count, or every second (interval), or when the system likes (none); default interval", enum("always", "interval", "none"), false},
		{"rotate", "when the log goes on in a new file; default never", ref("rotate"), false},
	}, nil},
	{"rotate", "when the log goes on in a new file", []key{
		{"max_size", "of one file: 100MiB", shaped(sizeForm), false},
		{"max_age", "of a file, from its first record: 7d", ref("duration"), false},
		{"keep", "older files that are kept; default all", integer(1, maxKeep), false},
		{"compress", "older files, by gzip; default false", typed("boolean"), false},
	}, fragment{{"anyOf", []any{fragment{{"required", []string{"max_size"}}}, fragment{{"required", []string{"max_age"}}}}}}},
}

// sends is what an entry with destinations has to say.
var sends = fragment{{"properties", fragment{{"exfiltrating", fragment{{"const", true}}}}}, {"required", []string{"exfiltrating"}}}

// when says what a key with a value needs and forbids.
func when(name, value string, needs, forbids []string) fragment {
	none := fragment{}
	for _, f := range forbids {
		none = append(none, member{f, false})
	}
	return fragment{
		{"if", fragment{{"properties", fragment{{name, fragment{{"const", value}}}}}, {"required", []string{name}}}},
		{"then", fragment{{"required", needs}, {"properties", none}}},
	}
}

func origins() fragment {
	one := enum("trusted", "approved", "typed", "vouched", "party", "inside", "unknown", "untrusted")
	return fragment{{"anyOf", []any{one, list(one)}}}
}

// oneOperator says that modifiers alone are no constraint.
func oneOperator() []any {
	var l []any
	for _, name := range policy.Operators() {
		l = append(l, fragment{{"required", []string{name}}})
	}
	return l
}

func flowSection() []key {
	keys := []key{
		{"profile", "the settings together; those beside it change single ones; default balanced", enum(sallyport.Profiles()...), false},
	}
	for _, v := range flowVerdicts {
		keys = append(keys, key{v.key, v.what, enum(v.choices...), false})
	}
	return append(keys,
		key{"endorse", "a page or file that the user named counts as text from inside; default as the profile", typed("boolean"), false},
		key{"reask", "ask again what a person said no to in the same session; default false", typed("boolean"), false},
		key{"ledger_mb", "memory of a session's ledger in MiB; default 256", fragment{{"type", "integer"}, {"minimum", leastLedger}, {"maximum", mostLedger}}, false})
}
