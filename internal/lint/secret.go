package lint

import (
	"math"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

// shapes are secrets that are known by their form, wherever they stand.
var shapes = []struct {
	what string
	re   *regexp.Regexp
}{
	{"a private key", regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----|AGE-SECRET-KEY-1[0-9A-Z]{20,}`)},
	{"a token of this gateway", regexp.MustCompile(`\bsp_[a-z2-7]{52}\b`)},
	{"a GitHub token", regexp.MustCompile(`\b(gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})`)},
	{"a GitLab token", regexp.MustCompile(`\bgl(pat|ptt|dt|rt|soat)-[A-Za-z0-9_-]{20,}`)},
	{"a Slack token", regexp.MustCompile(`\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\bxapp-[A-Za-z0-9-]{10,}|hooks\.slack\.com/services/T[A-Z0-9]+/B[A-Z0-9]+/[A-Za-z0-9]{16,}`)},
	{"an API key", regexp.MustCompile(`\bsk-[A-Za-z0-9_-]{20,}|\b[sr]k_(live|test)_[A-Za-z0-9]{16,}|\bwhsec_[A-Za-z0-9+/=]{20,}`)},
	{"an AWS key", regexp.MustCompile(`\b(AKIA|ASIA)[0-9A-Z]{16}\b`)},
	{"a Google key", regexp.MustCompile(`\bAIza[0-9A-Za-z_-]{35}|\bya29\.[0-9A-Za-z_-]{20,}|\bGOCSPX-[0-9A-Za-z_-]{20,}`)},
	{"a JSON web token", regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}`)},
	{"a package registry's token", regexp.MustCompile(`\bnpm_[A-Za-z0-9]{30,}|\bpypi-[A-Za-z0-9_-]{30,}|\bdckr_pat_[A-Za-z0-9_-]{20,}`)},
	{"a SendGrid key", regexp.MustCompile(`\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}`)},
	{"an access token", regexp.MustCompile(`\b(hf|lin_api|ntn|shpat|shpss|dop_v1|figd|pat|sq0[a-z]{3})[_-][A-Za-z0-9_.-]{24,}`)},
	{"a password in a URL", regexp.MustCompile(`\b[a-z][a-z0-9+.-]*://[^/\s:@"'\[{$]*:[^/\s@"'$]+@`)},
}

