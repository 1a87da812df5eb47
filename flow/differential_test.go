package flow

import (
	"fmt"
	"net/mail"
	neturl "net/url"
	"strings"
	"testing"

	whatwg "github.com/nlnwa/whatwg-url/url"
	"pgregory.net/rapid"
)

// FuzzAddressAgainstNetMail: an address that the standard library reads as another one
// is refused here, or matches no pattern.
func FuzzAddressAgainstNetMail(f *testing.F) {
	for _, s := range []string{"a@x.example", `"a" <a@x.example>`, "a@x.example (c)", `"a@b"@x.example`, "a@[1.2.3.4]", "=?utf-8?q?a?= <a@x.example>", "<@r:a@x.example>", "a @ x.example", "g: a@x.example;", "é@x.example", "a@xn--a.example", "a@X.example.", "a\u00a0@x.example", `"\a"@x.example`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if why := addressDiffers(s); why != "" {
			t.Fatal(why)
		}
	})
}

func addressDiffers(s string) string {
	d := parseOne(s)
	a, err := mail.ParseAddress(s)
	if d.Kind != Email || d.Malformed != "" || err != nil {
		return ""
	}
	local, domain, _ := cutLast(a.Address, '@')
	h, why := canonicalHost(strings.TrimPrefix(strings.Trim(domain, "[]"), "IPv6:"))
	if why == "" && lowerASCII(local)+"@"+mailHost(h) == d.Canonical {
		return ""
	}
	if p, err := ParsePattern(d.Canonical); err == nil && p.Matches(d) {
		return fmt.Sprintf("%q is %q here and %q to net/mail", s, d.Canonical, a.Address)
	}
	return ""
}

func cutLast(s string, c byte) (before, after string, found bool) {
	if i := strings.LastIndexByte(s, c); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}

// FuzzURLAgainstOthers: a URL whose host the URL standard, or the standard library,
// reads as another one is refused here.
func FuzzURLAgainstOthers(f *testing.F) {
	for _, s := range []string{
		"https://x.example/a?b#c", "https://x.example:443/", "https:x.example", "https:/x.example", "https:///x.example", `https:\\x.example`, `https://x.example\@y.example`, "https://a@x.example", "https://a:b@x.example/",
		"https://x.example:80:90/", "https://x%2eexample/", "https://x。example/", "http://1.2.3", "http://0x7f.1/", "http://[::1]/", "http://[::1%25x]/", "http://x.example#@y.example/", "http://x.example?@y.example/",
		"http://x.example;y.example/", "http://x_y.example/", "ht\ntp://x.example/", " http://x.example/ ", "http://x.example/\u2028", "http://ﬀ.example/", "http://ß.example/", "http://xn--zca.example/", "ftp://x.example/", "ssh://x.example/",
		"http://x.example:/", "http://x.example:0/", "http://x.example:00080/", "http://a..b/", "http://-a.example/", "http://a.example./", "http://a,b.example/", "http://1.2.3.4.5/", "http://4294967296/", "wss://x.example/",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if why := urlDiffers(s); why != "" {
			t.Fatal(why)
		}
	})
}

var standard = whatwg.NewParser()

func urlDiffers(s string) string {
	d := parseOne(s)
	if d.Kind != URL || d.Malformed != "" || webSchemes[d.parts.scheme] == "" {
		return ""
	}
	raw := strings.TrimSuffix(strings.TrimPrefix(trimSpace(s), "<"), ">")
	raw, _, _ = strings.Cut(raw, "|")
	u, err := standard.Parse(raw)
	if err != nil {
		return fmt.Sprintf("%q is %q here, and no URL to the standard", s, d.Canonical)
	}
	if h, why := canonicalHost(u.Hostname()); why != "" || h != d.parts.host || u.Scheme() != d.parts.scheme || u.Username() != "" {
		return fmt.Sprintf("%q is %q here, and %q to the standard", s, d.Canonical, u.Href(false))
	}
	if n, err := neturl.Parse(raw); err == nil {
		if h, why := canonicalHost(n.Hostname()); why != "" || h != d.parts.host || n.User != nil {
			return fmt.Sprintf("%q is %q here, and %q to net/url", s, d.Canonical, n.Host)
		}
	}
	return ""
}

// The same with URLs put together from what readers are known to disagree on: more than
// bytes drawn at random ever hit.
func TestURLsThatReadersDisagreeOn(t *testing.T) {
	draw := func(of ...string) *rapid.Generator[string] { return rapid.SampledFrom(of) }
	scheme := draw("https", "http", "HTTP", "ws", "ftp", "http\t", "hhttp", "")
	slashes := draw("://", ":/", ":", ":///", `:\\\\`, `:/\\`, "//", ":////", ":\t//")
	user := draw("", "", "", "a@", "a:b@", "@", "x.example@", "x.example:80@", "%40", "a%40b@", `\\@`, "#@", "?@", ";@")
	host := draw("x.example", "X.EXAMPLE", "x.example.", "x%2eexample", "x。example", "ｘ.example", "1.2.3.4", "0x1.2.3", "01.02.03.04", "1.2.3.4.", "4294967295", "[::1]", "[::ffff:1.2.3.4]", "[1.2.3.4]", "[::1%25a]", "[::1", "x..example", ".x.example", "-x.example", "x_.example", "xn--a.example", "ß.example", "a,b.example", "a b.example", "a|b.example", "a^b.example", "x.example\u00ad", "x\u200d.example", "", "%00", "x.example\u2024com", "١.2.3.4", "x.example\u3000")
	port := draw("", "", "", ":", ":80", ":080", ":0", ":65536", ":8 0", ":80:90", ":８０", ":+80", ":80a")
	path := draw("", "/", "/a", `\\a`, "?a", "#a", ";a", "/../..", "/%2e%2e/a", "/a@y.example", "?@y.example/", "#@y.example/", "/:80", " ", "\u2028", "/\u202e")
	rapid.Check(t, func(t *rapid.T) {
		s := scheme.Draw(t, "scheme") + slashes.Draw(t, "slashes") + user.Draw(t, "user") + host.Draw(t, "host") + port.Draw(t, "port") + path.Draw(t, "path")
		if strings.TrimSpace(s) == "" {
			return
		}
		if why := urlDiffers(s); why != "" {
			t.Fatal(why)
		}
	})
}

func TestAddressesThatReadersDisagreeOn(t *testing.T) {
	piece := rapid.SampledFrom([]string{"a", "b.c", "@", "@", "x.example", "X.example.", ".", "..", "+", "%", "!", `"`, `\\`, " ", "\t", "(", ")", "<", ">", ",", ";", ":", "[1.2.3.4]", "[IPv6:::1]", "[", "]", "=?utf-8?q?a?=", "é", "\u0430", "\u00a0", "\u200b", "'", "|", "/", "xn--a", "1.2.3.4", "@r:", "g:"})
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOfN(piece, 1, 9).Draw(t, "pieces"), "")
		if strings.TrimSpace(s) == "" {
			return
		}
		if why := addressDiffers(s); why != "" {
			t.Fatal(why)
		}
	})
}
