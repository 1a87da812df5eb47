package lint

import (
	"strings"
	"testing"
)

func TestShapes(t *testing.T) {
	a := strings.Repeat("a1B2", 12)
	for s, want := range map[string]bool{
		"sp_" + strings.Repeat("a2", 26): true, "ghp_" + a: true, "github_pat_" + a: true, "glpat-" + a: true, "xoxb-" + a: true, "sk-" + a: true, "sk_live_" + a: true,
		"AKIA" + strings.Repeat("A1", 8): true, "AIza" + a[:35]: true, "npm_" + a: true, "hf_" + a: true, "SG." + a + "." + a: true,
		"eyJhbGciOiJI." + "eyJzdWIiOiIx." + "c2lnbmF0dXJl": true, "-----BEGIN OPENSSH PRIVATE KEY-----": true,
		"postgres://me:hunter2@db.example/x": true, "text around ghp_" + a + " it": true,
		"postgres://me:${PW}@db.example/x": false, "postgres://me@db.example/x": false, "https://host:8080/@me": false,
		"sk-learn": false, "sp_" + strings.Repeat("a2", 25): false, "ghp_short": false, "risk-" + a: false, "AKIA is a prefix": false, "${SECRET}": false, "https://x.example/a:b@c": false,
	} {
		if got := shapeOf(s) != ""; got != want {
			t.Errorf("%s: %v, %q", s, got, shapeOf(s))
		}
	}
}

func TestRandom(t *testing.T) {
	for s, want := range map[string]bool{
		"9fK2mQx7Lp0VtR4zYw8B": true, "k7Xq2LmP9vRt5WzB8nYc1": true, "a8f5f167f44f4964e6c998dee827110c": true,
		"/usr/local/share/project-1234567890": false, "https://x.example/aaaaaaaaaaaaaaaa1234567890": false, "@modelcontextprotocol/server-filesystem@2026.8.31": false,
		"production-environment-blue": false, "aaaaaaaaaaaaaaaaaaaaaaaa1111": false, "server_filesystem_readonly": false, "2026-12-01T12:00:00.000Z": false,
		"short1A": false, "": false, "--log-level=debug-with-timestamps": false, "io.github.example.very.long.name.of.a.package": false,
	} {
		if random(s) != want {
			t.Errorf("%s: %v", s, !want)
		}
	}
}

// What is found is never shown.
func TestSecretsAreNotShown(t *testing.T) {
	secrets := []string{"hunter2hunter2", "9fK2mQx7Lp0VtR4zYw8B", "a1b2c3d4e5f6", "letmein"}
	c := load(t, "s.yaml", `version: 1
upstreams:
  a: {transport: stdio, command: x, args: [9fK2mQx7Lp0VtR4zYw8B, --token, hunter2hunter2], env: {API_KEY: hunter2hunter2}}
  b: {transport: http, url: "https://x.example/?key=a1b2c3d4e5f6", headers: {Authorization: Bearer hunter2hunter2}}
policies: {p: {description: "postgres://me:letmein@x.example/y"}} # postgres://me:letmein@x.example/y
`)
	r := Check(c, Options{})
	if n := r.Count(Error); n != 7 {
		t.Errorf("%d errors: %v", n, r.Findings)
	}
	for _, f := range r.Findings {
		for _, s := range secrets {
			if strings.Contains(f.String(), s) {
				t.Errorf("shown: %s", f)
			}
		}
	}
}

// What a variable brings in does not stand in the file.
func TestSecretsInVariables(t *testing.T) {
	c := load(t, "s.yaml", `version: 1
upstreams:
  a: {transport: stdio, command: x, args: ["${SECRET}", "--token=${SECRET}"], env: {API_KEY: "${SECRET}"}}
policies: {p: {description: "${SECRET}"}}
`)
	if r := Check(c, Options{}); len(r.Findings) != 0 {
		t.Errorf("%v", r.Findings)
	}
}
