package config

import (
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

const (
	maxPattern  = 1000    // bytes of one regular expression
	minMaxValue = 16      // bytes; less shows nothing
	maxMaxValue = 1 << 20 // bytes

	minMaxSize = 1 << 20 // bytes of a log's file; one record can have 100 KB
	maxMaxSize = 1 << 40
	minMaxAge  = time.Second
	maxMaxAge  = 10 * 365 * 24 * time.Hour
	maxKeep    = 100_000 // files
)

var auditKeys = []string{
	"path", "hash_chain", "include_arguments", "max_value_length", "redact", "redact_key_patterns", "on_failure", "sync", "rotate",
}

var rotateKeys = []string{"max_size", "max_age", "keep", "compress"}

func (c *Config) readAudit(n *strictyaml.Node, p *strictyaml.Problems) {
	fields, ok := n.Fields(p, auditKeys, nil)
	if !ok {
		return
	}
	a := &c.Audit
	for name, f := range fields {
		switch name {
		case "path":
			if f.IsNull() && f.Text() == "" {
				p.Add(f, "the path is missing; write null to keep no log, or leave the key out for the default")
			} else if f.IsNull() {
				a.Off = true
			} else {
				a.Path = readPath(f, p, c.File)
			}
		case "hash_chain":
			chain, ok := f.Bool(p)
			a.NoChain = ok && !chain
		case "include_arguments":
			include, ok := f.Bool(p)
			a.DropArguments = ok && !include
		case "max_value_length":
			a.MaxValue = readMaxValue(f, p)
		case "redact":
			a.Redact = readRedact(f, p)
		case "redact_key_patterns":
			a.KeyPatterns = readPatterns(f, p)
		case "on_failure":
			s, _ := f.OneOf(p, "deny", "continue")
			a.ContinueOnFailed = s == "continue"
		case "sync":
			s, _ := f.OneOf(p, "always", "interval", "none")
			a.Sync = map[string]audit.Sync{"always": audit.SyncAlways, "none": audit.SyncNone}[s]
		case "rotate":
			a.Rotate = readRotate(f, p)
		}
	}
}

func readRotate(n *strictyaml.Node, p *strictyaml.Problems) (r audit.Rotation) {
	fields, ok := n.Fields(p, rotateKeys, nil)
	if !ok {
		return r
	}
	for name, f := range fields {
		switch name {
		case "max_size":
			r.MaxSize = readSize(f, p, minMaxSize, maxMaxSize)
		case "max_age":
			r.MaxAge = readDuration(f, p, minMaxAge, maxMaxAge)
		case "keep":
			k, ok := f.Int(p)
			if ok && (k < 1 || k > maxKeep) {
				p.Add(f, "write how many older files are kept, from 1 to %d; leave the key out to keep all", maxKeep)
			}
			r.Keep = int(min(max(k, 1), maxKeep))
		case "compress":
			r.Compress, _ = f.Bool(p)
		}
	}
	if fields["max_size"] == nil && fields["max_age"] == nil {
		p.Add(n, "rotate says neither max_size nor max_age, so nothing is rotated; write max_size: 100MiB")
	}
	return r
}

// readPath makes a path absolute: relative ones start at the configuration's
// directory, wherever the program was started.
func readPath(n *strictyaml.Node, p *strictyaml.Problems, file string) string {
	s, ok := n.Str(p)
	if !ok {
		return ""
	}
	switch {
	case s == "":
		p.Add(n, "the path is empty; write null to keep no log")
		return ""
	case strings.HasSuffix(s, "/"), filepath.Base(s) == ".", filepath.Base(s) == "..":
		p.Add(n, "the path names a directory; write the log's file")
		return ""
	}
	path, _ := absolute(n, p, file, s)
	return path
}

func readMaxValue(n *strictyaml.Node, p *strictyaml.Problems) int {
	v, ok := n.Int(p)
	if ok && (v < minMaxValue || v > maxMaxValue) {
		p.Add(n, "write a number of bytes from %d to %d", minMaxValue, maxMaxValue)
	}
	return int(min(max(v, minMaxValue), maxMaxValue))
}

// readRedact reads selectors into a call, of which only the arguments can be redacted.
func readRedact(n *strictyaml.Node, p *strictyaml.Problems) []doc.Selector {
	items, _ := n.Strs(p)
	var l []doc.Selector
	for _, item := range items {
		rest, ok := strings.CutPrefix(item.Text(), "args")
		if !ok || rest != "" && rest[0] != '.' && rest[0] != '[' {
			p.Add(item, "the selector %s does not start with args; only arguments are redacted: args.name", strictyaml.Quote(item.Text()))
			continue
		}
		if len(rest) > 1 && rest[0] == '.' && rest[1] != '.' {
			rest = rest[1:]
		}
		s, err := doc.ParseSelector(rest)
		if err != nil {
			p.Add(item, "the selector %s: %v", strictyaml.Quote(item.Text()), err)
			continue
		}
		l = append(l, s)
	}
	return l
}

// readPatterns never returns nil: an empty list means no pattern, not the defaults.
func readPatterns(n *strictyaml.Node, p *strictyaml.Problems) []*regexp.Regexp {
	items, _ := n.Strs(p)
	l := make([]*regexp.Regexp, 0, len(items))
	for _, item := range items {
		s := item.Text()
		if len(s) > maxPattern {
			p.Add(item, "the pattern has %d bytes; at most %d are read", len(s), maxPattern)
			continue
		}
		re, err := regexp.Compile(s)
		if err != nil {
			p.Add(item, "the pattern %s: %v", strictyaml.Quote(s), err)
			continue
		}
		l = append(l, re)
	}
	return l
}
