package audit

import (
	"encoding/base64"
	"encoding/json/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// generated is text that looks as generated tokens do. No real token stands in these tests:
// they are put together when they run.
const generated = "a8Zq03LmX7dTf9Rw2KsY5bVn4HjC6gPe1QoU"

func rnd(n int) string { return strings.Repeat(generated, n/len(generated)+1)[:n] }

var upper = strings.ToUpper(rnd(16))

// credentials are texts with what must not be seen of them.
var credentials = map[string]struct{ text, secret string }{
	"RSA key":           {"-----BEGIN RSA PRIVATE KEY-----\nMIIE" + rnd(60) + "\n-----END RSA PRIVATE KEY-----\nbye", rnd(60)},
	"PKCS 8 key":        {"key: -----BEGIN PRIVATE KEY-----\n" + rnd(64) + "\n" + rnd(20) + "\n-----END PRIVATE KEY-----", rnd(20)},
	"OpenSSH key, cut":  {"-----BEGIN OPENSSH PRIVATE KEY-----\nb3Blb" + rnd(40), rnd(40)},
	"PGP key":           {"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n" + rnd(64) + "\n-----END PGP PRIVATE KEY BLOCK-----", rnd(64)},
	"key on one line":   {"-----BEGIN EC PRIVATE KEY-----" + rnd(40) + "-----END EC PRIVATE KEY-----", rnd(40)},
	"age key":           {"AGE-SECRET-" + "KEY-1" + strings.ToUpper(rnd(58)), strings.ToUpper(rnd(58))},
	"AWS id":            {"the id AKIA" + upper + ".", "AKIA" + upper},
	"AWS session":       {"id=ASIA" + upper, "ASIA" + upper},
	"AWS secret":        {"aws_secret_access_key = " + rnd(40), rnd(40)},
	"AWS secret, env":   {"AWS_SECRET_ACCESS_KEY=" + rnd(40) + " aws s3 ls", rnd(40)},
	"GCP key":           {"https://maps.x.example/?key=AIza" + rnd(35), "AIza" + rnd(35)},
	"GCP token":         {"ya29." + rnd(60), rnd(60)},
	"GCP secret":        {"GOCSPX-" + rnd(28), rnd(28)},
	"Azure secret":      {"secret abc8" + "Q~" + rnd(34), rnd(34)},
	"Azure storage":     {"DefaultEndpointsProtocol=https;AccountName=x;AccountKey=" + rnd(86) + "==;EndpointSuffix=core", rnd(86)},
	"Azure bus":         {"Endpoint=sb://x/;SharedAccessKeyName=Root;SharedAccessKey=" + rnd(43) + "=", rnd(43)},
	"Azure signature":   {"https://x.blob.example/c?sv=2024&sig=" + rnd(40) + "%3D&se=1", rnd(40)},
	"GitHub":            {"use gh" + "p_" + rnd(36) + " please", rnd(36)},
	"GitHub fine":       {"github_" + "pat_" + rnd(82), rnd(82)},
	"GitHub in a URL":   {"git clone https://x-access-token:gh" + "s_" + rnd(36) + "@forge.example/a/b", rnd(36)},
	"GitLab":            {"(gl" + "pat-" + rnd(20) + ")", rnd(20)},
	"Slack":             {"xox" + "b-1234567890-" + rnd(24), rnd(24)},
	"Slack webhook":     {"curl https://hooks.slack.com/services/T000/B000/" + rnd(24), rnd(24)},
	"Discord webhook":   {"https://discord.com/api/webhooks/123/" + rnd(60), rnd(60)},
	"Stripe":            {"sk_" + "live_" + strings.ReplaceAll(rnd(24), "_", "x"), rnd(24)},
	"npm":               {"//registry.x.example/:_authToken=npm_" + rnd(36), rnd(36)},
	"OpenAI":            {"OPENAI_API_KEY=sk-" + "proj-" + rnd(48), rnd(48)},
	"Anthropic":         {"key sk-" + "ant-api03-" + rnd(80), rnd(80)},
	"PyPI":              {"pypi-" + rnd(60), rnd(60)},
	"Hugging Face":      {"hf_" + rnd(34), rnd(34)},
	"SendGrid":          {"SG." + rnd(22) + "." + rnd(43), rnd(43)},
	"bearer":            {"Authorization: Bearer " + rnd(30), rnd(30)},
	"bearer, short":     {"curl -H 'authorization: bearer abc12345'", "abc12345"},
	"bearer, letters":   {"Bearer mF_B.fJmMwqqQQabQ", "mF_B.fJmMwqqQQabQ"},
	"basic":             {"Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("ana:open sesame")), "YW5hOm9wZW4gc2VzYW1l"},
	"token header":      {"authorization: token " + rnd(20), rnd(20)},
	"API key header":    {"X-Api-Key: " + rnd(20), rnd(20)},
	"cookie":            {"Cookie: sid=" + rnd(20) + "; theme=dark", rnd(20)},
	"JWT":               {"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0." + rnd(43), rnd(43)},
	"JWT, no signature": {"eyJhbGciOiJub25lIn0.eyJzdWIiOiIxMjM0NTY3ODkwIn0.", "eyJzdWIiOiIxMjM0NTY3ODkwIn0"},
	"JWE":               {"eyJhbGciOiJkaXIifQ.." + rnd(16) + "." + rnd(40) + "." + rnd(22), rnd(40)},
	"postgres":          {"postgres://app:hunter2!@db.x.example:5432/app?sslmode=require", "hunter2!"},
	"unencoded slash":   {"mysql://app:hun/ter#2@db.x.example/app", "hun/ter#2"},
	"mongo":             {"mongodb+srv://u:p%40ssw@c.x.example/", "p%40ssw"},
	"redis, no user":    {"redis://:hunter22@h:6379", "hunter22"},
	"HTTP user":         {"https://ana:hunter22@x.example/a", "hunter22"},
	"HTTP token user":   {"https://" + rnd(20) + "@x.example/a", rnd(20)},
	"Go DSN":            {"app:hunter22@tcp(127.0.0.1:3306)/app", "hunter22"},
	"ADO":               {"Server=db;User Id=sa;Password=hunter22;Encrypt=true", "hunter22"},
	"libpq":             {"host=db user=app password='hunter 22' dbname=x", "hunter 22"},
	"flag":              {"mysql --password=hunter22 -u root", "hunter22"},
	"query":             {"https://x.example/cb?access_token=" + rnd(20) + "&state=1", rnd(20)},
	"in JSON in text":   {`sent {"user":"a","password":"open sesame"} to it`, "open sesame"},
	"in YAML":           {"db:\n  password: hunter22\n  port: 5432", "hunter22"},
	"signed URL":        {"https://x.example/o?X-Amz-Signature=" + strings.Repeat("0a1b", 16), strings.Repeat("0a1b", 16)},
	"Visa":              {"card 4111111111111111 exp 12/30", "4111111111111111"},
	"Visa, spaces":      {"card: 4111 1111 1111 1111 123", "4111 1111 1111 1111"},
	"Visa, hyphens":     {"4111-1111-1111-1111", "4111-1111-1111-1111"},
	"Visa, no-break":    {"4111\u00a01111\u202f1111\u20091111", "1111\u202f1111"},
	"Mastercard":        {"5555555555554444,", "5555555555554444"},
	"Mastercard 2":      {"2223003122003222", "2223003122003222"},
	"Amex":              {"(3782 822463 10005)", "3782 822463 10005"},
	"Discover":          {"6011111111111117", "6011111111111117"},
	"JCB":               {"3530111333300000", "3530111333300000"},
	"Diners":            {"30569309025904", "30569309025904"},
	"cut in a reason":   {"the value 'gh" + "p_a8Zq03…(+30 bytes)' is no email", "a8Zq03"},
	"cut URL":           {"the value 'postgres://app:hunter…(+30 bytes)' is refused", "hunter"},
}

// ordinary is text in which nothing is a credential, though some of it looks random.
var ordinary = []string{
	"The password is missing. Please enter a token: it was sent to you. Secrets: keep them.",
	"password: required; token: string; secret=; api_key=${API_KEY} token=<your token> password=*** pwd=$PWD",
	"Bearer tokens and basic authentication are described below; the bearer certificate; Basic knowledge helps.",
	"if password == other { return token(x) } // token=getToken() and max_tokens=4096, tokens: 12345678",
	"550e8400-e29b-41d4-a716-446655440000 and 12345678-4333-1111-1111-111111111111",
	"commit 3f786850e387550fdab836ed7e6dc881de23001b, sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
	"order 1234567890123456, 4111111111111112, phone +49 30 1234 5678, 2026-01-02 15:04:05.000, 1767366245678901234",
	"https://x.example:8443/a/@user/b?x=a@b.example#c and ssh://git@forge.example/a.git, https://good.example@evil.example/, ftp://x.example/",
	"postgres://db.x.example:5432/app and redis://localhost:6379/0 and amqp://user@host/",
	"mail ana@x.example, \"B\" <b@y.example>; see scikit: sk-learn-pipeline-with-a-long-name-and-more",
	"sk-navigation-item-selected-and-open, key-value, asia-northeast1, ASIA and AKIA, eyJ is a prefix",
	"-----BEGIN CERTIFICATE-----\nMIIB" + "\n-----END CERTIFICATE-----\n-----BEGIN PUBLIC KEY-----\nMFkw\n-----END PUBLIC KEY-----",
	"aGVsbG8gd29ybGQsIHRoaXMgaXMganVzdCBiYXNlNjQgdGV4dCBvZiBhIHBpY3R1cmU=",
	"100% sure, 50%25, C:\\temp\\new, a\\u0041b, {\"a\":\"b\\nc\"}",
	"tool call 12 at content[0].text, msg_01XFDUDYJgAACzvnptvVoYEL, toolu_01A09q90qw90lq917835lq9",
	"github_pattern_matching, npm_config_registry, hf_transfer, ghp_short, xoxb-, SG.1, Authorization: see RFC 9110",
	"level=WARN msg=\"a token that has expired was used\" token=old, token=laptop-2, \"token\": \"laptop\"",
	"Token budget: 200000; session=abc; csrftoken; the cookie: a small file; Signature: Ana Example",
	"version 5.10.1111.1111, ip 10.0.0.1, 2221-0000-0000, ISBN 978-3-16-148410-0, IBAN DE89 3704 0044 0532 0130 00",
}

func TestCredentialsAreFound(t *testing.T) {
	for name, c := range credentials {
		if !strings.Contains(c.text, c.secret) {
			t.Fatalf("%s: the secret is not in the text", name)
		}
		for _, text := range []string{c.text, "see: " + c.text, "Ünïcödé " + c.text + " and more"} {
			if got := RedactText(text); strings.Contains(got, c.secret) || !strings.Contains(got, "[redacted ") {
				t.Errorf("%s: %q", name, got)
			} else if again := RedactText(got); again != got {
				t.Errorf("%s: a second time %q becomes %q", name, got, again)
			}
		}
	}
}

// What is around a credential stays.
func TestOnlyTheCredentialIsReplaced(t *testing.T) {
	for in, want := range map[string]string{
		"postgres://app:hunter2@db/app":           "postgres://[redacted password]@db/app",
		"Server=db;Password=hunter22;Encrypt=1":   "Server=db;Password=[redacted secret];Encrypt=1",
		"card 4111 1111 1111 1111 123":            "card [redacted card number] 123",
		"a npm_" + rnd(36) + ", b":                "a [redacted npm token], b",
		"Authorization: Bearer " + rnd(20) + "\n": "Authorization: Bearer [redacted secret]\n",
		`{"password": "open sesame", "n":1}`:      `{"password": "[redacted secret]", "n":1}`,
	} {
		if got := RedactText(in); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestOrdinaryTextIsUntouched(t *testing.T) {
	for _, text := range ordinary {
		if got := RedactText(text); got != text {
			t.Errorf("got  %q\nfrom %q", got, text)
		}
	}
}

// The project's own documents and sources are prose, configuration, code and JSON with
// hashes: whatever is replaced in them is an example of a credential.
func TestDocumentsAreUntouched(t *testing.T) {
	files, _ := filepath.Glob("../docs/*.md")
	more, _ := filepath.Glob("*.go")
	files = append(append(files, more...), "../README.md", "../go.sum")
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue // these hold examples of credentials
		}
		text := readFile(t, file)
		for n, line := range strings.Split(string(text), "\n") {
			got := RedactText(line)
			if got == line {
				continue
			}
			if !exampleLine(line) {
				t.Errorf("%s:%d: %q\nbecomes %q", file, n+1, line, got)
			}
		}
	}
}

// exampleLine reports a line that shows a credential on purpose.
func exampleLine(line string) bool {
	for _, s := range []string{"hunter", "Bearer abcdefgh", "deploy_token"} {
		if strings.Contains(line, s) {
			return true
		}
	}
	return false
}

func TestCredentialsInArguments(t *testing.T) {
	key := "npm_" + rnd(36)
	line := written(t, Redaction{}, Record{
		Arguments: parse(t, `{"a":" `+key+` ","b":"use `+key+` now","card":4111111111111111,"n":1234567890123456,"c":["`+key+`"]}`),
		Reason:    "the value '" + key[:20] + "…(+20 bytes)' is no email",
	})
	if strings.Contains(line, key[4:20]) || strings.Contains(line, "4111") {
		t.Errorf("the secret is in %s", line)
	}
	want := `{"a":{"redacted":"D"},"b":"use [redacted npm token] now","card":{"redacted":"D"},"n":1234567890123456,"c":[{"redacted":"D"}]}`
	if got := digestPattern.ReplaceAllString(shown(t, line), "D"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Two names with credentials must not become one name.
func TestNamesWithCredentialsStayApart(t *testing.T) {
	line := written(t, Redaction{}, Record{Arguments: parse(t, `{"npm_`+rnd(36)+`":1,"npm_`+rnd(37)+`":2}`)})
	if _, err := json.Marshal(parse(t, shown(t, line)).String()); err != nil || strings.Contains(line, rnd(30)) {
		t.Errorf("line %s", line)
	}
	if strings.Count(line, "[redacted npm token](member ") != 2 {
		t.Errorf("names: %s", line)
	}
}

// A credential that begins before the limit of a value and ends after it is found.
func TestCredentialAcrossTheCut(t *testing.T) {
	for _, c := range credentials {
		for _, before := range []int{DefaultMaxValue - 3, DefaultMaxValue - 12, DefaultMaxValue - 40} {
			text := strings.Repeat("x ", before/2) + c.text
			line := written(t, Redaction{}, Record{Arguments: parse(t, `[`+string(must(json.Marshal(text)))+`]`)})
			start := c.secret[:min(len(c.secret), 6)]
			if strings.Contains(text[:min(len(text), DefaultMaxValue)], start) && strings.Contains(line, start) {
				t.Errorf("%q at %d: %s", c.text, before, line)
			}
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Text made to be slow: each beginning of a credential, again and again, with and without
// what would end it. Twice as much may take no more than about twice as long.
func TestRedactionIsLinear(t *testing.T) {
	var worst []string
	for _, s := range shapes {
		worst = append(worst, s.start, "_"+s.start, s.start+"-")
	}
	worst = append(worst, "eyJ", "_eyJ", "eyJaaaaaaaaaa.", "-----BEGIN ", "-----BEGIN PRIVATE KEY", "://", "a://b:", "x://a:b/", "@tcp(", "a:b@tcp(",
		"token:", "token=", "token:'", `token:"<`, "cookie:", "cookie:a", "authorization:", "authorization=", "authorization: a ", "bearer ", "basic ",
		"4111 ", "4111-", "41", "4", "Q~", "8Q~", `\u0041`, "%41", `\\`, "sig=", "signature=", "password", "= ", "::")
	const n = 1 << 16
	for _, part := range worst {
		text := strings.Repeat(part, n/len(part))
		start := time.Now()
		RedactText(text)
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("%q: %v for %d bytes", part, took, n)
		}
	}
}

func FuzzRedactText(f *testing.F) {
	for _, c := range credentials {
		f.Add(c.text)
	}
	for _, text := range ordinary {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var fi finder
		last := 0
		for _, h := range fi.find(text) {
			if h.from < last || h.to <= h.from || h.to > len(text) || h.what == "" {
				t.Fatalf("%+v in %d bytes", h, len(text))
			}
			last = h.to
		}
		RedactText(text)
	})
}

func BenchmarkRedactText(b *testing.B) {
	prose := strings.Repeat("The quarterly numbers are in the sheet that Ana shared on 2026-01-02; see https://x.example/a?b=1. ", 6)[:512]
	hexes := strings.Repeat("3f786850e387550fdab836ed7e6dc881de23001b ", 13)[:512]
	for name, text := range map[string]string{"prose": prose, "hashes": hexes, "found": prose[:400] + " npm_" + rnd(36) + prose[:71], "escapes": strings.ReplaceAll(prose, ".", `\n`)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				RedactText(text)
			}
		})
	}
}
