package audit

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

// shape is a token that is known by how it begins.
type shape struct {
	start string
	least int    // characters after the start, at least
	class class  // of them
	exact bool   // not one more
	digit bool   // one of them is a digit: words can begin so, too
	what  string // for the marker
}

// shapes are the forms that their makers document, or that secret scanners know.
var shapes = []shape{
	{"AKIA", 16, inWord, true, false, "AWS key"},
	{"ASIA", 16, inWord, true, false, "AWS key"},
	{"ABIA", 16, inWord, true, false, "AWS key"},
	{"AIza", 30, inToken, false, false, "Google key"},
	{"ya29.", 20, inToken, false, false, "Google token"},
	{"GOCSPX-", 20, inToken, false, false, "Google secret"},
	{"ghp_", 30, inWord, false, false, "GitHub token"},
	{"gho_", 30, inWord, false, false, "GitHub token"},
	{"ghu_", 30, inWord, false, false, "GitHub token"},
	{"ghs_", 30, inWord, false, false, "GitHub token"},
	{"ghr_", 30, inWord, false, false, "GitHub token"},
	{"github_pat_", 30, inToken, false, false, "GitHub token"},
	{"glpat-", 20, inToken, false, false, "GitLab token"},
	{"glptt-", 20, inToken, false, false, "GitLab token"},
	{"gldt-", 20, inToken, false, false, "GitLab token"},
	{"glrt-", 20, inToken, false, false, "GitLab token"},
	{"glsoat-", 20, inToken, false, false, "GitLab token"},
	{"glcbt-", 20, inToken, false, false, "GitLab token"},
	{"glsa_", 30, inToken, false, false, "Grafana token"},
	{"xoxa-", 10, inToken, false, true, "Slack token"},
	{"xoxb-", 10, inToken, false, true, "Slack token"},
	{"xoxe-", 10, inToken, false, true, "Slack token"},
	{"xoxe.", 10, inToken, false, true, "Slack token"},
	{"xoxo-", 10, inToken, false, true, "Slack token"},
	{"xoxp-", 10, inToken, false, true, "Slack token"},
	{"xoxr-", 10, inToken, false, true, "Slack token"},
	{"xoxs-", 10, inToken, false, true, "Slack token"},
	{"xapp-", 10, inToken, false, true, "Slack token"},
	{"sk_live_", 16, inWord, false, false, "Stripe key"},
	{"sk_test_", 16, inWord, false, false, "Stripe key"},
	{"rk_live_", 16, inWord, false, false, "Stripe key"},
	{"rk_test_", 16, inWord, false, false, "Stripe key"},
	{"whsec_", 20, inBase64, false, false, "webhook secret"},
	{"sk-", 20, inToken, false, true, "API key"},
	{"gsk_", 30, inWord, false, false, "API key"},
	{"xai-", 30, inToken, false, true, "API key"},
	{"npm_", 30, inWord, false, false, "npm token"},
	{"pypi-", 30, inToken, false, false, "PyPI token"},
	{"dckr_pat_", 20, inToken, false, false, "Docker token"},
	{"SG.", 40, inBase64, false, false, "SendGrid key"},
	{"hf_", 30, inWord, false, false, "Hugging Face token"},
	{"lin_api_", 24, inWord, false, false, "Linear key"},
	{"ntn_", 30, inWord, false, false, "Notion token"},
	{"shpat_", 24, inWord, false, false, "Shopify token"},
	{"shpss_", 24, inWord, false, false, "Shopify secret"},
	{"dop_v1_", 40, inWord, false, false, "DigitalOcean token"},
	{"figd_", 24, inToken, false, false, "Figma token"},
	{"sq0atp-", 20, inToken, false, false, "Square token"},
	{"sq0csp-", 40, inToken, false, false, "Square secret"},
	{"hvs.", 24, inToken, false, false, "Vault token"},
	{"ATATT3", 40, inBase64, false, false, "Atlassian token"},
	{"AGE-SECRET-KEY-1", 20, inWord, false, false, "age key"},
}

// shortToken is how much of a token gives it away where a reason quotes it cut.
const shortToken = 4

// find looks for the shape at i. A token cut short, as values in reasons are, counts.
func (s *shape) find(f *finder, i int) hit {
	if !strings.HasPrefix(f.text[i:], s.start) || !f.begins(i) {
		return hit{}
	}
	from := i + len(s.start)
	end := f.run(from, s.class)
	n := end - from
	if n >= shortToken && f.cutShort(end) {
		return hit{i, end, s.what}
	}
	if n < s.least || s.exact && n > s.least || s.digit && !hasDigit(f.text[from:end]) {
		return hit{}
	}
	return hit{i, end, s.what}
}

// maxJudged is how many bytes of a value are looked at to tell it from a word.
const maxJudged = 256

func hasDigit(s string) bool { return strings.ContainsAny(s[:min(len(s), maxJudged)], "0123456789") }