var (
	reference  = regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z0-9_]*\}`)
	secretName = regexp.MustCompile(`(?i)pass(word|wd|phrase)?$|secret|token|api[-_]?key|private[-_]?key|access[-_]?key|credential|^authorization$|^cookie$|^x-.*(key|auth)|^(key|sig|signature|auth|pwd|pat)$`)
	candidate  = regexp.MustCompile(`[A-Za-z0-9+/=_.~-]{20,}`)
	plainWord  = regexp.MustCompile(`^[A-Za-z]+([-_. ][A-Za-z]+)*$`)
)

const maxScanned = 64 << 10 // bytes of one value that are looked at

// secrets looks for values that should stand in the environment and not in the file. What
// it finds is never shown.
func (k *check) secrets() {
	for _, src := range k.config.Sources {
		k.shapesIn(src.Root)
		k.commentsOf(src)
	}
	for _, e := range k.root.Get("upstreams").Pairs() {
		for _, h := range append(e.Value.Get("headers").Pairs(), e.Value.Get("env").Pairs()...) {
			k.named(h.Name, h.Value)
		}
		before := ""
		for _, arg := range e.Value.Get("args").Items() {
			if name := strings.TrimLeft(before, "-"); name != before && !strings.Contains(before, "=") && !strings.HasPrefix(arg.Written(), "-") {
				k.named(name, arg) // --token value
			} else {
				k.argument(arg)
			}
			before = arg.Written()
		}
		k.query(e.Value.Get("url"))
	}
}

// shapesIn walks every text of a document.
func (k *check) shapesIn(n *strictyaml.Node) {
	if n.IsText() {
		k.shape(n)
	}
	for _, item := range n.Items() {
		k.shapesIn(item)
	}
	for _, e := range n.Pairs() {
		k.shapesIn(e.Key)
		k.shapesIn(e.Value)
	}
}

// shape reports whether n has a known form, and notes it.
func (k *check) shape(n *strictyaml.Node) bool {
	what := shapeOf(n.Written())
	if what != "" {
		k.secret(n, "this looks like "+what)
	}
	return what != ""
}

func shapeOf(s string) string {
	s = reference.ReplaceAllString(s[:min(len(s), maxScanned)], "${}")
	for _, sh := range shapes {
		if sh.re.MatchString(s) {
			return sh.what
		}
	}
	return ""
}

func (k *check) secret(n *strictyaml.Node, text string) {
	k.add(n, "SP401", "put it into the environment and write ${VAR} here; a secret that was in a file is best replaced", text)
}

// commentsOf looks into comments, which no node holds.
func (k *check) commentsOf(src config.Source) {
	line := 0
	for text := range strings.Lines(string(src.Data)) {
		line++
		at := commentStart(text)
		if at < 0 {
			continue
		}
		if what := shapeOf(text[at:]); what != "" {
			k.found = append(k.found, Finding{
				Code: "SP401", Severity: usual("SP401"), File: src.File, Line: line, Col: utf8.RuneCountInString(text[:at]) + 1,
				Text: "in this comment stands what looks like " + what, Hint: "remove it; a secret that was in a file is best replaced",
			})
		}
	}
}

// commentStart is where a line's comment may start, -1 if it has none.
func commentStart(line string) int {
	if strings.HasPrefix(strings.TrimLeft(line, " \t"), "#") {
		return strings.IndexByte(line, '#')
	}
	if i := strings.LastIndex(line, " #"); i >= 0 && strings.Count(line[:i], `"`)%2 == 0 && strings.Count(line[:i], `'`)%2 == 0 {
		return i + 1
	}
	return -1
}

// named looks at a value whose name may say that it is a secret.
func (k *check) named(name string, n *strictyaml.Node) {
	s := n.Written()
	if shapeOf(s) != "" {
		return // said
	}
	left := strings.TrimSpace(reference.ReplaceAllString(s, ""))
	for _, scheme := range []string{"Bearer", "Basic", "Token", "token"} {
		left = strings.TrimSpace(strings.TrimPrefix(left, scheme))
	}
	switch {
	case secretName.MatchString(name) && len(left) >= 6 && !isPath(left):
		k.secret(n, show(name)+" is set to a value that stands in the file")
	case random(left):
		k.secret(n, "the value of "+show(name)+" looks random, as secrets do")
	}
}

// argument looks at one argument of a command: --token=value, or a random value.
func (k *check) argument(n *strictyaml.Node) {
	name, value, ok := strings.Cut(n.Written(), "=")
	if ok && strings.HasPrefix(name, "-") {
		if shapeOf(value) != "" {
			return
		}
		left := strings.TrimSpace(reference.ReplaceAllString(value, ""))
		if secretName.MatchString(strings.TrimLeft(name, "-")) && len(left) >= 6 && !isPath(left) || random(left) {
			k.secret(n, "the argument "+show(name)+" is set to a value that looks like a secret")
		}
		return
	}
	if s := n.Written(); shapeOf(s) == "" && random(reference.ReplaceAllString(s, "")) {
		k.secret(n, "this argument looks random, as secrets do")
	}
}

// query looks at the parameters of a URL.
func (k *check) query(n *strictyaml.Node) {
	if n == nil || shapeOf(n.Written()) != "" {
		return
	}
	u, err := url.Parse(reference.ReplaceAllString(n.Written(), ""))
	if err != nil {
		return
	}
	for name, values := range u.Query() {
		for _, v := range values {
			if secretName.MatchString(name) && len(v) >= 6 || random(v) {
				k.secret(n, "the URL's parameter "+show(name)+" looks like a secret")
				return
			}
		}
	}
}

