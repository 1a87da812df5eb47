package strictyaml

import (
	"strings"
	"testing"
)

func lookup(name string) (string, bool) {
	v, ok := map[string]string{
		"HOST": "mail.example", "EMPTY": "", "INJECT": "x\nb: [1, 2]", "DOLLAR": "${HOST}", "NO": "no",
		"BAD": "a\xff",
	}[name]
	return v, ok
}

func parse(t *testing.T, in string) (*Node, *Problems) {
	t.Helper()
	p := &Problems{}
	return Parse("f.yaml", []byte(in), lookup, p), p
}

func TestProblems(t *testing.T) {
	for name, tt := range map[string]struct{ in, want string }{
		"empty":            {"", "f.yaml: the file is empty"},
		"only comments":    {"# nothing\n", "f.yaml: the file is empty"},
		"second document":  {"a: 1\n---\nb: 2\n", "f.yaml:2:1: a second document starts here; a file holds one, so nothing after --- would be read"},
		"duplicate key":    {"a: 1\nb: 2\na: 3\n", `f.yaml:3:1: the key 'a' is already set in line 1; remove one`},
		"duplicate quoted": {"a: 1\n'a': 3\n", `f.yaml:2:1: the key 'a' is already set in line 1; remove one`},
		"two merge keys":   {"b: &b {x: 1}\nc:\n  <<: *b\n  <<: *b\n", `f.yaml:4:3: the key '<<' is already set in line 3; remove one`},
		"merges disagree":  {"a: &a {x: 1}\nb: &b {x: 2}\nc: {<<: [*a, *b]}\n", `f.yaml:3:5: two merged mappings set the key 'x'; set it here`},
		"merge of a list":  {"a: &a [1]\nc: {<<: [*a]}\n", `f.yaml:1:4: << takes a mapping or a list of mappings, not a list`},
		"unknown tag":      {"a: !secret x\n", `f.yaml:1:4: the tag '!secret' is not known here; remove it`},
		"binary":           {"a: !!binary aGk=\n", `f.yaml:1:4: the tag '!!binary' is not known here; remove it`},
		"tag on a key":     {"!x a: 1\n", `f.yaml:1:1: the tag '!x' is not known here; remove it`},
		"tag of a list":    {"a: !!set {b: 1}\n", `f.yaml:1:4: the tag '!!set' is not known here; remove it`},
		"number key":       {"1: a\n", "f.yaml:1:1: the key 1 could be read as another type; write it in quotes"},
		"boolean word key": {"on: a\n", "f.yaml:1:1: the key on could be read as another type; write it in quotes"},
		"list key":         {"? [a]\n: b\n", "f.yaml:1:3: a key must be text, not a list"},
		"alias key":        {"a: &a x\n*a : b\n", "f.yaml:2:1: a key must be text, not an alias"},
		"no key":           {": b\n", `f.yaml:1:1: a key is missing here; write it, or in quotes if '' is meant`},
		"variable in key":  {"${HOST}: b\n", `f.yaml:1:1: variables are not read in keys; write the key '${HOST}' out`},
		"unset variable":   {"a: x ${TOKEN}\n", `f.yaml:1:4: the variable 'TOKEN' is not set; set it, or write $${ if ${ itself is meant`},
		"open variable":    {"a: ${TOKEN\n", "f.yaml:1:4: ${ must be followed by a variable's name and }; write $${ for the two characters themselves"},
		"default value":    {"a: '${HOST:-x}'\n", "f.yaml:1:4: ${ must be followed by a variable's name and }; write $${ for the two characters themselves"},
		"variable no text": {"a: '${BAD}'\n", `f.yaml:1:4: the variable 'BAD' holds bytes that are not text`},
		"not UTF-8":        {"a: b\nc: é\xff\n", "f.yaml:2:5: the file is not UTF-8; save it as UTF-8"},
		"UTF-16":           {"\xff\xfea\x00", "f.yaml:1:1: the file is not UTF-8; save it as UTF-8"},
		// Each of these would end a comment, and what follows would be read.
		"next line":           {"# a\u0085b: 1\n", "f.yaml:1:4: YAML ends a line here, a comment too, and many editors do not; use a plain line feed"},
		"line separator":      {"# a\u2028b: 1\n", "f.yaml:1:4: YAML ends a line here, a comment too, and many editors do not; use a plain line feed"},
		"paragraph separator": {"# a\u2029b: 1\n", "f.yaml:1:4: YAML ends a line here, a comment too, and many editors do not; use a plain line feed"},
		"carriage return":     {"# a\rb: 1\n", "f.yaml:1:4: YAML ends a line here, a comment too, and many editors do not; use a plain line feed"},
		"reordered text":      {"a: 1 # \u202eb\n", "f.yaml:1:8: a bidirectional control character makes the file look other than it is; remove it, or write it as \\u in double quotes"},
		"NUL":                 {"a: \x00\n", "f.yaml:1:4: a control character is not allowed here"},
		"unknown anchor":      {"a: *b\n", "f.yaml:1:4: not readable as YAML: unknown anchor 'b' referenced; a text that starts with * has to be in quotes, as in \"*@example.com\""},
		"too large":           {strings.Repeat("#", MaxSize+1), "f.yaml: the file has 4194305 bytes; at most 4194304 are read"},
		"broken second":       {"a: b\n---\n[", "f.yaml:4:1: not readable as YAML: did not find expected node content (while parsing a flow node that starts in line 4)"},
		"two problems":        {"a: !x 1\nb: !y 2\n", "f.yaml:1:4: the tag '!x' is not known here; remove it\nf.yaml:2:4: the tag '!y' is not known here; remove it"},
	} {
		t.Run(name, func(t *testing.T) {
			_, p := parse(t, tt.in)
			if err := p.Err(); err == nil || err.Error() != tt.want {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

func TestSyntaxErrorHasPlace(t *testing.T) {
	n, p := parse(t, "a: 1\nb: [1,\nc: d\n")
	if n != nil || p.Empty() {
		t.Fatal("a broken file was read")
	}
	want := "f.yaml:4:1: not readable as YAML: did not find expected ',' or ']' (while parsing a flow sequence that starts in line 2)"
	if got := p.Err().Error(); got != want {
		t.Error(got)
	}
}

func TestAliasesAreBounded(t *testing.T) {
	var bomb strings.Builder
	bomb.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 9; i++ {
		a := "*a" + string(rune('0'+i-1))
		bomb.WriteString("a" + string(rune('0'+i)) + ": &a" + string(rune('0'+i)) + " [" + strings.Repeat(a+", ", 8) + a + "]\n")
	}
	for name, tt := range map[string]struct{ in, want string }{
		"laughs":     {bomb.String(), "more than 200000 keys and values, aliases followed"},
		"itself":     {"a: &a [*a]\n", "nested more than 100 levels deep, aliases followed"},
		"merge self": {"a: &a {<<: *a}\n", "nested more than 100 levels deep, aliases followed"},
		"deep":       {strings.Repeat("[", 150) + strings.Repeat("]", 150), "exceeded"},
		"many":       {"[" + strings.Repeat("1,", 200_001) + "]", "more than 200000 keys and values"},
	} {
		t.Run(name, func(t *testing.T) {
			n, p := parse(t, tt.in)
			if n != nil {
				t.Error("a document over the limits was returned")
			}
			if err := p.Err(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
			if len(p.List()) != 1 {
				t.Errorf("%d problems, want 1", len(p.List()))
			}
		})
	}
}
