package audit

import "strings"

const (
	maxScheme   = 20  // bytes of a URL's scheme
	maxName     = 40  // bytes of a name before = or :
	maxUserinfo = 256 // bytes before @tcp( in a connection string
	leastURLKey = 16  // bytes of a user name that is a token rather
)

// userinfo finds the user and password of a URL, and the secret path of a webhook.
func userinfo(f *finder, i int) hit {
	if i < 2 || f.text[i-1] != ':' {
		return hit{}
	}
	scheme := i - 1
	for scheme > 0 && i-scheme < maxScheme && isSchemeChar(f.text[scheme-1]) {
		scheme--
	}
	name := f.text[scheme : i-1]
	if name == "" {
		return hit{}
	}
	from := i + 2
	if h := webhook(f, from); h.to > h.from {
		return h
	}
	web := strings.EqualFold(name, "http") || strings.EqualFold(name, "https")
	end, at, colon := from, -1, -1
scan:
	for ; end < len(f.text); end++ {
		switch c := f.text[end]; c {
		case '@':
			at = end
		case ':':
			if colon < 0 {
				colon = end
			}
		case '/', '?', '#':
			// Passwords of databases are often written without encoding these.
			if web || at >= 0 || colon < 0 || end-from > maxUserinfo {
				break scan
			}
		case ' ', '\n', '\r', '\t', '"', '\'', '`', '<', '>', '\\', '{', '}':
			break scan
		default:
			if c < ' ' || c == "…"[0] && f.cutShort(end) {
				break scan
			}
		}
	}
	switch {
	case at < 0 && colon >= 0 && f.cutShort(end) && !portOnly(f.text[colon+1:end]):
		return hit{from, end, "password"} // cut before its @
	case at <= from:
		return hit{}
	case colon >= 0 && colon < at && colon+1 < at:
		return hit{from, at, "password"}
	case at-from >= leastURLKey && hasDigit(f.text[from:at]):
		return hit{from, at, "user"}
	}
	return hit{}
}

func portOnly(s string) bool {
	for i := range min(len(s), maxJudged) {
		if !is(s[i], inDigits) {
			return false
		}
	}
	return true
}

func isSchemeChar(c byte) bool {
	return is(c, inWord) || c == '+' || c == '.' || c == '-'
}

// webhooks are addresses that let everyone in who knows them.
var webhooks = []string{
	"hooks.slack.com/services/", "hooks.slack.com/triggers/", "hooks.slack.com/workflows/",
	"discord.com/api/webhooks/", "discordapp.com/api/webhooks/", "api.telegram.org/bot",
}

func webhook(f *finder, i int) hit {
	for _, w := range webhooks {
		if len(f.text) > i+len(w) && strings.EqualFold(f.text[i:i+len(w)], w) {
			from := i + len(w)
			end := from
			for end < len(f.text) && (is(f.text[end], inToken) || f.text[end] == '/' || f.text[end] == ':') {
				end++
			}
			return hit{from, end, "webhook secret"}
		}
	}
	return hit{}
}

// driverDSN finds user:password before @tcp(, as database drivers take them.
func driverDSN(f *finder, i int) hit {
	if !strings.HasPrefix(f.text[i:], "@tcp(") && !strings.HasPrefix(f.text[i:], "@unix(") {
		return hit{}
	}
	from := i
	colon := false
	for from > f.done && i-from < maxUserinfo && f.text[from-1] > ' ' && !strings.ContainsRune("\"'`<>=", rune(f.text[from-1])) {
		from--
		colon = colon || f.text[from] == ':'
	}
	if !colon {
		return hit{}
	}
	return hit{from, i, "password"}
}

// secretNames are names, or ends of names, after which a secret is given.
var secretNames = []string{
	"password", "passwd", "pwd", "passphrase", "secret", "token", "apikey", "api_key", "api-key", "accesskey", "access_key",
	"accountkey", "secretkey", "secret_key", "privatekey", "private_key", "authkey", "auth_key", "credential", "signature",
	"authorization", "cookie",
}

// notSecret are values that stand for one, or for its type.
var notSecret = map[string]bool{
	"string": true, "number": true, "integer": true, "boolean": true, "null": true, "true": true, "false": true, "none": true,
	"nil": true, "undefined": true, "required": true, "optional": true, "missing": true, "redacted": true, "hidden": true,
	"unknown": true, "empty": true, "invalid": true, "expired": true,
}

// given finds the value after a secret's name and = or :, as in connection strings,
// queries, commands, headers and settings.
func given(f *finder, i int) hit {
	sep := i + 1
	name, ok := f.nameBefore(sep)
	if !ok || sep+1 < len(f.text) && f.text[sep+1] == f.text[sep] { // == and ::
		return hit{}
	}
	end := len(name)
	isQueryKey := end == 3 && strings.EqualFold(name, "sig")
	if !isQueryKey && !isSecretName(name) {
		return hit{}
	}
	from := sep + 1
	for n := 0; n < 3 && from < len(f.text) && f.text[from] == ' '; n++ {
		from++
	}
	if from >= len(f.text) {
		return hit{}
	}
	switch last := lower(name[end-1]); {
	case last == 'n' && hasSuffixFold(name, "authorization"):
		return f.authorization(from)
	case last == 'e' && hasSuffixFold(name, "cookie"):
		return f.cookie(from, sep)
	case isQueryKey || last == 'e' && hasSuffixFold(name, "signature"):
		return f.longValue(from, sep)
	}
	h := f.value(from, f.text[sep] == '=')
	if last := lower(name[end-1]); last == 'n' && hasSuffixFold(name, "token") && !f.isToken(h) {
		return hit{}
	}
	return h
}

