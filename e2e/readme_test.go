package e2e

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// blocks returns the fenced blocks of a language, in order.
func blocks(t *testing.T, markdown, language string) []string {
	t.Helper()
	var all []string
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(markdown, -1) {
		all = append(all, m[1])
	}
	if len(all) == 0 {
		t.Fatalf("no %s block", language)
	}
	return all
}

func readme(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Every command of the README runs, in order, in one directory, as a reader would type
// it. make is not run here: CI runs both of its commands itself.
func TestREADMECommands(t *testing.T) {
	needWrap(t)
	npm(t, "@modelcontextprotocol/server-filesystem/dist/index.js")
	node(t)
	text := readme(t)
	dir := realDir(t)
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	modules, err := filepath.Abs("node_modules")
	if err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"bin/sallyport": binary(t, "sallyport"), "node_modules": modules} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	// The reader's own mail server; what it does is not the README's matter.
	for name, content := range map[string]string{"mail-server.js": "process.stdin.resume()\n", "sallyport.yaml": blocks(t, text, "yaml")[0], "sallyport.test.yaml": blocks(t, text, "yaml")[1], "team.yaml": blocks(t, text, "yaml")[2]} {
		content = strings.ReplaceAll(content, "/tmp/project", filepath.Join(dir, "project"))
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	client := strings.ReplaceAll(blocks(t, text, "json")[0], "/tmp/project", filepath.Join(dir, "project"))
	if err := os.WriteFile(filepath.Join(dir, ".mcp.json"), []byte(client), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "project"), 0o755); err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(free.Addr().String())
	free.Close()
	var all strings.Builder
	for _, block := range blocks(t, text, "sh") {
		var run []string
		for line := range strings.Lines(block) {
			if goal, ok := strings.CutPrefix(line, "make "); ok {
				goal = strings.Fields(goal)[0]
				if !strings.Contains(string(makefile), "\n"+goal+":") {
					t.Errorf("the Makefile has no goal %s", goal)
				}
				continue
			}
			run = append(run, line)
		}
		script := strings.NewReplacer("/tmp/project", filepath.Join(dir, "project"), "8080", port,
			// Nobody is there to ask, and the program lies where tests are built.
			"sallyport init ", "sallyport init --yes --program $PWD/bin/sallyport ",
		).Replace(strings.Join(run, ""))
		if strings.TrimSpace(script) == "" {
			continue
		}
		cmd := exec.Command("bash", "-euo", "pipefail", "-c", script)
		cmd.Dir = dir
		cmd.Env = append(environment(dir), "npm_config_offline=true", "HOME="+dir) // not the configuration of who runs this
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s\n%v\n%s", script, err, out)
		}
		all.Write(out)
	}
	for _, promised := range []string{
		"written: ", "a call that must be refused is refused, and the log shows it", "restored: ", "to the byte",
		"calls: 2: 1 allowed, 1 denied",
		"Successfully wrote to", "[sallyport blocked] argument path: ", "it is outside the allowed directories",
		"1 policy, 1 rule, 2 contracts", "intact", "allow", "ok", `{"id":1,"verdict":"ask","check":"flow"`,
		"1 policy, 1 rule, 0 contracts, 2 upstreams, 1 token", "\nready\n", `"name":"files__read_text_file"`, `"name":"demo__echo"`,
		`"protocolVersion":"2025-11-25"`, "msg=wrapping server=127.0.0.1", "reloaded, nothing has changed", "stopping: new calls are refused",
	} {
		if !strings.Contains(all.String(), promised) {
			t.Errorf("nothing says %q:\n%s", promised, &all)
		}
	}
	if now, err := os.ReadFile(filepath.Join(dir, ".mcp.json")); err != nil || string(now) != client {
		t.Errorf("after init and init --undo the client's file is %s (%v)", now, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "review.html")); err != nil {
		t.Error(err)
	}
	if strings.Contains(all.String(), "files__write_file") {
		t.Error("a denied tool is shown")
	}
	if _, err := os.Stat(filepath.Join(dir, "project", "in.txt")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "out.txt")); err == nil {
		t.Error("out.txt was written")
	}
}

// What the README shows of the demo is what the demo prints.
func TestREADMEShowsTheDemo(t *testing.T) {
	needWrap(t)
	out, code := runDemo(t, realDir(t), "--auto")
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	clock := regexp.MustCompile(`\b\d\d:\d\d:\d\d\b`)
	out = clock.ReplaceAllString(out, "TIME")
	shown := clock.ReplaceAllString(blocks(t, readme(t), "console")[0], "TIME")
	n := 0
	for part := range strings.SplitSeq(strings.TrimPrefix(shown, "$ make demo\n"), "[…]\n") {
		if part == "" {
			continue
		}
		n++
		if !strings.Contains(out, part) {
			t.Errorf("the demo does not print\n%s\nbut\n%s", part, out)
		}
	}
	if n < 2 {
		t.Errorf("the README shows %d parts of the demo", n)
	}
}
