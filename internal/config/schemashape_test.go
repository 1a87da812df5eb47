package config

import (
	"slices"
	"strings"
	"testing"
)

// place is where an object of the schema stands in a file, and what has to be beside a
// key for the file to load.
type place struct {
	before, after string
	defaults      [][2]string
}

var places = map[string]place{
	"configuration": {"{", "}", [][2]string{{"version", "1"}}},
	"server":        {"{version: 1, server: {", "}}", nil},
	"upstream":      {"{version: 1, upstreams: {a: {", "}}}", [][2]string{{"transport", "stdio"}, {"command", "x"}}},
	"contract":      {"{version: 1, tools: {a: {", "}}}", [][2]string{{"exfiltrating", "true"}, {"write_params", "[p]"}}},
	"flow":          {"{version: 1, flow: {", "}}", nil},
	"policy":        {"{version: 1, policies: {a: {", "}}}", nil},
	"rule":          {"{version: 1, rate_limits: {x: {rate: 1, per: 1m}}, policies: {a: {rules: [{", "}]}}}", [][2]string{{"effect", "allow"}}},
	"operators":     {"{version: 1, policies: {a: {rules: [{effect: allow, when: {args.x: {", "}}}]}}}", [][2]string{{"ne", "odd"}}},
	"rate_limit":    {"{version: 1, rate_limits: {a: {", "}}}", [][2]string{{"rate", "1"}, {"per", "1m"}}},
	"token":         {"{version: 1, policies: {p: {}}, tokens: [{", "}]}", [][2]string{{"name", "a"}, {"policy", "p"}, {"env", "VAR"}}},
	"audit":         {"{version: 1, audit: {", "}}", nil},
	"approvals":     {"{version: 1, approvals: {", "}}", nil},
	"rotate":        {"{version: 1, audit: {rotate: {", "}}}", [][2]string{{"max_size", "10MiB"}}},
}

// with writes the file in which the object has key: value.
func (p place) with(key, value string) string {
	var l []string
	for _, d := range p.defaults {
		if d[0] != key {
			l = append(l, d[0]+": "+d[1])
		}
	}
	if key != "" {
		l = append(l, key+": "+value)
	}
	return p.before + strings.Join(l, ", ") + p.after + "\n"
}

// samples are one value of every type, and some that are nearly right.
var samples = []string{
	"5", "-1", "0", "1.5", "true", "null", "text", `""`, "p", "x", "30s", "30", "VAR", "args.a", "deny", "ask", "allow", "https://x.example/y", "/abs/dir",
	"[]", "[x]", "[5]", "[args.a]", "[/abs/dir]", "[[x]]", "{}", "{x: 1}", "{x: y}", "{a: {x: 1}}", "[{x: 1}]", "2031-01-31", "'${VAR}'",
}

// notShape reports the loader's refusals that are no matter of shape: what a variable
// brings in, what a name stands for, what contradicts another operator.
func notShape(value string, err error) bool {
	return strings.Contains(value, "${") || strings.Contains(err.Error(), ": there is no ") ||
		strings.Contains(err.Error(), "must be absent has no value to compare")
}

// Of every key and value of each type, the schema refuses what the loader refuses.
func TestSchemaRefusesWhatTheLoaderRefuses(t *testing.T) {
	s := compileSchema(t)
	checked, refused := 0, 0
	for _, o := range objects {
		p, ok := places[o.name]
		if !ok {
			t.Errorf("there is no place for %s", o.name)
			continue
		}
		if _, err := Load("f.yaml", []byte(p.with("", "")), Options{Lookup: anyVariable}); err != nil && o.name != "rate_limit" {
			t.Errorf("%s: the file without the key does not load: %v", o.name, err)
		}
		for _, k := range append(slices.Clone(o.keys), key{name: "no_such_key"}) {
			for _, v := range samples {
				text := p.with(k.name, v)
				_, loadErr := Load("f.yaml", []byte(text), Options{Lookup: anyVariable})
				schemaErr := accepts(t, s, text)
				checked++
				what := o.name + "." + k.name + "=" + v
				switch {
				case loadErr == nil && schemaErr != nil:
					t.Errorf("%s loads, and the schema refuses it: %v", what, schemaErr)
				case loadErr != nil && schemaErr == nil && !notShape(v, loadErr):
					t.Errorf("%s is refused (%v), and the schema takes it", what, loadErr)
				case loadErr != nil:
					refused++
				}
			}
		}
	}
	if checked < 2000 || refused < 1000 {
		t.Errorf("%d checked, %d refused", checked, refused)
	}
}

// What has to be there is missed by both.
func TestSchemaMissesWhatTheLoaderMisses(t *testing.T) {
	s := compileSchema(t)
	for _, o := range objects {
		for _, k := range o.keys {
			if !k.required {
				continue
			}
			p := places[o.name]
			p.defaults = slices.DeleteFunc(slices.Clone(p.defaults), func(d [2]string) bool { return d[0] == k.name })
			text := p.with("description", "x")
			if o.name == "configuration" {
				text = "mode: enforce\n"
			}
			if _, err := Load("f.yaml", []byte(text), Options{Lookup: anyVariable}); err == nil {
				t.Errorf("%s loads without %s", o.name, k.name)
			}
			if accepts(t, s, text) == nil {
				t.Errorf("the schema takes %s without %s", o.name, k.name)
			}
		}
	}
}
