package config

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

// Transport says how an upstream is reached.
type Transport uint8

const (
	Stdio Transport = iota // a child process
	HTTP                   // Streamable HTTP
)

// String is stdio or http, as in the file.
func (t Transport) String() string {
	if t == HTTP {
		return "http"
	}
	return "stdio"
}

// Upstream is one MCP server behind the gateway. Env and Headers hold secrets: they are
// never logged.
type Upstream struct {
	Name      string
	Source    string // file:line:column
	Transport Transport
	Timeout   time.Duration // 0: the server section's

	Shared       bool          // session: shared: callers share one conversation with it
	Idle         time.Duration // without a message, after which a conversation ends; 0: the gateway's default
	StartTimeout time.Duration // for it to be reached and to say hello; 0: the gateway's default
	MaxSessions  int           // conversations at once; 0: the gateway's default

	// Of stdio.
	Command    string
	Args       []string
	Env        []Setting // set for the child
	InheritEnv []string  // taken from the gateway's own environment; nothing else is
	Cwd        string    // absolute; "": the gateway's own

	// Of http.
	URL     string // absolute, http or https, without user information and fragment
	Headers []Setting
	CAFile  string // absolute: certificates that are trusted beside the system's; "": none
}

// Setting is one name and its value, in the order of the file.
type Setting struct{ Name, Value string }

const (
	maxUpstreams    = 200
	maxUpstreamName = 64 // bytes; the name stands in front of names of tools
	maxURL          = 2000
	minIdle         = time.Second
	maxIdle         = 31 * 24 * time.Hour
	maxSessions     = 10_000
)

var (
	bothKeys     = []string{"transport", "timeout", "session", "idle", "start_timeout", "max_sessions"}
	stdioOnly    = []string{"command", "args", "env", "inherit_env", "cwd"}
	httpOnly     = []string{"url", "headers", "ca_file"}
	stdioKeys    = slices.Concat(bothKeys, stdioOnly)
	httpKeys     = slices.Concat(bothKeys, httpOnly)
	upstreamKeys = slices.Concat(bothKeys, stdioOnly, httpOnly)
)

func (c *Config) readUpstreams(n *strictyaml.Node, p *strictyaml.Problems) {
	entries, ok := n.Entries(p)
	if !ok {
		return
	}
	if len(entries) == 0 {
		p.Add(n, "no upstream is defined here; write one, or leave upstreams out")
	}
	if len(entries) > maxUpstreams {
		p.Add(n, "%d upstreams are defined; at most %d are read", len(entries), maxUpstreams)
		return
	}
	for _, e := range entries {
		if !plainName(e.Name) || len(e.Name) > maxUpstreamName {
			p.Add(e.Key, "an upstream's name has one to %d letters, digits, _ - or . and nothing else: it stands in front of names of tools", maxUpstreamName)
		}
		u := &Upstream{Name: e.Name, Source: e.Key.Place()}
		u.read(e, p, c.File)
		c.Upstreams = append(c.Upstreams, u)
	}
}

func (u *Upstream) read(e strictyaml.Entry, p *strictyaml.Problems, file string) {
	fields, ok := e.Value.Fields(p, upstreamKeys, nil)
	if !ok {
		return
	}
	own, must := stdioKeys, "command"
	if f := fields["transport"]; f == nil {
		p.Add(e.Key, "the upstream %s has no transport; write transport: stdio or transport: http", strictyaml.Quote(e.Name))
		own = upstreamKeys
	} else {
		s, ok := f.OneOf(p, "stdio", "http")
		switch {
		case !ok:
			own = upstreamKeys
		case s == "http":
			u.Transport, own, must = HTTP, httpKeys, "url"
		}
	}
	for _, entry := range e.Value.Pairs() {
		if fields[entry.Name] != nil && !slices.Contains(own, entry.Name) {
			p.Add(entry.Key, "%s has no meaning for transport: %s", entry.Name, u.Transport)
		}
	}
	if fields[must] == nil && len(own) < len(upstreamKeys) {
		p.Add(e.Key, "the upstream %s has no %s, which transport: %s needs", strictyaml.Quote(e.Name), must, u.Transport)
	}
	if f := fields["timeout"]; f != nil {
		u.Timeout = readDuration(f, p, minTimeout, maxTimeout)
	}
	u.readSession(fields, p)
	u.readChild(fields, p, file)
	if f := fields["url"]; f != nil {
		u.URL = readURL(f, p)
	}
	if f := fields["headers"]; f != nil {
		u.Headers = readHeaders(f, p)
	}
	if f := fields["ca_file"]; f != nil {
		u.CAFile = readFileName(f, p, file, "write the file with the certificates, in PEM form")
	}
}

// readSession reads whose conversations there are with the upstream, and how many.
func (u *Upstream) readSession(fields map[string]*strictyaml.Node, p *strictyaml.Problems) {
	if f := fields["session"]; f != nil {
		s, _ := f.OneOf(p, "caller", "shared")
		u.Shared = s == "shared"
	}
	if f := fields["idle"]; f != nil {
		u.Idle = readDuration(f, p, minIdle, maxIdle)
	}
	if f := fields["start_timeout"]; f != nil {
		u.StartTimeout = readDuration(f, p, minTimeout, maxTimeout)
	}
	if f := fields["max_sessions"]; f != nil {
		n, ok := f.Int(p)
		if ok && (n < 1 || n > maxSessions) {
			p.Add(f, "write a number of conversations from 1 to %d", maxSessions)
		}
		u.MaxSessions = int(min(max(n, 1), maxSessions))
	}
}

