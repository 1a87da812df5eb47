package packscore

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/doc"
)

// The files under testdata/servers hold invented definitions in the style of public
// servers, one tool a line:
//
//	name(param:type "description", …) | description => effect param:kind w:param
//
// The type is string when it is left out; param:kind is a sink, w:param a path that is
// written, ! a sink without a parameter, ? a label that two readers could give
// differently.
var (
	toolLine  = regexp.MustCompile(`^([^(]+)\((.*)\) \| (.*) => (\w+)((?: \S+)*)$`)
	paramForm = regexp.MustCompile(`^([^:" ]+)(?::(\[?\w+\]?))?(?: "([^"]*)")?(?:, |$)`)
)

func readServer(t testing.TB, path string) List {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	l := List{Server: strings.TrimSuffix(filepath.Base(path), ".txt")}
	for line := range strings.Lines(string(data)) {
		m := toolLine.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			t.Fatalf("%s: %q", path, line)
		}
		props := map[string]any{}
		for rest := m[2]; rest != ""; {
			p := paramForm.FindStringSubmatch(rest)
			if p == nil {
				t.Fatalf("%s: parameters %q of %q", path, rest, line)
			}
			rest = rest[len(p[0]):]
			props[p[1]] = paramSchema(p[2], p[3])
		}
		def, err := doc.FromGo(map[string]any{
			"name": m[1], "description": strings.ReplaceAll(m[3], `\n`, "\n"),
			"inputSchema": map[string]any{"type": "object", "properties": props},
		})
		if err != nil {
			t.Fatal(err)
		}
		l.Tools = append(l.Tools, contract.Tool{Upstream: l.Server, Name: m[1], Definition: def})
		label := Label{Tool: m[1], Effect: m[4], SinkKinds: map[string]string{}}
		for f := range strings.FieldsSeq(m[5]) {
			param, kind, _ := strings.Cut(f, ":")
			switch {
			case f == "?":
				label.Doubtful = true
			case f == "!":
				label.Sink = true
			case param == "w":
				label.WriteParams = append(label.WriteParams, kind)
			default:
				label.Sink, label.SinkKinds[param] = true, kind
			}
			if named := cmp.Or(map[bool]string{true: kind}[param == "w"], param); f != "?" && f != "!" && props[named] == nil {
				t.Fatalf("%s: %s has no parameter %s", path, m[1], named)
			}
		}
		if !slices.Contains(effects, label.Effect) {
			t.Fatalf("%s: effect of %q", path, line)
		}
		l.Labels = append(l.Labels, label)
	}
	return l
}

func paramSchema(kind, description string) map[string]any {
	s := map[string]any{"type": cmp.Or(kind, "string")}
	switch {
	case strings.HasPrefix(kind, "["):
		s = map[string]any{"type": "array", "items": map[string]any{"type": strings.Trim(kind, "[]")}}
	case kind == "enum":
		s = map[string]any{"type": "string", "enum": []any{"a", "b"}}
	case kind == "any":
		s = map[string]any{}
	}
	if description != "" {
		s["description"] = description
	}
	return s
}

func readServers(t testing.TB, pattern string) []List {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatal(pattern, err)
	}
	var l []List
	for _, p := range paths {
		l = append(l, readServer(t, p))
	}
	return l
}

// halves splits servers by the hash of the file name: the rules were developed on the
// first half.
func halves(lists []List) (seen, unseen []List) {
	hash := func(l List) string {
		sum := sha256.Sum256([]byte(l.Server + ".txt"))
		return hex.EncodeToString(sum[:])
	}
	slices.SortFunc(lists, func(a, b List) int { return cmp.Compare(hash(a), hash(b)) })
	return lists[:len(lists)/2], lists[len(lists)/2:]
}

// The bar for each group of servers: 95 % of the sinks with an address and of the tools
// that execute, false alarms on fewer than 5 % of the others. go test -v prints the table.
func TestFallbackOnInventedServers(t *testing.T) {
	seen, unseen := halves(readServers(t, "testdata/servers/*.txt"))
	for name, lists := range map[string][]List{
		"developed on": seen, "held out": unseen, "later": readServers(t, "testdata/later/*.txt"),
	} {
		t.Run(name, func(t *testing.T) {
			rep, err := Score(lists)
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			if err := rep.WriteText(&b, true); err != nil {
				t.Fatal(err)
			}
			t.Logf("\n%s", &b)
			c := rep.Sum.Fallback
			for what, n := range map[string]Count{"sinks with an address": c.Addresses, "their parameters": c.Parameters, "tools that execute": c.Execute} {
				if n.Of == 0 || n.Found*100 < n.Of*95 {
					t.Errorf("%s: %d of %d found", what, n.Found, n.Of)
				}
			}
			if c.Alarms.Found*100 >= c.Alarms.Of*5 {
				t.Errorf("%d of %d other tools are gated", c.Alarms.Found, c.Alarms.Of)
			}
		})
	}
}
