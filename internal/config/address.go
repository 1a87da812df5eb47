package config

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

const maxAddresses = 100 // hosts, and origins

// readAddress reads who may call over HTTP, and where.
func (s *Server) readAddress(key string, n *strictyaml.Node, p *strictyaml.Problems) {
	switch key {
	case "allowed_hosts":
		s.AllowedHosts = readAddresses(n, p, isHost, "write a host, or a host and a port: gateway.example or gateway.example:8443")
	case "allowed_origins":
		s.AllowedOrigins = readAddresses(n, p, isOrigin, "write an origin, without a path: https://app.example")
	case "public_url":
		s.PublicURL = readURL(n, p)
		if strings.Contains(s.PublicURL, "?") {
			p.Add(n, "the endpoint has no query; write https://host/path")
		}
	}
}

func readAddresses(n *strictyaml.Node, p *strictyaml.Problems, ok func(string) bool, what string) []string {
	items, _ := n.Strs(p)
	if n.IsList() && n.Len() == 0 {
		p.Add(n, "an empty list allows nothing more than leaving it out")
	}
	if len(items) > maxAddresses {
		p.Add(n, "%d are listed; at most %d are read", len(items), maxAddresses)
		return nil
	}
	var l []string
	for _, item := range items {
		if text := item.Text(); !ok(text) {
			p.Add(item, "%s", what)
		} else {
			l = append(l, text)
		}
	}
	return l
}

// isHost reports what a Host header may say: a name or an address, with or without a port.
func isHost(s string) bool {
	host, port, hasPort := s, "", false
	if i := strings.LastIndexByte(s, ':'); i >= 0 && !strings.HasSuffix(s, "]") {
		host, port, hasPort = s[:i], s[i+1:], true
	}
	if hasPort {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || port[0] == '0' {
			return false
		}
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		inner, closed := strings.CutSuffix(inner, "]")
		ip, err := netip.ParseAddr(inner)
		return closed && err == nil && ip.Is6() && ip.Zone() == ""
	}
	return plainName(host)
}

// isOrigin reports a serialised origin of a page (RFC 6454, section 6.2).
func isOrigin(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.User == nil && s == u.Scheme+"://"+u.Host &&
		isHost(u.Host) && quote.Text(s, 0) == s
}
