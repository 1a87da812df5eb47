package serve

import (
	"encoding/json"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// metadata answers with the protected-resource metadata (RFC 9728, section 2): which
// resource this is and how a token is presented. There is no authorization server to
// name: tokens are handed out by a person.
func (s *Server) metadata(w http.ResponseWriter, r *http.Request) {
	resource := s.resource(r)
	rest := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, metadataPath), "/")
	if resource == "" || rest != "" && rest != s.opt.Path && rest != pathOf(resource) {
		plain(w, r, http.StatusNotFound, "not found")
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		plain(w, r, http.StatusOK, "") // says 405
		return
	}
	h := w.Header()
	if origin := r.Header.Get("Origin"); origin != "" && slices.Contains(s.opt.MCP.AllowedOrigins, origin) {
		h.Set("Access-Control-Allow-Origin", origin)
	}
	h.Set("Vary", "Origin, Host")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Type", "application/json")
	body, err := json.Marshal(map[string]any{"resource": resource, "bearer_methods_supported": []string{"header"}})
	if err != nil {
		panic(err) // two strings
	}
	_, _ = w.Write(body)
}

// metadataURL is where a client finds the metadata, "" if there is none: between host
// and path of the resource (RFC 9728, section 3.1).
func (s *Server) metadataURL(r *http.Request) string {
	resource := s.resource(r)
	u, err := url.Parse(resource)
	if resource == "" || err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host + metadataPath + strings.TrimSuffix(u.EscapedPath(), "/")
}

// resource is the endpoint's URL as the client knows it: what the configuration says, else
// what the request says, where that has to be true. Behind something that encrypts, it is
// not known.
func (s *Server) resource(r *http.Request) string {
	switch {
	case s.opt.PublicURL != "":
		return s.opt.PublicURL
	case r.TLS != nil:
		return "https://" + r.Host + s.opt.Path
	case isOwnName(r.Host):
		return "http://" + r.Host + s.opt.Path
	}
	return ""
}

// isOwnName reports a Host header that means this machine.
func isOwnName(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback()
}

func pathOf(resource string) string {
	u, err := url.Parse(resource)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(u.Path, "/")
}
