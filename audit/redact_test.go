package audit

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/sallyport-dev/sallyport/doc"
)

// written returns the line that a log with these rules writes for r.
func written(t testing.TB, red Redaction, r Record) string {
	t.Helper()
	if r.Event == "" {
		r.Event = "tools/call"
	}
	e := newEncoder(newRedactor(red))
	defer e.release()
	e.record(&r)
	return "{" + string(e.buf[headroom+1:]) + "}"
}

// shown is the arguments member of a line.
func shown(t testing.TB, line string) string {
	t.Helper()
	var r struct {
		Arguments jsontext.Value `json:"arguments"`
	}
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	return string(r.Arguments)
}

func selectors(t testing.TB, paths ...string) (all []doc.Selector) {
	t.Helper()
	for _, p := range paths {
		s, err := doc.ParseSelector(p)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

var digestPattern = regexp.MustCompile(`hmac-sha256:[0-9a-f]{64}`)

func TestArguments(t *testing.T) {
	const R = `{"redacted":"D"}`
	sel := func(paths ...string) Redaction { return Redaction{Selectors: selectors(t, paths...)} }
	for name, c := range map[string]struct {
		red      Redaction
		in, want string
	}{
		"nothing secret": {in: `{"a":[1,2.50,1e400,true,null,"x",{}],"b":{}}`, want: `{"a":[1,2.50,1e400,true,null,"x",{}],"b":{}}`},
		"every kind":     {in: `{"password":1,"Token":null,"API-key":true,"api_key":["a"],"credentials":{"a":1},"secret":""}`, want: `{"password":` + R + `,"Token":` + R + `,"API-key":` + R + `,"api_key":` + R + `,"credentials":` + R + `,"secret":` + R + `}`},
		"B110":           {in: `{"headers":{"Authorization":"Bearer test"},"apiKey":"k","list":[{"password":"p"}]}`, want: `{"headers":{"Authorization":` + R + `},"apiKey":` + R + `,"list":[{"password":` + R + `}]}`},
		"escaped name":   {in: `{"pass\u0077ord":"p"}`, want: `{"password":` + R + `}`},
		"scalar":         {in: `"x"`, want: `"x"`},
		"pairs":          {in: `[{"name":"Authorization","value":"Bearer x"},{"key":"colour","value":"red"},{"value":["x"],"name":"Password","type":"textbox"}]`, want: `[{"name":"Authorization","value":` + R + `},{"key":"colour","value":"red"},{"value":` + R + `,"name":"Password","type":"textbox"}]`},
		"own patterns":   {red: Redaction{KeyPatterns: []*regexp.Regexp{regexp.MustCompile("^pin$")}}, in: `{"pin":1,"password":"shown"}`, want: `{"pin":` + R + `,"password":"shown"}`},
		"no patterns":    {red: Redaction{KeyPatterns: []*regexp.Regexp{}}, in: `{"password":"shown"}`, want: `{"password":"shown"}`},

		"selector":                  {red: sel("a.b", "c[1]", "d[*].e"), in: `{"a":{"b":1,"c":2},"c":["x","y","z"],"d":[{"e":{}},{"e":[7]}]}`, want: `{"a":{"b":` + R + `,"c":2},"c":["x",` + R + `,"z"],"d":[{"e":` + R + `},{"e":` + R + `}]}`},
		"selector of the whole":     {red: sel(""), in: `{"a":1}`, want: R},
		"selector finds nothing":    {red: sel("x.y", "a[3]"), in: `{"a":1}`, want: `{"a":1}`},
		"equal values too":          {red: sel("template"), in: `{"template":"t{{x}}","other":"t{{x}}","list":["t{{x}}"]}`, want: `{"template":` + R + `,"other":` + R + `,"list":[` + R + `]}`},
		"equal containers are not":  {red: sel("a"), in: `{"a":{"b":1},"c":{"b":1}}`, want: `{"a":` + R + `,"c":{"b":1}}`},
		"selector of a long name":   {red: sel(strings.Repeat("n", 100)), in: `{"` + strings.Repeat("n", 100) + `":"x1"}`, want: `{"` + strings.Repeat("n", 100) + `":` + R + `}`},
		"selector of an odd name":   {red: sel(`["a.b"][0]`), in: `{"a.b":["x1","y"]}`, want: `{"a.b":[` + R + `,"y"]}`},
		"below a redacted selector": {red: sel("a", "a.b"), in: `{"a":{"b":"x1"}}`, want: `{"a":` + R + `}`},

		"JSON inside":                 {in: `{"body":"{\"password\": \"p\", \"n\":1}"}`, want: `{"body":"{\"password\":{\"redacted\":\"D\"},\"n\":1}"}`},
		"JSON without secrets":        {in: `{"body":"{ \"a\": [1] }"}`, want: `{"body":"{ \"a\": [1] }"}`},
		"JSON twice":                  {in: `{"body":"[\"{\\\"token\\\":1}\"]"}`, want: `{"body":"[\"{\\\"token\\\":{\\\"redacted\\\":\\\"D\\\"}}\"]"}`},
		"the same secret inside":      {in: `{"password":"pppp","body":"{\"password\":\"pppp\"}"}`, want: `{"password":` + R + `,"body":"{\"password\":{\"redacted\":\"D\"}}"}`},
		"broken JSON with a secret":   {in: `{"body":"{\"password\":\"p\""}`, want: `{"body":` + R + `}`},
		"JSON with names twice":       {in: `{"body":"{\"password\":1,\"password\":2}"}`, want: `{"body":` + R + `}`},
		"broken JSON with escapes":    {in: `{"body":"{\"p\\u0061ssword\":\"p\""}`, want: `{"body":` + R + `}`},
		"looks like JSON, is text":    {in: `{"body":"[see below] hello"}`, want: `{"body":"[see below] hello"}`},
		"JSON with byte order mark":   {in: `{"body":"\ufeff {\"token\":1}"}`, want: `{"body":` + R + `}`},
		"JSON too deep in strings":    {in: nested(6, `{"token":1}`), want: ""},
		"text is escaped":             {in: `{"a":"\u001b[2J\u2028\u202e<script>&\u0000\u007f\u0085\u200b\ud83d\ude00é\"\\"}`, want: `{"a":"\u001b[2J\u2028\u202e\u003cscript\u003e\u0026\u0000\u007f\u0085\u200b😀é\"\\"}`},
		"hidden beyond the first 64K": {in: `{"a":"\udb40\udc41"}`, want: `{"a":"\udb40\udc41"}`},
		"names are escaped":           {in: `{"<b>\u001b":1}`, want: `{"\u003cb\u003e\u001b":1}`},
		"cut":                         {red: Redaction{MaxValue: 4}, in: `{"a":"abcd","b":"abcde","c":"abc€","d":12345,"e":1234}`, want: `{"a":"abcd","b":"abcd…(+1 bytes)","c":"abc…(+3 bytes)","d":"1234…(+1 bytes)","e":1234}`},
	} {
		t.Run(name, func(t *testing.T) {
			line := written(t, c.red, Record{Arguments: parse(t, c.in)})
			if c.want == "" {
				if strings.Contains(line, "token") || !strings.Contains(line, "redacted") {
					t.Errorf("got %s", line)
				}
				return
			}
			if got := digestPattern.ReplaceAllString(shown(t, line), "D"); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// nested wraps s in n strings.
func nested(n int, s string) string {
	for range n {
		b, _ := jsontext.AppendQuote(nil, s)
		s = `{"s":` + string(b) + `}`
	}
	return s
}

func TestDigests(t *testing.T) {
	red := Redaction{Key: []byte("k")}
	l := openLog(t, filepath.Join(t.TempDir(), "a"), Options{Redaction: red})
	line := written(t, red, Record{
		Arguments: parse(t, `{"password": "hunter22", "secret": {"a": 1.0}}`),
		Evidence:  []Evidence{{Destination: "hunter22"}},
	})
	for what, in := range map[string]string{
		"string": "hunter22", "object": `{"a":1.0}`, "whole": `{"password":"hunter22","secret":{"a":1.0}}`,
	} {
		if d := l.Digest([]byte(in)); !strings.Contains(line, d) {
			t.Errorf("%s: %s is not in %s", what, d, line)
		}
	}
	if !strings.Contains(line, `"destination":"[redacted]","destination_digest":"`+l.Digest([]byte("hunter22"))) {
		t.Errorf("the destination's digest is not that of the same string in arguments: %s", line)
	}
	a, b := newRedactor(Redaction{}), newRedactor(Redaction{})
	if string(a.digest(nil, []byte("x"))) == string(b.digest(nil, []byte("x"))) {
		t.Error("without a key, two logs have the same one")
	}
}

func TestReasonsAndDestinations(t *testing.T) {
	long := "https://hooks.x.example/services/T000/B000/" + strings.Repeat("s", 100)
	for name, c := range map[string]struct {
		args     string
		reason   string
		evidence Evidence
		absent   []string
		present  []string
	}{
		"reason":             {args: `{"password":"hunter22"}`, reason: "the value 'hunter22' is no email", absent: []string{"hunter22"}, present: []string{"the value '[redacted]' is no email"}},
		"other case":         {args: `{"password":"Hunter22"}`, reason: "hUNTER22 and hunter22", absent: []string{"nter22"}, present: []string{`"[redacted] and [redacted]"`}},
		"short values stay":  {args: `{"password":"abc"}`, reason: "abc", present: []string{`"reason":"abc"`}},
		"number":             {args: `{"secret":{"pin":123456}}`, reason: "123456 is too large", absent: []string{"123456"}},
		"escaped":            {args: `{"password":"a\"b\n\u001bcd"}`, reason: `'a"b\n\u{001b}cd' and "a\"b\n\x1bcd"`, absent: []string{"x1bcd", "u{001b}cd"}},
		"cut":                {args: `{"token":"` + long + `"}`, reason: long[:40] + "…(+103 bytes) is refused", absent: []string{"hooks"}, present: []string{"is refused"}},
		"part in quotes":     {args: `{"token":"ana@evil.example"}`, reason: `only the domain 'evil.example' was seen`, absent: []string{"evil"}},
		"marker is not hit":  {args: `{"token":["redacted","hunter22"]}`, reason: "hunter22", present: []string{`"reason":"[redacted]"`}},
		"no redaction":       {args: `{"a":"hunter22"}`, reason: "hunter22", present: []string{`"reason":"hunter22"`}},
		"by place":           {args: `{"token":["ana@x.example"]}`, evidence: Evidence{Argument: "token[0]", Destination: "ANA@X"}, absent: []string{"ANA"}},
		"by place, several":  {args: `{"token":"ana@x.example, b@y.example"}`, evidence: Evidence{Argument: "token#2", Destination: "zed"}, absent: []string{"zed"}},
		"into a string":      {args: `{"token":"x","b":"{\"to\":\"zed\"}"}`, evidence: Evidence{Argument: "b.to", Destination: "zed"}, absent: []string{`"destination":"zed`}},
		"by value":           {args: `{"token":"ana@x.example","to":"ana@x.example"}`, evidence: Evidence{Argument: "to", Destination: "ana@x.example"}, absent: []string{`"destination":"ana`}},
		"by part":            {args: `{"token":"ana@x.example"}`, evidence: Evidence{Destination: "x.example"}, absent: []string{"x.example"}},
		"contains":           {args: `{"token":"tok12345"}`, evidence: Evidence{Destination: "https://h/?t=tok12345"}, absent: []string{"tok12345"}, present: []string{"https://h/?t=[redacted]"}},
		"other place":        {args: `{"token":"tok12345","to":["ana@x.example"]}`, evidence: Evidence{Argument: "to[0]", Destination: "ana@x.example"}, present: []string{`"destination":"ana@x.example"`}},
		"several elsewhere":  {args: `{"token":"tok12345","to":"a@x.example, b@x.example"}`, evidence: Evidence{Argument: "to#2", Destination: "b@x.example"}, present: []string{`"destination":"b@x.example"`}},
		"JSON inside":        {args: `{"b":"{\"password\":\"hunter22\"}"}`, reason: "hunter22", absent: []string{"hunter22"}},
		"unreadable in JSON": {args: `{"b":"{\"password\":\"hunter22\""}`, reason: "{\"password\":\"hunter22\"", absent: []string{"hunter22"}},
		"long destination":   {args: `{}`, evidence: Evidence{Destination: long + long + long + long}, present: []string{"…(+", "destination_digest"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := Record{Arguments: parse(t, c.args), Reason: c.reason, Detail: c.reason}
			if c.evidence.Destination != "" {
				r.Evidence = []Evidence{c.evidence}
			}
			line := written(t, Redaction{}, r)
			if !jsontext.Value(line).IsValid() {
				t.Fatalf("not JSON: %s", line)
			}
			for _, s := range c.absent {
				if strings.Contains(line, s) {
					t.Errorf("%q is in %s", s, line)
				}
			}
			for _, s := range c.present {
				if !strings.Contains(line, s) {
					t.Errorf("%q is not in %s", s, line)
				}
			}
		})
	}
}

func TestDropArguments(t *testing.T) {
	line := written(t, Redaction{DropArguments: true}, Record{
		Arguments: parse(t, `{"to":["ana@x.example"],"body":"hello there","n":7}`),
		Reason:    "'ana@x.example' was first seen in the output of read_ticket",
		Evidence:  []Evidence{{Argument: "to[0]", Destination: "ana@x.example"}, {Destination: "bob"}},
	})
	for _, s := range []string{"ana@x", "hello", `"arguments":`, `"bob"`} {
		if strings.Contains(line, s) {
			t.Errorf("%q is in %s", s, line)
		}
	}
	for _, s := range []string{"arguments_digest", "destination_digest", "read_ticket"} {
		if !strings.Contains(line, s) {
			t.Errorf("%q is not in %s", s, line)
		}
	}
}

// However much a call brings, its record stays short, and nothing secret is forgotten
// for being too much.
func TestB109RecordsAreBounded(t *testing.T) {
	many := func(n int, format string) string {
		var parts []string
		for i := range n {
			parts = append(parts, fmt.Sprintf(format, i))
		}
		return strings.Join(parts, ",")
	}
	for name, args := range map[string]string{
		"list":          `{"list":[` + many(10_000, `"value %d"`) + `],"password":"hunter22"}`,
		"object":        `{"o":{` + many(10_000, `"name %d":1`) + `},"password":"hunter22"}`,
		"secrets":       `{` + many(2_000, `"password%d":"secret value"`) + `,"password":"hunter22"}`,
		"long names":    `{` + many(1_000, `"`+strings.Repeat("n", 1000)+`%d":1`) + `,"password":"hunter22"}`,
		"longish names": `{` + many(1_000, `"`+strings.Repeat("n", 200)+`%d":1`) + `,"password":"hunter22"}`,
		"a long string": `{"a":"` + strings.Repeat("a", 1<<20) + `","password":"hunter22"}`,
		"long JSON":     `{"a":"[` + strings.Repeat("1,", 1<<20) + `1]","password":"hunter22"}`,
		"deep":          strings.Repeat(`[`, 400) + `{"password":"hunter22"}` + strings.Repeat(`]`, 400),
	} {
		line := written(t, Redaction{}, Record{
			Arguments: parse(t, args),
			Reason:    "it is hunter22 " + strings.Repeat("r", 9000), Target: strings.Repeat("t", 1<<20), Caller: strings.Repeat("c", 1<<20),
			Evidence: make([]Evidence, 5000),
		})
		if len(line) > 100<<10 {
			t.Errorf("%s: %d bytes", name, len(line))
		}
		if !jsontext.Value(line).IsValid() {
			t.Errorf("%s: not JSON", name)
		}
		if strings.Contains(line, "hunter22") {
			t.Errorf("%s: the secret is there", name)
		}
	}
	line := written(t, Redaction{}, Record{Arguments: parse(t, `[`+many(10_000, `"value %d"`)+`]`), Evidence: make([]Evidence, 101)})
	if !regexp.MustCompile(`"arguments_left_out":[0-9]{4},`).MatchString(line) || !strings.Contains(line, `"evidence_left_out":1`) {
		t.Errorf("what was left out is not counted")
	}
}

// For any arguments: no string under a secret name is in the line, whatever its depth,
// and the line is one line of printable JSON.
func TestSecretsNeverShow(t *testing.T) {
	red := newRedactor(Redaction{})
	rapid.Check(t, func(t *rapid.T) {
		secret := "s3cr3t-" + rapid.StringMatching(`[a-zA-Z0-9 "\\<\n]{1,40}`).Draw(t, "secret")
		v, err := doc.FromGo(drawValue(t, secret, 3))
		if err != nil {
			t.Fatal(err)
		}
		e := newEncoder(red)
		defer e.release()
		e.record(&Record{
			Event: "x", Arguments: v, Reason: rapid.StringN(0, 20, -1).Draw(t, "reason") + secret,
			Caller: rapid.StringN(0, 20, -1).Draw(t, "caller"), Evidence: []Evidence{{Destination: secret}},
		})
		line := "{" + string(e.buf[headroom+1:]) + "}"
		if !jsontext.Value(line).IsValid() {
			t.Fatalf("not JSON: %s", line)
		}
		if strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) || strings.ContainsRune("<>&", r) }) {
			t.Fatalf("not printable: %q", line)
		}
		if e.redactions > 0 && strings.Contains(line, "s3cr3t-") {
			t.Fatalf("secret shown: %s", line)
		}
	})
}

// drawValue makes a value that holds secret only under names of secrets.
func drawValue(t *rapid.T, secret string, depth int) any {
	kind := rapid.IntRange(0, 6).Draw(t, "kind")
	if depth == 0 {
		kind %= 3
	}
	switch kind {
	case 0:
		return rapid.IntRange(-5, 5).Draw(t, "n")
	case 1:
		return rapid.StringN(0, 10, -1).Draw(t, "s")
	case 2:
		return nil
	case 3:
		return []any{drawValue(t, secret, depth-1), drawValue(t, secret, depth-1)}
	case 4:
		return map[string]any{rapid.SampledFrom([]string{"password", "x-api-key", "AuthToken"}).Draw(t, "name"): []any{map[string]any{"v": secret}, secret}}
	case 5:
		v, err := doc.FromGo(drawValue(t, secret, depth-1))
		if err != nil {
			t.Fatal(err)
		}
		return string(v.AppendJSON(nil))
	default:
		return map[string]any{rapid.StringN(0, 6, -1).Draw(t, "name"): drawValue(t, secret, depth-1)}
	}
}

func FuzzArguments(f *testing.F) {
	f.Add([]byte(`{"password":"p","b":"{\"token\":[1,\"\\u001b\"]}","c":["\ud83d\ude00",1e9]}`), "to#1", "reason")
	f.Add([]byte(`[{"name":"token","value":"hunter22"},"[[["]`), "[0].value", "'hunter22'")
	sel := selectors(f, "a", "b[*].c")
	reds := []*redactor{newRedactor(Redaction{Selectors: sel}), newRedactor(Redaction{MaxValue: 3}), newRedactor(Redaction{DropArguments: true})}
	f.Fuzz(func(t *testing.T, args []byte, place, reason string) {
		v, err := doc.Parse(args, doc.Limits{})
		if err != nil {
			return
		}
		for _, red := range reds {
			e := newEncoder(red)
			e.record(&Record{Event: place, Arguments: v, Reason: reason, Evidence: []Evidence{{Argument: place, Destination: reason}}})
			line := "{" + string(e.buf[headroom+1:]) + "}"
			if !jsontext.Value(line).IsValid() {
				t.Fatalf("not JSON: %q", line)
			}
			if strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Fatalf("not printable: %q", line)
			}
			e.release()
		}
	})
}
