package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// manyRules writes a configuration with n rules of three constraints each, and one test
// for it; the last rule is the one for mail.
func manyRules(tb testing.TB, n int) (config string) {
	tb.Helper()
	var b strings.Builder
	b.WriteString("version: 1\npolicies:\n  p:\n    rules:\n")
	for i := range n - 1 {
		fmt.Fprintf(&b, "      - name: rule-%d\n        effect: allow\n        tools: [tool_%d, \"list_%d_*\"]\n        when:\n", i, i, i)
		fmt.Fprintf(&b, "          args.domain: {in: [light, climate, scene_%d]}\n          args.id: {matches: \"(light|climate)\\\\..+\"}\n          args.n: {lte: %d}\n", i, i)
	}
	b.WriteString("      - name: mail\n        effect: allow\n        tools: [read_mail]\n        when: {args.id: {matches: \"m[0-9]+\"}, args.n: {lte: 5}, args.x: {absent: true}}\n")
	dir := tb.TempDir()
	config = filepath.Join(dir, "sallyport.yaml")
	tests := "tests:\n"
	for i := range 100 {
		tests += fmt.Sprintf("  - {name: t%d, steps: [{call: {tool: read_mail, args: {id: m%d, n: 1}}, expect: allow, rule: mail}]}\n", i, i)
	}
	for file, text := range map[string]string{config: b.String(), testFileOf(config): tests} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return config
}

// runMain runs a command line and returns its standard output; it has to end with code 0.
func runMain(tb testing.TB, args ...string) string {
	tb.Helper()
	var out, errs bytes.Buffer
	if code := Main(args, strings.NewReader(""), &out, &errs); code != 0 {
		tb.Fatalf("exit code %d: %s%s", code, out.String(), errs.String())
	}
	return out.String()
}

// A whole command on a file of 2,000 rules, from the file's bytes to the answer.
func BenchmarkExplain2000Rules(b *testing.B) {
	config := manyRules(b, 2000)
	b.ReportAllocs()
	for b.Loop() {
		runMain(b, "explain", "-c", config, "--tool", "read_mail", "--args", `{"id":"m1","n":1}`)
	}
}

func BenchmarkExplainJSON2000Rules(b *testing.B) {
	config := manyRules(b, 2000)
	b.ReportAllocs()
	for b.Loop() {
		runMain(b, "explain", "-c", config, "--tool", "read_mail", "--args", `{"id":"m1","n":1}`, "--json")
	}
}

// 100 tests against 2,000 rules.
func BenchmarkTest2000Rules(b *testing.B) {
	config := manyRules(b, 2000)
	b.ReportAllocs()
	for b.Loop() {
		runMain(b, "test", "-c", config, "--coverage")
	}
}

// The rules of other names are one line, however many they are.
func TestExplainOfManyRulesIsShort(t *testing.T) {
	out := runMain(t, "explain", "-c", manyRules(t, 300), "--tool", "read_mail", "--args", `{"id":"m1","n":1}`)
	if n := strings.Count(out, "\n"); n > 40 || !strings.Contains(out, "… 299 rules are for other names or upstreams\n  [mail] PASS args.id = 'm1'") {
		t.Errorf("%d lines:\n%s", n, out)
	}
}

func TestTestFileOf(t *testing.T) {
	for config, want := range map[string]string{
		"sallyport.yaml": "sallyport.test.yaml", "a.b/c.yml": "a.b/c.test.yml", "a.b/c": "a.b/c.test",
	} {
		if got := testFileOf(config); got != want {
			t.Errorf("%s: %s, want %s", config, got, want)
		}
	}
}

// A result that cannot be written is no verdict.
func TestExplainThatCannotBeWritten(t *testing.T) {
	for _, args := range [][]string{{"explain", "--tool", "a"}, {"explain", "--tool", "a", "--json"}} {
		t.Setenv("XDG_CONFIG_HOME", t.TempDir())
		var errs bytes.Buffer
		if code := Main(args, strings.NewReader(""), full{}, &errs); code != 1 || !strings.Contains(errs.String(), "disk full") {
			t.Errorf("%v: code %d, %s", args, code, errs.String())
		}
	}
}