const maxKeyHeader = 64 // bytes from -----BEGIN to PRIVATE KEY-----

// privateKey finds a PEM or PGP private key, up to its end line or the end of the text.
func privateKey(f *finder, i int) hit {
	const begin, kindOf = "-----BEGIN ", "PRIVATE KEY"
	rest := f.text[i:]
	if !strings.HasPrefix(rest, begin) {
		return hit{}
	}
	head := rest[len(begin):min(len(rest), len(begin)+maxKeyHeader)]
	at := strings.Index(head, kindOf)
	if at < 0 || strings.Trim(head[:at], "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ") != "" {
		return hit{}
	}
	body := i + len(begin) + at + len(kindOf)
	if after := strings.TrimPrefix(f.text[body:], " BLOCK"); !strings.HasPrefix(after, "-----") {
		return hit{}
	}
	end := strings.Index(f.text[body:], "-----END ")
	if end < 0 {
		return hit{i, len(f.text), "private key"}
	}
	end += body + len("-----END ")
	for n := 0; n < maxKeyHeader && end < len(f.text) && f.text[end] != '-' && f.text[end] != '\n'; n++ {
		end++
	}
	for n := 0; n < 5 && end < len(f.text) && f.text[end] == '-'; n++ {
		end++
	}
	return hit{i, end, "private key"}
}

// webToken finds a JSON web token, signed or encrypted, by its first two parts.
func webToken(f *finder, i int) hit {
	const leastHead, leastRest = 10, 4
	if !strings.HasPrefix(f.text[i:], "eyJ") || !f.begins(i) {
		return hit{}
	}
	end := f.run(i, inToken)
	if f.cutShort(end) && end-i >= leastHead {
		return hit{i, end, "JSON web token"}
	}
	if end-i < leastHead || end+1 >= len(f.text) || f.text[end] != '.' {
		return hit{}
	}
	next := f.run(end+1, inToken)
	// Encrypted under a shared key, the second part is empty.
	if next-end-1 < leastRest && !strings.HasPrefix(f.text[next:], ".") {
		return hit{}
	}
	for parts := 2; parts < 5 && next < len(f.text) && f.text[next] == '.'; parts++ {
		next = f.run(next+1, inToken)
	}
	return hit{i, next, "JSON web token"}
}

// bearer finds what follows the word Bearer, if it is no word itself.
func bearer(f *finder, i int) hit {
	const word, least, leastMixed = "bearer", 8, 16
	from, ok := f.afterWord(i, word)
	if !ok {
		return hit{}
	}
	end := f.run(from, inBase64)
	value := f.text[from:end]
	switch {
	case len(value) >= shortToken && f.cutShort(end):
	case len(value) >= least && hasDigit(value):
	case len(value) >= leastMixed && mixed(value):
	default:
		return hit{}
	}
	return hit{from, end, "bearer token"}
}

// basic finds what follows the word Basic, if it decodes to a name and a password.
func basic(f *finder, i int) hit {
	from, ok := f.afterWord(i, "basic")
	if !ok {
		return hit{}
	}
	end := f.run(from, inBase64)
	value := strings.TrimRight(f.text[from:min(end, from+400)], "=.")
	value = value[:len(value)&^3+[]int{0, 0, 2, 3}[len(value)&3]]
	text, err := base64.RawStdEncoding.DecodeString(value)
	if err != nil || len(text) < 3 || !utf8.Valid(text) || !strings.Contains(string(text), ":") {
		return hit{}
	}
	return hit{from, end, "password"}
}

// afterWord returns where the text after a word in any case and white space begins.
func (f *finder) afterWord(i int, word string) (int, bool) {
	end := i + len(word)
	if end+1 >= len(f.text) || !strings.EqualFold(f.text[i:end], word) || !f.begins(i) || f.text[end] != ' ' && f.text[end] != '\t' {
		return 0, false
	}
	for n := 0; n < 4 && end < len(f.text) && (f.text[end] == ' ' || f.text[end] == '\t'); n++ {
		end++
	}
	return end, true
}

// mixed reports capitals within the text, as no word of prose has them.
func mixed(s string) bool {
	upper, lower := 0, 0
	for i := 1; i < min(len(s), maxJudged); i++ {
		switch c := s[i]; {
		case c >= 'A' && c <= 'Z':
			upper++
		case c >= 'a' && c <= 'z':
			lower++
		}
	}
	return upper >= 2 && lower >= 2
}

// azureSecret finds a client secret of Microsoft Entra: three characters, a digit, Q~ and
// 31 to 34 more.
func azureSecret(f *finder, i int) hit {
	const before = 4
	from := i - before
	if from < 0 || f.text[i:i+2] != "Q~" || !is(f.text[i-1], inDigits) {
		return hit{}
	}
	end := f.run(i+2, inBase64)
	if n := end - i - 2; n < 31 || n > 34 {
		return hit{}
	}
	return hit{from, end, "Azure secret"}
}
