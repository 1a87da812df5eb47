package cli

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/policy"
)

// docBlock is one fenced block of the policy reference.
type docBlock struct {
	line int
	info string // what stands behind the fence: yaml, yaml refused, yaml file=NAME, …
	text string
}

func policyDoc(t *testing.T) (doc string, blocks []docBlock) {
	t.Helper()
	data, err := os.ReadFile("../../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(data), docBlocks(t, "../../docs/policy.md")
}

// docBlocks are the fenced blocks of a page.
func docBlocks(t *testing.T, file string) (blocks []docBlock) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(data), "\n")
	for i := 0; i < len(lines); i++ {
		info, ok := strings.CutPrefix(lines[i], "```")
		if !ok {
			continue
		}
		b := docBlock{line: i + 1, info: info}
		for i++; i < len(lines) && lines[i] != "```"; i++ {
			b.text += lines[i] + "\n"
		}
		blocks = append(blocks, b)
	}
	return blocks
}

// complete makes a whole file of a block that shows a part: a list is the rules of a
// policy, when: belongs to a rule, and a section gets its version. A contracts file and
// a whole file stay as they are.
func complete(block string) string {
	indent := func(n int) string {
		space := strings.Repeat(" ", n)
		return space + strings.ReplaceAll(strings.TrimSuffix(block, "\n"), "\n", "\n"+space) + "\n"
	}
	const limits = "version: 1\nrate_limits:\n  actuation: {rate: 1, per: 1s}\n"
	section := regexp.MustCompile(`^(packs|tools|flow|policies|rate_limits|approvals|audit):`)
	switch {
	case strings.HasPrefix(block, "- "):
		return limits + "policies:\n  p:\n    rules:\n" + indent(4)
	case strings.HasPrefix(block, "when:"):
		return limits + "policies:\n  p:\n    rules:\n    - effect: allow\n" + indent(6)
	case section.MatchString(block):
		return "version: 1\n" + block
	}
	return block
}

// TestPolicyDocExamplesLoad loads every example of the reference, and holds those that
// are refused to what the page says of them.
func TestPolicyDocExamplesLoad(t *testing.T) {
	_, blocks := policyDoc(t)
	seen := map[string]int{}
	for _, b := range blocks {
		kind, _, _ := strings.Cut(b.info, "=")
		seen[kind]++
		if kind != "yaml" && kind != "yaml refused" {
			continue
		}
		_, err := config.Load("policy.md", []byte(complete(b.text)), config.Options{})
		if kind == "yaml" {
			if err != nil {
				t.Errorf("policy.md:%d: %v", b.line, err)
			}
			continue
		}
		_, want, said := strings.Cut(b.text, "# refused: ")
		if !said || err == nil || !strings.Contains(err.Error(), strings.TrimSpace(want)) {
			t.Errorf("policy.md:%d: loads with %v, the page says %q", b.line, err, want)
		}
	}
	// Only the editor's comment is no example; who adds a block counts it here.
	want := map[string]int{"yaml": 20, "yaml refused": 2, "yaml file": 2, "json file": 1, "yaml fragment": 1, "sh": 3, "console": 1}
	if !maps.Equal(seen, want) {
		t.Errorf("the page has the blocks %v, want %v", seen, want)
	}
}

// TestPolicyDocWorkedExample types what the page tells a newcomer to type.
func TestPolicyDocWorkedExample(t *testing.T) {
	doc, blocks := policyDoc(t)
	t.Chdir(t.TempDir())
	for _, b := range blocks {
		if _, name, ok := strings.Cut(b.info, " file="); ok {
			if err := os.WriteFile(filepath.Base(name), []byte(b.text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	run := func(want int, args ...string) string {
		var out, errs bytes.Buffer
		if got := Main(args, strings.NewReader(""), &out, &errs); got != want {
			t.Errorf("sallyport %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, want, &out, &errs)
		}
		return out.String()
	}
	out := run(0, "validate", "-c", "sallyport.yaml", "--strict", "--tools", "tools.json")
	if shown := "$ sallyport validate -c sallyport.yaml --strict --tools tools.json\n" + out + "```"; !strings.Contains(doc, shown) {
		t.Errorf("the page does not show what validate prints:\n%s", out)
	}
	if out := run(0, "test", "-c", "sallyport.yaml", "sallyport.test.yaml", "--coverage"); strings.Contains(out, "never decided") {
		t.Errorf("a rule of the worked example never decides:\n%s", out)
	}
	out = run(2, "explain", "-c", "sallyport.yaml", "--tool", "write_note", "--args", `{"id":"n1","text":"hello","folder":"home"}`)
	if !strings.Contains(out, "args.folder = 'home' fails eq 'work'") || !strings.Contains(doc, "args.folder = 'home' fails eq 'work'") {
		t.Errorf("explain does not say what the page says:\n%s", out)
	}

	data, err := os.ReadFile("sallyport.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("wrong.yaml", bytes.Replace(data, []byte("args.folder"), []byte("args.foler"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	out = run(3, "validate", "-c", "wrong.yaml", "--strict", "--tools", "tools.json")
	if !strings.Contains(out, "SP103") || !strings.Contains(out, "did you mean 'args.folder'?") {
		t.Errorf("the misspelt argument is not found:\n%s", out)
	}
}

// TestPolicyDocNamesEverything: the page has a row for every key and operator.
func TestPolicyDocNamesEverything(t *testing.T) {
	doc, _ := policyDoc(t)
	policyKeys, ruleKeys, constraintKeys := policy.Keys()
	for _, key := range slices.Concat(policyKeys, ruleKeys, constraintKeys) {
		if !regexp.MustCompile("(?m)^\\|[^|]*`" + key + "`[^|]*\\|").MatchString(doc) {
			t.Errorf("docs/policy.md has no row for %s", key)
		}
	}
}

// TestPolicyDocPatterns tries the table of what differs from Python.
func TestPolicyDocPatterns(t *testing.T) {
	loads := func(pattern string) bool {
		_, err := policy.New(policy.Spec{Name: "p", Rules: []policy.RuleSpec{{
			Effect: policy.Allow, When: map[string]any{"args.x": map[string]any{"matches": pattern}},
		}}})
		return err == nil
	}
	for _, p := range []string{
		"(?=a)b", "(?!a)b", "(?<=a)b", "(?<!a)b", `(a)\1`, "(?P<n>a)(?P=n)", "(a)?(?(1)b|c)", "(?>a)b", "a*+", "a++", "a?+",
		"(?x) a", `(?a)\w`, `(?u)\w`, "(?L)a", "(?#c)a", `a\Z`, `\u00e9`, `\N{DASH}`, "a{,3}", "a{1001}",
	} {
		if loads(p) {
			t.Errorf("%s loads, and the page says that it is refused", p)
		}
	}
	for _, p := range []string{"(?P<n>a)", "(?i)a", "(?s).", "(?m)^a$", "a{1000}", "[[:alpha:]]", `\Qa.b\E`, `\x{e9}`, `\pL`} {
		if !loads(p) {
			t.Errorf("%s does not load, and the page says that it does", p)
		}
	}
}