// isPath reports what names a file or a URL: that is where a secret is, not a secret.
func isPath(s string) bool {
	return strings.HasPrefix(s, "/") || strings.HasPrefix(s, "./") || strings.HasPrefix(s, `\\`) || strings.Contains(s, "://") ||
		len(s) > 2 && s[1] == ':' && s[2] == '\\' || path.Ext(s) != "" && plainWord.MatchString(s)
}

// random reports a long run of letters and digits in which few repeat: what a generator
// makes and a person does not type.
func random(s string) bool {
	if len(s) > maxScanned || isPath(s) || strings.HasPrefix(s, "@") {
		return false
	}
	for _, run := range candidate.FindAllString(s, 20) {
		if looksRandom(run) {
			return true
		}
	}
	return false
}

// minEntropy is in bits a character. English words with separators have less than 3.5 at
// this length only when short; digits next to letters of both cases decide.
const minEntropy = 3.6

func looksRandom(s string) bool {
	if plainWord.MatchString(s) || strings.Count(s, "/") > 1 || strings.Count(s, ".") > 2 {
		return false
	}
	digits, changes := 0, 0
	for i := range len(s) {
		if s[i] >= '0' && s[i] <= '9' {
			digits++
		}
		if i > 0 && class(s[i]) != class(s[i-1]) {
			changes++
		}
	}
	return digits >= 3 && changes >= len(s)/5 && entropy(s) >= minEntropy
}

func class(b byte) int {
	switch {
	case b >= '0' && b <= '9':
		return 0
	case b >= 'a' && b <= 'z':
		return 1
	case b >= 'A' && b <= 'Z':
		return 2
	}
	return 3
}

// entropy is Shannon's, in bits a byte.
func entropy(s string) float64 {
	var count [256]int
	for i := range len(s) {
		count[s[i]]++
	}
	e := 0.0
	for _, n := range count {
		if n > 0 {
			p := float64(n) / float64(len(s))
			e -= p * math.Log2(p)
		}
	}
	return e
}

// runners start packages by name, and take the newest version unless told otherwise.
var runners = map[string]bool{"npx": true, "bunx": true, "pnpx": true, "uvx": true, "pipx": true}

// upstreams looks at how servers are started and reached.
func (k *check) upstreams() {
	for _, u := range k.config.Upstreams {
		n := k.root.Get("upstreams").Get(u.Name)
		if u.Shared && len(k.config.Tokens) > 1 {
			k.add(n.Get("session"), "SP409", "write caller, unless the server keeps nothing of whoever calls it",
				"all callers share one conversation with the upstream "+show(u.Name)+": what it keeps of one, the others meet")
		}
		if u.Transport == config.HTTP {
			if parsed, err := url.Parse(u.URL); err == nil && parsed.Scheme == "http" && !loopback(parsed.Hostname()) {
				k.add(n.Get("url"), "SP402", "write https://", "the upstream "+show(u.Name)+" is reached over http: who is on the way reads and changes what it says")
			}
			continue
		}
		if at := unpinned(u); at >= 0 && at < n.Get("args").Len() {
			k.add(n.Get("args").Items()[at], "SP403", "write a version: name@1.2.3, or name==1.2.3 for uvx and pipx",
				"the package "+show(u.Args[at])+" has no version: whatever is newest runs, and with it whoever publishes it")
		}
	}
}

func loopback(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback()
}

// unpinned is the argument that names a package without a version, -1 if none does.
func unpinned(u *config.Upstream) int {
	if !runners[strings.TrimSuffix(path.Base(strings.ReplaceAll(u.Command, `\`, "/")), ".cmd")] {
		return -1
	}
	for i, a := range u.Args {
		switch {
		case strings.HasPrefix(a, "-"), a == "run":
			continue
		case strings.ContainsAny(a, "/:") && !strings.HasPrefix(a, "@"), strings.Contains(a, "=="):
			return -1 // a path or a URL, or pinned
		}
		if at := strings.LastIndexByte(a, '@'); at > 0 && at+1 < len(a) && a[at+1] >= '0' && a[at+1] <= '9' {
			return -1
		}
		return i
	}
	return -1
}