// readChild reads what a child process is started with.
func (u *Upstream) readChild(fields map[string]*strictyaml.Node, p *strictyaml.Problems, file string) {
	if f := fields["command"]; f != nil {
		u.Command, _ = f.Str(p)
		if f.IsText() && (strings.TrimSpace(u.Command) == "" || quote.Text(u.Command, 0) != u.Command) {
			p.Add(f, "write the program to start; arguments go into args")
		}
	}
	if f := fields["args"]; f != nil {
		items, _ := f.Strs(p)
		for _, item := range items {
			if strings.ContainsRune(item.Text(), 0) {
				p.Add(item, "an argument cannot hold a NUL character")
			}
			u.Args = append(u.Args, item.Text())
		}
	}
	if f := fields["env"]; f != nil {
		u.Env = readEnv(f, p)
	}
	if f := fields["inherit_env"]; f != nil {
		items, _ := f.Strs(p)
		for _, item := range items {
			name := item.Text()
			switch {
			case !isVariable(name):
				p.Add(item, "%s is no variable's name; each variable to inherit is named", strictyaml.Quote(name))
			case slices.Contains(u.InheritEnv, name):
				p.Add(item, "the variable %s is already named", strictyaml.Quote(name))
			case slices.ContainsFunc(u.Env, func(s Setting) bool { return s.Name == name }):
				p.Add(item, "the variable %s is already set in env; remove one", strictyaml.Quote(name))
			}
			u.InheritEnv = append(u.InheritEnv, name)
		}
	}
	if f := fields["cwd"]; f != nil {
		if s, ok := f.Str(p); ok && s == "" {
			p.Add(f, "the directory is empty; leave cwd out for the gateway's own")
		} else if ok {
			u.Cwd, _ = absolute(f, p, file, s)
		}
	}
}

func readEnv(n *strictyaml.Node, p *strictyaml.Problems) []Setting {
	entries, _ := n.Entries(p)
	var l []Setting
	for _, e := range entries {
		if !isVariable(e.Name) {
			p.Add(e.Key, "%s is no variable's name", strictyaml.Quote(e.Name))
		}
		s, _ := e.Value.Str(p)
		if strings.ContainsRune(s, 0) {
			p.Add(e.Value, "a variable cannot hold a NUL character")
		}
		l = append(l, Setting{e.Name, s})
	}
	return l
}

// readURL quotes nothing of a URL: it may hold a secret.
func readURL(n *strictyaml.Node, p *strictyaml.Problems) string {
	s, ok := n.Str(p)
	if !ok {
		return ""
	}
	u, err := url.Parse(s)
	switch {
	case err != nil || len(s) > maxURL || quote.Text(s, 0) != s || strings.ContainsAny(s, " \\"):
		p.Add(n, "this is no URL; write https://host/path")
	case u.Scheme != "http" && u.Scheme != "https":
		p.Add(n, "write a URL that starts with https:// (or http://, on this machine)")
	case u.Hostname() == "":
		p.Add(n, "the URL names no host")
	case u.User != nil:
		p.Add(n, "a URL with user information ends up in logs; write an Authorization header")
	case strings.Contains(s, "#"):
		p.Add(n, "a fragment is not sent to a server; leave it out")
	default:
		return s
	}
	return ""
}

// ownHeaders are set by the gateway or its transport, and must mean what they say.
var ownHeaders = []string{
	"accept", "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "expect", "host",
	"keep-alive", "last-event-id", "origin", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
}

func readHeaders(n *strictyaml.Node, p *strictyaml.Problems) []Setting {
	entries, _ := n.Entries(p)
	var l []Setting
	for _, e := range entries {
		lower := strings.ToLower(e.Name)
		switch {
		case !isHeaderName(e.Name):
			p.Add(e.Key, "%s is no header's name", strictyaml.Quote(e.Name))
		case slices.Contains(ownHeaders, lower) || strings.HasPrefix(lower, "mcp-"):
			p.Add(e.Key, "the header %s is set by the gateway itself", strictyaml.Quote(e.Name))
		case slices.ContainsFunc(l, func(s Setting) bool { return strings.ToLower(s.Name) == lower }):
			p.Add(e.Key, "the header %s is already set; names of headers do not differ by case", strictyaml.Quote(e.Name))
		}
		s, ok := e.Value.Str(p)
		if ok && (strings.TrimSpace(s) != s || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })) {
			p.Add(e.Value, "a header's value has no line breaks, no other control characters and no white space at its ends")
		}
		l = append(l, Setting{e.Name, s})
	}
	return l
}

// isHeaderName reports a token of RFC 9110, section 5.6.2.
func isHeaderName(s string) bool {
	for i := range len(s) {
		b := s[i]
		if (b < 'a' || b > 'z') && (b < 'A' || b > 'Z') && (b < '0' || b > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(b)) {
			return false
		}
	}
	return s != ""
}
