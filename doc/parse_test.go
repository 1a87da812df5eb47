package doc

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func mustParse(t testing.TB, s string) Value {
	t.Helper()
	v, err := Parse([]byte(s), Limits{})
	if err != nil {
		t.Fatalf("Parse(%.80q): %v", s, err)
	}
	return v
}

func TestParseKeepsWhatWasWritten(t *testing.T) {
	for _, s := range []string{
		`null`, `true`, `false`, `0`, `-0`, `1E400`, `1.10`, `9223372036854775807`, `9007199254740993`,
		`""`, `"a"`, `"é\n"`, `[]`, `{}`, `[[],{},[{}]]`,
		`{"b":1,"a":[2,{"c":null}]}`,
		`{"` + strings.Repeat("long name ", 500) + `":"` + strings.Repeat("y", 9000) + `","z":1e-999999999999}`,
	} {
		v := mustParse(t, " \n"+s+"\t ")
		if got := string(v.AppendJSON(nil)); got != s {
			t.Errorf("%.80q came back as %.80q", s, got)
		}
	}
}

func TestParseReads(t *testing.T) {
	v := mustParse(t, `{"s":"q\"\u00e9\ud83d\ude00","n":-1.50,"t":true,"l":[10,20,30],"o":{"":null}}`)
	if v.Kind() != Object || v.Len() != 5 {
		t.Fatalf("kind %v, len %d", v.Kind(), v.Len())
	}
	checks := []struct{ got, want any }{
		{v.Get("s").String(), "q\"é😀"},
		{v.Get("n").Number(), "-1.50"},
		{v.Get("n").String(), ""},
		{v.Get("s").Number(), ""},
		{v.Get("t").Bool(), true},
		{v.Get("l").At(0).Number(), "10"},
		{v.Get("l").At(-1).Number(), "30"},
		{v.Get("l").At(3).Kind(), Absent},
		{v.Get("l").At(-4).Kind(), Absent},
		{v.Get("l").Get("x").Kind(), Absent},
		{v.Get("o").Get("").Kind(), Null},
		{v.Get("o").At(0).Kind(), Absent},
		{v.Get("S").Kind(), Absent},
		{Value{}.Kind(), Absent},
		{Value{}.Get("x").At(2).Len(), 0},
	}
	for i, c := range checks {
		if c.got != c.want {
			t.Errorf("check %d: got %v, want %v", i, c.got, c.want)
		}
	}
	var names []string
	for m := range v.Members() {
		names = append(names, m.Name)
	}
	if got := strings.Join(names, " "); got != "s n t l o" {
		t.Errorf("members in order %q", got)
	}
	sum := 0
	for i := range v.Get("l").Elements() {
		sum += i
	}
	if sum != 3 {
		t.Errorf("elements were not all visited: %d", sum)
	}
}

func TestParseRefuses(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	secret := "hunter2"
	for name, c := range map[string]struct{ in, reason string }{
		"nothing":            {"", "ends before"},
		"blank":              {" \n", "ends before"},
		"cut string":         {`"` + secret, "ends before"},
		"cut object":         {`{"a":1`, "ends before"},
		"trailing value":     {`1 2`, "more data"},
		"trailing bracket":   {`[1]]`, "not valid JSON"},
		"two documents":      {"{}\n{}", "more data"},
		"duplicate":          {`{"` + secret + `":1,"` + secret + `":2}`, "same name"},
		"escaped duplicate":  {`{"a":1,"\u0061":2}`, "same name"},
		"invalid UTF-8":      {"\"" + secret + "\xff\"", "UTF-8"},
		"lone surrogate":     {`"\ud800"`, "not valid JSON"},
		"byte order mark":    {"\ufeff{}", "not valid JSON"},
		"comment":            {`[1/*x*/]`, "not valid JSON"},
		"trailing comma":     {`[1,]`, "not valid JSON"},
		"single quotes":      {`{'a':1}`, "not valid JSON"},
		"NaN":                {`NaN`, "not valid JSON"},
		"leading zero":       {`01`, "more data"},
		"plus":               {`+1`, "not valid JSON"},
		"control in string":  {"\"a\nb\"", "not valid JSON"},
		"name without value": {`{"a"}`, "not valid JSON"},
		"number as name":     {`{1:2}`, "not valid JSON"},
		"too deep":           {deep(DefaultDepth + 1), "too deeply"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(c.in), Limits{})
			var pe *ParseError
			if !errors.As(err, &pe) || !strings.Contains(pe.Reason, c.reason) {
				t.Fatalf("got %v, want a reason with %q", err, c.reason)
			}
			if strings.Contains(err.Error(), secret) {
				t.Errorf("the error quotes the document: %v", err)
			}
		})
	}
	if _, err := Parse([]byte(deep(DefaultDepth)), Limits{}); err != nil {
		t.Errorf("nesting at the limit: %v", err)
	}
	if _, err := Parse([]byte(`[1,2]`), Limits{Nodes: 3}); err != nil {
		t.Errorf("values at the limit: %v", err)
	}
	if _, err := Parse([]byte(`[1,2]`), Limits{Nodes: 2}); err == nil {
		t.Error("values over the limit were accepted")
	}
	if _, err := Parse([]byte(`[[1]]`), Limits{Depth: 1}); err == nil {
		t.Error("nesting over a limit was accepted")
	}
	if _, err := Parse([]byte(deep(MaxDepth)), Limits{Depth: 1 << 30}); err != nil {
		t.Errorf("nesting at the highest limit: %v", err)
	}
}

