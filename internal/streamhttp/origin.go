package streamhttp

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// hostPort is an allowed host. An empty port stands for each.
type hostPort struct{ host, port string }

// parseHost reads "name", "name:port", "[::1]" or "[::1]:port".
func parseHost(s string) (hostPort, bool) {
	host, port := s, ""
	if i := strings.LastIndexByte(s, ':'); i >= 0 && !strings.HasSuffix(s, "]") {
		host, port = s[:i], s[i+1:]
		if port == "" {
			return hostPort{}, false
		}
	}
	for _, c := range port {
		if c < '0' || c > '9' {
			return hostPort{}, false
		}
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		if inner, ok = strings.CutSuffix(inner, "]"); !ok {
			return hostPort{}, false
		}
		ip, err := netip.ParseAddr(inner)
		if err != nil || !ip.Is6() {
			return hostPort{}, false
		}
		return hostPort{ip.String(), port}, true
	}
	if host == "" || strings.ContainsAny(host, ":/@?#[] \t") {
		return hostPort{}, false
	}
	return hostPort{strings.ToLower(host), port}, true
}

// hostAllowed checks the Host header against DNS rebinding: a page of another site whose
// name points here sends that name.
func (h *Handler) hostAllowed(r *http.Request) bool {
	got, ok := parseHost(r.Host)
	if !ok {
		return false
	}
	if slices.ContainsFunc(h.hosts, func(a hostPort) bool { return a.host == got.host && (a.port == "" || a.port == got.port) }) {
		return true
	}
	if onLoopback(r) {
		return got.host == "localhost" || isLoopback(got.host)
	}
	return len(h.hosts) == 0
}

// onLoopback reports whether a request came in on a loopback address. Not knowing counts
// as yes.
func onLoopback(r *http.Request) bool {
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return true
	}
	host, _, err := net.SplitHostPort(addr.String())
	return err != nil || isLoopback(host)
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// parseOrigin reads a serialised origin (RFC 6454, section 6.2) into one form.
func parseOrigin(s string) (string, bool) {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.Opaque != "" || strings.ContainsAny(s, "?#") {
		return "", false
	}
	hp, ok := parseHost(u.Host)
	if !ok || u.Scheme == "" {
		return "", false
	}
	if hp.port == "" || u.Scheme == "http" && hp.port == "80" || u.Scheme == "https" && hp.port == "443" {
		return u.Scheme + "://" + hp.host, true
	}
	return u.Scheme + "://" + hp.host + ":" + hp.port, true
}

// originAllowed checks the Origin header. origin is "" if there is none or if it is that
// of the called host itself, which needs no CORS headers.
func (h *Handler) originAllowed(r *http.Request) (origin string, ok bool) {
	values := r.Header.Values("Origin")
	if len(values) == 0 {
		return "", true
	}
	if len(values) > 1 {
		return "", false
	}
	got, ok := parseOrigin(values[0])
	if !ok { // "null" among them
		return "", false
	}
	if slices.Contains(h.origins, got) {
		return values[0], true
	}
	scheme, _, _ := strings.Cut(got, "://")
	own, ok := parseOrigin(scheme + "://" + r.Host)
	return "", ok && own == got && (scheme == "http" || scheme == "https")
}

// Foreign reports a request that a page of another site may have made: its Origin is none
// that may call, or it came to a loopback address under another name. It is for what stands
// beside the endpoint. Other addresses take any Host there: what probes them knows the
// address and no name.
func (h *Handler) Foreign(r *http.Request) bool {
	_, ok := h.originAllowed(r)
	return !ok || onLoopback(r) && !h.hostAllowed(r)
}

// corsHeaders are what pages of allowed origins may send.
var corsHeaders = []string{
	"Authorization", "Content-Type", "Accept", "Last-Event-ID",
	"Mcp-Session-Id", "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name",
}

// allowOrigin lets pages of origin read the answer. Credentials of the browser's own are
// never allowed: callers are known by their token.
func (h *Handler) allowOrigin(header http.Header, origin string) {
	header.Set("Access-Control-Allow-Origin", origin)
	header.Set("Access-Control-Expose-Headers", "Mcp-Session-Id, WWW-Authenticate, Retry-After")
}

func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
}

// preflight answers before anybody is authenticated: a browser sends no token with it.
func (h *Handler) preflight(w http.ResponseWriter, r *http.Request) {
	allowed := slices.Clone(corsHeaders)
	for name := range strings.SplitSeq(r.Header.Get("Access-Control-Request-Headers"), ",") {
		name = strings.TrimSpace(name)
		if len(allowed) < 64 && isToken(name) && strings.HasPrefix(strings.ToLower(name), strings.ToLower(headerParamPrefix)) {
			allowed = append(allowed, name)
		}
	}
	w.Header().Set("Access-Control-Allow-Methods", "POST, GET, DELETE")
	w.Header().Set("Access-Control-Allow-Headers", strings.Join(allowed, ", "))
	w.Header().Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
}
