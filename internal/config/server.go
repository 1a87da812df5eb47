package config

import (
	"time"

	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
	"github.com/sallyport-dev/sallyport/policy"
)

// Server is what the gateway tells its clients of itself, as one server in front of all.
type Server struct {
	Name            string
	Instructions    string // "": a default that explains refusals
	Namespace       Namespace
	Separator       string        // between an upstream's name and a tool's
	MaxToolName     int           // bytes of a tool name with its prefix, above which clients see a shorter one
	UpstreamTimeout time.Duration // for an upstream that sets none

	// Of HTTP.
	AllowedHosts   []string      // values of Host that are taken, with or without a port; none: the listener's own
	AllowedOrigins []string      // scheme://host[:port] of pages that may call
	PublicURL      string        // the endpoint as clients reach it; "": not known
	SessionIdle    time.Duration // without a request, after which a session ends and what it saw is forgotten
	MaxBody        int64         // bytes of one request
	DrainTimeout   time.Duration // that open calls get when the gateway stops
}

// Namespace says when the names of tools get their upstream's name in front.
type Namespace uint8

const (
	NamespaceAuto   Namespace = iota // with two upstreams or more
	NamespaceAlways                  // even with one
	NamespaceNever
)

// String is auto, always or never, as in the file.
func (n Namespace) String() string {
	return [...]string{"auto", "always", "never"}[n]
}

const (
	maxInstructions = 16 << 10 // bytes
	minTimeout      = 100 * time.Millisecond
	maxTimeout      = 24 * time.Hour
	mostBody        = 1024 // MiB
	leastToolName   = 32   // bytes
	mostToolName    = 256
)

// defaultServer is what holds without a server section.
func defaultServer() Server {
	return Server{
		Name: "sallyport", Separator: "__", MaxToolName: 64, UpstreamTimeout: 30 * time.Second,
		SessionIdle: 8 * time.Hour, MaxBody: 64 << 20, DrainTimeout: 30 * time.Second,
	}
}

var serverKeys = []string{
	"name", "instructions", "namespace", "namespace_separator", "max_tool_name", "upstream_timeout",
	"allowed_hosts", "allowed_origins", "public_url", "session_idle", "max_body_mb", "drain_timeout",
}

func (c *Config) readServer(n *strictyaml.Node, p *strictyaml.Problems) {
	fields, ok := n.Fields(p, serverKeys, nil)
	if !ok {
		return
	}
	s := &c.Server
	for key, f := range fields {
		switch key {
		case "name":
			if text, ok := f.Str(p); ok {
				s.Name = text
				if err := policy.CheckName(text); err != nil {
					p.Add(f, "the server's name %v", err)
				}
			}
		case "instructions":
			text, _ := f.Str(p)
			if s.Instructions = text; len(text) > maxInstructions {
				p.Add(f, "the instructions have %d bytes; at most %d are shown to a client", len(text), maxInstructions)
			}
		case "namespace":
			switch choice, _ := f.OneOf(p, "auto", "always", "never"); choice {
			case "always":
				s.Namespace = NamespaceAlways
			case "never":
				s.Namespace = NamespaceNever
			}
		case "namespace_separator":
			if text, ok := f.Str(p); ok {
				s.Separator = text
				if !isSeparator(text) {
					p.Add(f, "write one to eight of the characters that names of tools may have: letters, digits, _ - .")
				}
			}
		case "max_tool_name":
			n, ok := f.Int(p)
			if ok && (n < leastToolName || n > mostToolName) {
				p.Add(f, "write %d to %d bytes", leastToolName, mostToolName)
			}
			s.MaxToolName = int(min(max(n, leastToolName), mostToolName))
		case "upstream_timeout":
			s.UpstreamTimeout = readDuration(f, p, minTimeout, maxTimeout)
		case "session_idle":
			s.SessionIdle = readDuration(f, p, minIdle, maxIdle)
		case "drain_timeout":
			s.DrainTimeout = readDuration(f, p, minTimeout, maxTimeout)
		case "max_body_mb":
			mb, ok := f.Int(p)
			if ok && (mb < 1 || mb > mostBody) {
				p.Add(f, "write 1 to %d megabytes", mostBody)
			}
			s.MaxBody = min(max(mb, 1), mostBody) << 20
		default:
			s.readAddress(key, f, p)
		}
	}
}

func isSeparator(s string) bool {
	return s != "" && len(s) <= 8 && plainName(s) && quote.Text(s, 0) == s
}

// plainName reports ASCII letters, digits, _ - and . only.
func plainName(s string) bool {
	for i := range len(s) {
		b := s[i]
		if (b < 'a' || b > 'z') && (b < 'A' || b > 'Z') && (b < '0' || b > '9') && b != '_' && b != '-' && b != '.' {
			return false
		}
	}
	return s != ""
}