// What was parsed must not change with the bytes, nor with the next use of a pooled
// parser, nor after a refusal.
func TestParseKeepsNoReference(t *testing.T) {
	data := []byte(`{"name":"value","esc":"a\nb","n":12.5,"l":[1,2,3],"o":{"x":"y"}}`)
	want := string(data)
	v, err := Parse(data, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range data {
		data[i] = 'X'
	}
	for range 10 {
		_, _ = Parse([]byte(`{"other":"thing","l":[9,9,9,{"z":["`), Limits{})
		mustParse(t, `{"other":"t\thing","l":[9,9,9,9,{"zz":"qq"}]}`)
	}
	if got := string(v.AppendJSON(nil)); got != want {
		t.Errorf("the value changed to %s", got)
	}
}

func BenchmarkParse(b *testing.B) {
	arguments := []byte(`{"path":"/home/user/project/out/report.md","content":"` +
		strings.Repeat("A plain line of text that is written to a file. ", 18) +
		`","encoding":"utf-8","overwrite":true,"tags":["a","b"],"mode":420}`)
	giant := []byte(`{"content":[{"type":"text","text":"` + strings.Repeat("x", 20<<20) + `"}]}`)
	escaped := []byte(`{"content":[{"type":"text","text":"` + strings.Repeat(strings.Repeat("x", 60)+`\n`, 330_000) + `"}]}`)
	var rows bytes.Buffer
	rows.WriteByte('[')
	for i := range 5000 {
		if i > 0 {
			rows.WriteByte(',')
		}
		fmt.Fprintf(&rows, `{"id":%d,"name":"customer %d","email":"c%d@shop.example","open":true}`, i, i, i)
	}
	rows.WriteByte(']')
	for _, c := range []struct {
		name string
		data []byte
	}{{"arguments-1KB", arguments}, {"giant-string-20MB", giant}, {"escaped-string-20MB", escaped}, {"rows-5000", rows.Bytes()}} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(c.data, Limits{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// What is parsed as text is what is parsed as bytes, and is refused for the same reason.
func TestParseTextIsParse(t *testing.T) {
	row := `{"a":"x","b":{"c":[{"d":1},{},{"e":"\u00e9"}]},"long":"` + strings.Repeat("z", 1000) + `"}`
	wide := `{"0":0`
	for i := range 60 {
		wide += fmt.Sprintf(`,"k%d":"v%d"`, i, i)
	}
	wide += "}"
	for _, s := range []string{"", " ", "{", `{"a":1,"a":2}`, `["a" "b"]`, "\xff", `"\ud800"`, `[1] 2`, " " + row + "\n", wide, "[" + strings.Repeat(row+","+wide+",", 30) + "null]"} {
		v, err := Parse([]byte(s), Limits{})
		w, werr := ParseText(s, Limits{})
		if fmt.Sprint(err) != fmt.Sprint(werr) || !Equal(v, w) {
			t.Errorf("%.80q: %v as bytes, %v as text", s, err, werr)
		}
		if err == nil && string(w.AppendJSON(nil)) != strings.TrimSpace(strings.ReplaceAll(s, `\u00e9`, "é")) {
			t.Errorf("%.80q came back as %.80q", s, w.AppendJSON(nil))
		}
	}
}
