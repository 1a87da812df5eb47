package pins

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/doc"
)

// shown is a difference as text, sorted: "! place" for what widens, "  place" for the
// rest, "sink x", "lost x".
func shown(d Difference) string {
	var all []string
	for _, c := range d.Changes {
		mark := " "
		if c.Widens != "" {
			mark = "!"
		}
		all = append(all, mark+" "+c.Place)
	}
	for _, s := range d.Sinks {
		all = append(all, "sink "+s)
	}
	for _, s := range d.Lost {
		all = append(all, "lost "+s)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func TestDiff(t *testing.T) {
	tool := func(members string) string { return `{"name":"send_mail",` + members + `}` }
	schema := func(s string) string { return tool(`"inputSchema":` + s) }
	props := func(s string) string { return schema(`{"type":"object","properties":{` + s + `}}`) }
	for name, tt := range map[string]struct{ old, now, want string }{
		"nothing":             {tool(`"title":"x"`), tool(`"title":"x"`), ""},
		"order":               {schema(`{"required":["a","b"],"properties":{"p":{"type":["string","null"],"enum":["x",null],"anyOf":[{},true]}}}`), schema(`{"properties":{"p":{"anyOf":[true,{}],"enum":[null,"x"],"type":["null","string"]}},"required":["b","a"]}`), ""},
		"description":         {tool(`"description":"x"`), tool(`"description":"y"`), "! description"},
		"title":               {tool(`"title":"x"`), tool(`"description":"x"`), "! description, ! title"},
		"annotations":         {tool(`"annotations":{"readOnlyHint":true,"title":"x"}`), tool(`"annotations":{"readOnlyHint":false,"title":"x"}`), "! annotations.readOnlyHint"},
		"annotations go":      {tool(`"annotations":{"destructiveHint":true}`), tool(`"title":""`), "! annotations, ! title"},
		"other members":       {tool(`"_meta":{"a":1}`), tool(`"_meta":{"a":2}`), "! _meta"},
		"a new destination":   {props(`"body":{"type":"string"},"to":{"type":"string"}`), props(`"body":{"type":"string"},"to":{"type":"string"},"bcc":{"type":"string"}`), "! inputSchema.properties.bcc, sink bcc"},
		"a parameter":         {props(`"to":{"type":"string"}`), props(`"to":{"type":"string"},"verbose":{"type":"boolean"}`), "! inputSchema.properties.verbose"},
		"a destination hides": {props(`"to":{"type":"string"}`), props(`"t":{"type":"string"}`), "! inputSchema.properties.t,   inputSchema.properties.to, lost to, sink *"},
		"a parameter goes":    {props(`"to":{"type":"string"},"x":{}`), props(`"to":{"type":"string"}`), "  inputSchema.properties.x"},
		"optional":            {schema(`{"required":["a","b"]}`), schema(`{"required":["b"]}`), "! inputSchema.required"},
		"none required":       {schema(`{"required":["a"]}`), schema(`{}`), "! inputSchema.required"},
		"required":            {schema(`{"required":["a"]}`), schema(`{"required":["a","b"]}`), "  inputSchema.required"},
		"enum grows":          {props(`"p":{"enum":["a"]}`), props(`"p":{"enum":["a","b"]}`), "! inputSchema.properties.p.enum"},
		"enum goes":           {props(`"p":{"enum":["a"]}`), props(`"p":{}`), "! inputSchema.properties.p.enum"},
		"enum shrinks":        {props(`"p":{"enum":["a","b"]}`), props(`"p":{"enum":["b"]}`), "  inputSchema.properties.p.enum"},
		"enum comes":          {props(`"p":{}`), props(`"p":{"enum":["b"]}`), "  inputSchema.properties.p.enum"},
		"enum of other type":  {props(`"p":{"enum":["1"]}`), props(`"p":{"enum":[1]}`), "! inputSchema.properties.p.enum"},
		"pattern":             {props(`"p":{"pattern":"a"}`), props(`"p":{"pattern":"b"}`), "! inputSchema.properties.p.pattern"},
		"pattern goes":        {props(`"p":{"pattern":"a"}`), props(`"p":{}`), "! inputSchema.properties.p.pattern"},
		"pattern comes":       {props(`"p":{}`), props(`"p":{"pattern":"a"}`), "  inputSchema.properties.p.pattern"},
		"types":               {props(`"p":{"type":"integer"}`), props(`"p":{"type":["integer","null"]}`), "! inputSchema.properties.p.type"},
		"fewer types":         {props(`"p":{"type":["integer","null"]}`), props(`"p":{"type":"integer"}`), "  inputSchema.properties.p.type"},
		"type goes":           {props(`"p":{"type":"integer"}`), props(`"p":{}`), "! inputSchema.properties.p.type"},
		"longer":              {props(`"p":{"maxLength":9}`), props(`"p":{"maxLength":10}`), "! inputSchema.properties.p.maxLength"},
		"shorter":             {props(`"p":{"maxLength":9}`), props(`"p":{"maxLength":8}`), "  inputSchema.properties.p.maxLength"},
		"lower":               {props(`"p":{"minimum":1}`), props(`"p":{"minimum":-1}`), "! inputSchema.properties.p.minimum"},
		"no number":           {props(`"p":{"maximum":1}`), props(`"p":{"maximum":"1"}`), "! inputSchema.properties.p.maximum"},
		"default":             {props(`"p":{}`), props(`"p":{"default":"x"}`), "! inputSchema.properties.p.default"},
		"order in a default":  {props(`"p":{"default":[1,2]}`), props(`"p":{"default":[2,1]}`), "! inputSchema.properties.p.default"},
		"deep description":    {props(`"p":{"items":{"description":"a"}}`), props(`"p":{"items":{"description":"b"}}`), "! inputSchema.properties.p.items.description"},
		"open":                {schema(`{"additionalProperties":false}`), schema(`{"additionalProperties":true}`), "! inputSchema.additionalProperties, sink *"},
		"open by leaving out": {schema(`{"additionalProperties":false}`), schema(`{}`), "! inputSchema.additionalProperties, sink *"},
		"closed":              {schema(`{}`), schema(`{"additionalProperties":false}`), "  inputSchema.additionalProperties, lost *"},
		"another form":        {props(`"p":{"anyOf":[{"type":"null"}]}`), props(`"p":{"anyOf":[{"type":"null"},{"type":"integer"}]}`), "! inputSchema.properties.p.anyOf"},
		"fewer forms":         {props(`"p":{"anyOf":[{"type":"null"},{"type":"integer"}]}`), props(`"p":{"anyOf":[{"type":"null"}]}`), "  inputSchema.properties.p.anyOf"},
		"allOf loses":         {props(`"p":{"allOf":[{"minLength":1},{"maxLength":2}]}`), props(`"p":{"allOf":[{"minLength":1}]}`), "! inputSchema.properties.p.allOf"},
		"allOf gains":         {props(`"p":{"allOf":[{"minLength":1}]}`), props(`"p":{"allOf":[{"minLength":1},{"maxLength":2}]}`), "  inputSchema.properties.p.allOf"},
		"what is not known":   {props(`"p":{}`), props(`"p":{"x-run":"y"}`), "! inputSchema.properties.p.x-run"},
		"a reference":         {schema(`{"$defs":{"a":{}},"$ref":"#/$defs/a"}`), schema(`{"$defs":{"a":{},"b":{}},"$ref":"#/$defs/b"}`), `! inputSchema["$defs"].b, ! inputSchema["$ref"]`},
		"schema is no object": {schema(`{"type":"object"}`), schema(`true`), "! inputSchema"},
		"hostile name":        {props(``), props(`"a.b\u001b":{}`), `! inputSchema.properties["a.b\u001b"]`},
		"a list as type":      {props(`"p":{"type":[]}`), props(`"p":{"type":{}}`), "! inputSchema.properties.p.type"},
		"properties a list":   {props(`"p":{}`), schema(`{"type":"object","properties":[]}`), "! inputSchema.properties"},
	} {
		t.Run(name, func(t *testing.T) {
			d := Diff(value(t, tt.old), value(t, tt.now))
			got := shown(d)
			var want []string
			if tt.want != "" {
				want = strings.Split(tt.want, ", ")
				for i := range want {
					if strings.HasPrefix(want[i], " ") && !strings.HasPrefix(want[i], "  ") {
						want[i] = " " + want[i]
					}
				}
				slices.Sort(want)
			}
			if got != strings.Join(want, ", ") {
				t.Errorf("got  %s\nwant %s", got, strings.Join(want, ", "))
			}
			if d.Widens() != (strings.Contains(got, "!") || strings.Contains(got, "sink") || strings.Contains(got, "lost")) {
				t.Errorf("Widens is %v", d.Widens())
			}
		})
	}
}

// A new tool is new in every part, and its destinations are named.
func TestDiffOfANewTool(t *testing.T) {
	d := Diff(doc.Value{}, value(t, `{"name":"post","description":"x","inputSchema":{"properties":{"url":{"type":"string"}},"required":["url"]}}`))
	if got := shown(d); got != "  inputSchema.required,   name, ! description, ! inputSchema.properties.url, sink url" {
		t.Error(got)
	}
}

// Definitions whose digests differ never look the same, and equal ones never differ.
func FuzzDiff(f *testing.F) {
	for _, s := range [][2]string{
		{`{"name":"a"}`, `{"name":"a","description":"x"}`},
		{`{"inputSchema":{"required":["a","b"]}}`, `{"inputSchema":{"required":["b","a"]}}`},
		{`{"inputSchema":{"properties":{"a":{"enum":[1,2]}}}}`, `{"inputSchema":{"properties":{"a":{"enum":[2]}}}}`},
		{`{"inputSchema":{"anyOf":[{"type":["a","b"]}]}}`, `{"inputSchema":{"anyOf":[{"type":["b","a"]},{}]}}`},
		{`{"inputSchema":{"items":[{"enum":[1,2]}],"dependencies":{"a":["x","y"],"b":{}}}}`, `{"inputSchema":{"items":[{"enum":[2,1]}],"dependencies":{"a":["y","x"]}}}`},
		{`{"inputSchema":[1,2]}`, `{"inputSchema":[2,1]}`},
		{`{"annotations":{"a":[1,2]}}`, `{"annotations":[]}`},
		{`[]`, `{}`},
		{`{"inputSchema":{"properties":null}}`, `{"inputSchema":{"properties":{}}}`},
		{`{"inputSchema":{"not":{"enum":[1,2]},"if":{}}}`, `{"inputSchema":{"not":{"enum":[2,1]},"if":true}}`},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		lim := doc.Limits{Depth: 50, Nodes: 2000}
		old, err := doc.Parse([]byte(a), lim)
		if err != nil {
			return
		}
		now, err := doc.Parse([]byte(b), lim)
		if err != nil || old.Kind() != doc.Object || now.Kind() != doc.Object {
			return
		}
		same := equal(old, now)
		d := Diff(old, now)
		if same != (len(d.Changes) == 0) {
			t.Fatalf("%s\n%s\nequal %v, and the difference is %s", a, b, same, fmt.Sprint(d.Changes))
		}
		if same && d.Widens() {
			t.Fatalf("equal definitions have other sinks: %v %v", d.Sinks, d.Lost)
		}
	})
}