// isToken reports whether what was found can be a token: programs give tokens names, too,
// and say token=laptop.
func (f *finder) isToken(h hit) bool {
	const least = 16
	return h.to-h.from >= least && hasDigit(f.text[h.from:h.to]) || h.to > h.from && f.cutShort(h.to)
}

// nameBefore returns the word that ends before sep, quotes and a space aside.
func (f *finder) nameBefore(sep int) (string, bool) {
	end := sep
	for n := 0; n < 2 && end > 0 && (f.text[end-1] == ' ' || f.text[end-1] == '"' || f.text[end-1] == '\''); n++ {
		end--
	}
	from := end
	for from > 0 && end-from < maxName && is(f.text[from-1], inToken) {
		from--
	}
	return f.text[from:end], end-from >= 3
}

func isSecretName(name string) bool {
	// The last letters of all names: most words end here.
	if strings.IndexByte("dettynlDETTYNL", name[len(name)-1]) < 0 {
		return false
	}
	for _, s := range secretNames {
		if hasSuffixFold(name, s) {
			return true
		}
	}
	return false
}

func hasSuffixFold(s, suffix string) bool {
	return len(s) >= len(suffix) && strings.EqualFold(s[len(s)-len(suffix):], suffix)
}

// value finds a secret in quotes or up to what ends a value. After = nearly everything is
// one; after : , which stands in prose, only what looks like it.
func (f *finder) value(from int, assigned bool) hit {
	const leastAssigned, leastQuoted, leastSaid = 3, 4, 6
	if c := f.text[from]; c == '"' || c == '\'' {
		end := from + 1
		for end < len(f.text) && f.text[end] != c && f.text[end] != '\n' {
			end++
		}
		value := f.text[from+1 : end]
		if len(value) < leastQuoted || standsFor(value) {
			return hit{}
		}
		return hit{from + 1, end, "secret"}
	}
	end := f.run(from, inValue)
	value := f.text[from:end]
	for !assigned && value != "" && strings.IndexByte(".!?:", value[len(value)-1]) >= 0 {
		value = value[:len(value)-1]
	}
	switch {
	case standsFor(value), end < len(f.text) && (f.text[end] == '(' || f.text[end] == '['): // code
		return hit{}
	case assigned && len(value) >= leastAssigned:
	case len(value) >= leastSaid && hasDigit(value) && !portOnly(value) && !strings.Contains(value[:min(len(value), maxJudged)], "://"):
	case len(value) >= shortToken && f.cutShort(end):
	default:
		return hit{}
	}
	return hit{from, from + len(value), "secret"}
}

// standsFor reports a value that is a reference, a placeholder or a type, not a secret.
func standsFor(value string) bool {
	return value == "" || strings.IndexByte("${<*[", value[0]) >= 0 || strings.HasPrefix(value, "…") || strings.HasPrefix(value, "...") || len(value) < 12 && notSecret[strings.ToLower(value)]
}

// longValue finds the signature of a signed URL.
func (f *finder) longValue(from, sep int) hit {
	const least = 20
	end := f.run(from, inValue)
	if f.text[sep] != '=' || end-from < least {
		return hit{}
	}
	return hit{from, end, "signature"}
}

// authorization finds what follows the scheme in such a header.
func (f *finder) authorization(from int) hit {
	const leastAlone = 8
	if c := f.text[from]; c == '"' || c == '\'' {
		from++
	}
	word := f.run(from, inToken)
	if word == from {
		return hit{}
	}
	if word+1 < len(f.text) && f.text[word] == ' ' && !hasDigit(f.text[from:word]) {
		end := f.run(word+1, inBase64)
		if n := end - word - 1; n >= leastAlone && (hasDigit(f.text[word+1:end]) || mixed(f.text[word+1:end])) {
			return hit{word + 1, end, "secret"}
		}
		return hit{}
	}
	end := f.run(from, inBase64)
	if end-from < leastAlone || !hasDigit(f.text[from:end]) {
		return hit{}
	}
	return hit{from, end, "secret"}
}

// cookie finds the cookies of such a header: the rest of the line, if it has any.
func (f *finder) cookie(from, sep int) hit {
	if f.text[sep] != ':' {
		return hit{}
	}
	if c := f.text[from]; c == '"' || c == '\'' {
		from++
	}
	end := f.run(from, inToken)
	if end == from || end >= len(f.text) || f.text[end] != '=' {
		return hit{}
	}
	for end < len(f.text) && strings.IndexByte("\r\n\"'`", f.text[end]) < 0 {
		end++
	}
	return hit{from, end, "cookie"}
}
