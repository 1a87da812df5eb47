package config

import (
	"crypto/sha256"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

const sections = `
version: 1
server:
  name: front
  instructions: ask ann
  namespace: always
  namespace_separator: "."
  upstream_timeout: 500ms
  allowed_hosts: [gate.example, "[::1]:8443"]
  allowed_origins: [https://app.example, "http://localhost:3000"]
  public_url: https://gate.example/mcp
  session_idle: 1h
  max_body_mb: 2
  max_tool_name: 40
  drain_timeout: 5m
upstreams:
  hass:
    transport: stdio
    command: uvx
    args: [hass-mcp, ""]
    env: {TOKEN: "x${DIR}", B: ""}
    inherit_env: [PATH, HOME]
    cwd: sub
    session: shared
    idle: 1m
    start_timeout: 2m
    max_sessions: 3
  github:
    transport: http
    url: https://api.example.com/mcp?a=b
    headers: {Authorization: "Bearer ${DIR}"}
    timeout: 2m
    ca_file: ca.pem
policies:
  p:
    rules:
      - {effect: allow, upstreams: ["h*"], rate_limits: [a, b]}
rate_limits:
  a: {rate: 20, per: 1m, burst: 8}
  b: {rate: 3, per: 1d, scope: global}
tokens:
  - {name: laptop, policy: p, env: DIR, expires: 2031-01-31}
  - {name: phone, policy: p, sha256: "0A00000000000000000000000000000000000000000000000000000000000001", expires: 2031-01-31T18:00:00+02:00, description: mine}
`

func TestGatewaySections(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.yaml")
	c, err := Load(file, []byte(sections), Options{Lookup: env})
	if err != nil {
		t.Fatal(err)
	}
	wantServer := Server{
		Name: "front", Instructions: "ask ann", Namespace: NamespaceAlways, Separator: ".", MaxToolName: 40, UpstreamTimeout: 500 * time.Millisecond,
		AllowedHosts: []string{"gate.example", "[::1]:8443"}, AllowedOrigins: []string{"https://app.example", "http://localhost:3000"},
		PublicURL: "https://gate.example/mcp", SessionIdle: time.Hour, MaxBody: 2 << 20, DrainTimeout: 5 * time.Minute,
	}
	if !reflect.DeepEqual(c.Server, wantServer) {
		t.Errorf("server %+v, want %+v", c.Server, wantServer)
	}
	for i, want := range []Upstream{
		{
			Name: "hass", Source: file + ":17:3", Command: "uvx", Args: []string{"hass-mcp", ""},
			Env: []Setting{{"TOKEN", "x/var/log"}, {"B", ""}}, InheritEnv: []string{"PATH", "HOME"}, Cwd: filepath.Join(filepath.Dir(file), "sub"),
			Shared: true, Idle: time.Minute, StartTimeout: 2 * time.Minute, MaxSessions: 3,
		},
		{
			Name: "github", Source: file + ":28:3", Transport: HTTP, Timeout: 2 * time.Minute, URL: "https://api.example.com/mcp?a=b",
			Headers: []Setting{{"Authorization", "Bearer /var/log"}}, CAFile: filepath.Join(filepath.Dir(file), "ca.pem"),
		},
	} {
		if got := *c.Upstreams[i]; !reflect.DeepEqual(got, want) {
			t.Errorf("upstream %+v, want %+v", got, want)
		}
	}
	a, b := c.RateLimits["a"], c.RateLimits["b"]
	if a.Rate != 20 || a.Per != time.Minute || a.Burst != 8 || a.Global || a.PerSecond() != 20.0/60 {
		t.Errorf("%+v", a)
	}
	if b.Rate != 3 || b.Per != 24*time.Hour || b.Burst != 3 || !b.Global || b.Name != "b" {
		t.Errorf("%+v", b)
	}
	laptop, phone := c.Tokens[0], c.Tokens[1]
	if laptop.Name != "laptop" || laptop.Policy != "p" || laptop.SHA256 != sha256.Sum256([]byte("/var/log")) || laptop.Env != "DIR" || !laptop.Short ||
		!laptop.Expires.Equal(time.Date(2031, 1, 31, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v", laptop)
	}
	if phone.SHA256[0] != 0x0a || phone.SHA256[31] != 1 || phone.Env != "" || phone.Short || phone.Description != "mine" ||
		!phone.Expires.Equal(time.Date(2031, 1, 31, 16, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v", phone)
	}
}

func TestGatewayDefaults(t *testing.T) {
	c := load(t, "version: 1\n")
	want := Server{
		Name: "sallyport", Separator: "__", MaxToolName: 64, UpstreamTimeout: 30 * time.Second, SessionIdle: 8 * time.Hour, MaxBody: 64 << 20, DrainTimeout: 30 * time.Second,
	}
	if !reflect.DeepEqual(c.Server, want) || !reflect.DeepEqual(Default().Server, want) {
		t.Errorf("%+v, %+v", c.Server, Default().Server)
	}
	if c.Upstreams != nil || c.Tokens != nil || len(c.RateLimits) != 0 {
		t.Errorf("%+v", c)
	}
}

// Names that stand for nothing stop the start, in whatever order the sections come.
func TestReferences(t *testing.T) {
	const up = "upstreams: {hass: {transport: stdio, command: x}, git: {transport: stdio, command: y}}\n"
	for name, tt := range map[string]struct{ text, want string }{
		"policy":            {"tokens: [{name: a, policy: q, env: DIR}]\npolicies: {p: {}}\n", "s.yaml:2:28: there is no policy 'q'; known here: p"},
		"policy none":       {"tokens: [{name: a, policy: p, env: DIR}]\n", "s.yaml:2:28: there is no policy 'p'"},
		"policy built-in":   {"tokens: [{name: a, policy: built-in, env: DIR}]\n", ""},
		"built-in and own":  {"tokens: [{name: a, policy: built-in, env: DIR}]\npolicies: {p: {}}\n", "s.yaml:2:28: there is no policy 'built-in'; known here: p"},
		"limit":             {"policies: {p: {rules: [{effect: allow, rate_limits: [slow]}]}}\nrate_limits: {slowly: {rate: 1, per: 1m}}\n", "s.yaml:2:54: there is no rate limit 'slow'; did you mean 'slowly'?"},
		"limit none":        {"policies: {p: {rules: [{effect: ask, rate_limits: [slow]}]}}\n", "s.yaml:2:52: there is no rate limit 'slow'"},
		"upstream":          {up + "policies: {p: {rules: [{effect: deny, upstreams: [has, 'g*']}]}}\n", "s.yaml:3:51: no upstream matches 'has'; did you mean 'hass'?"},
		"upstream glob":     {up + "policies: {p: {rules: [{effect: deny, upstreams: ['x*']}]}}\n", "s.yaml:3:51: no upstream matches 'x*'; known here: hass, git"},
		"upstreams unknown": {"policies: {p: {rules: [{effect: deny, upstreams: [has]}]}}\n", ""},
		"contract":          {up + "tools: {has/x: {max_calls: 1}, git/y: {max_calls: 1}}\n", "s.yaml:3:9: there is no upstream 'has'; did you mean 'hass'?"},
		"contract unknown":  {"tools: {has/x: {max_calls: 1}}\n", ""},
	} {
		_, err := Load("s.yaml", []byte("version: 1\n"+tt.text), Options{Lookup: env})
		if got := errText(err); got != tt.want {
			t.Errorf("%s: %s\nwant %s", name, got, tt.want)
		}
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// An alias gives two callers one value; so does a variable beside its digest.
func TestTwoTokensWithOneValue(t *testing.T) {
	digest := "b80a83fddb50d4fbd0fb1acf6a2a6e9cba4cf8b4c4ab60bd0e5e6fa7fd5d4b5e"
	for _, text := range []string{
		"tokens: [{name: a, policy: p, env: DIR}, {name: b, policy: p, env: DIR}]\n",
		"tokens: [{name: a, policy: p, sha256: " + digest + "}, {name: b, policy: p, sha256: " + strings.ToUpper(digest) + "}]\n",
		"tokens: [{name: a, policy: p, sha256: &x " + digest + "}, {name: b, policy: p, sha256: *x}]\n",
	} {
		_, err := Load("s.yaml", []byte("version: 1\npolicies: {p: {}}\n"+text), Options{Lookup: env})
		if err == nil || !strings.Contains(err.Error(), "the token has the value of the one in line 3") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestDurations(t *testing.T) {
	for s, want := range map[string]time.Duration{
		"1ms": time.Millisecond, "30s": 30 * time.Second, "5m": 5 * time.Minute, "2h": 2 * time.Hour, "31d": 31 * 24 * time.Hour, "0s": 0, "007s": 7 * time.Second,
		"": -1, "s": -1, "30": -1, "1.5s": -1, "-1s": -1, "+1s": -1, "1 s": -1, "1S": -1, "1w": -1, "1m30s": -1, "99999999999999999999s": -1, "9223372036854775807d": -1, "1µs": -1,
	} {
		got, err := parseDuration(s)
		if err != nil {
			got = -1
		}
		if got != want {
			t.Errorf("%q: %v (%v), want %v", s, got, err, want)
		}
	}
	for _, d := range []time.Duration{minTimeout, maxTimeout, minPer, maxPer, 90 * time.Second} {
		if back, err := parseDuration(showDuration(d)); err != nil || back != d {
			t.Errorf("%v is shown as %s", d, showDuration(d))
		}
	}
}

// A secret in a configuration that does not load is not shown.
func TestProblemsShowNoSecrets(t *testing.T) {
	const secret = "hunter2hunter2"
	for _, text := range []string{
		"upstreams: {a: {transport: http, url: 'https://me:" + secret + "@x.example/'}}\n",
		"upstreams: {a: {transport: http, url: '" + secret + " x'}}\n",
		"upstreams: {a: {transport: http, url: 'https://x.example', headers: {A: \"" + secret + "\\n\"}}}\n",
		"upstreams: {a: {transport: stdio, command: x, env: {A: \"" + secret + "\\0\"}}}\n",
		"tokens: [{name: a, policy: p, sha256: " + secret + "}]\npolicies: {p: {}}\n",
		"tokens: [{name: a, policy: p, env: '" + secret + "!'}]\npolicies: {p: {}}\n",
	} {
		_, err := Load("s.yaml", []byte("version: 1\n"+text), Options{Lookup: env})
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
