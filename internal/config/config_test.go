package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/audit"

	"github.com/sallyport-dev/sallyport/internal/strictyaml"
	"github.com/sallyport-dev/sallyport/policy"
)

func env(name string) (string, bool) {
	if name == "DIR" {
		return "/var/log", true
	}
	return "", false
}

func load(t *testing.T, in string) *Config {
	t.Helper()
	c, err := Load(filepath.Join(t.TempDir(), "s.yaml"), []byte(in), Options{Lookup: env})
	if err != nil {
		t.Fatalf("%s: %v", in, err)
	}
	return c
}

func TestDefaults(t *testing.T) {
	c := load(t, "version: 1\n")
	if c.Mode != Enforce || c.Flow.Untrusted != sallyport.Deny || c.Flow.Unknown != sallyport.Ask {
		t.Errorf("mode %v, flow %v", c.Mode, c.Flow)
	}
	if a := c.Audit; a.Off || a.Path != "" || a.NoChain || a.DropArguments || a.ContinueOnFailed || a.KeyPatterns != nil || a.MaxValue != DefaultMaxValue {
		t.Errorf("audit %+v", a)
	}
	if c.Packs.None || c.Packs.Names != nil {
		t.Errorf("packs %+v", c.Packs)
	}
	d := Default()
	if d.Mode != c.Mode || d.Flow != c.Flow || d.Audit.MaxValue != c.Audit.MaxValue {
		t.Errorf("a file that says nothing differs from no file: %+v, %+v", c, d)
	}
}

func TestRotateAndSync(t *testing.T) {
	a := load(t, "version: 1\naudit: {sync: always, rotate: {max_size: 100MiB, max_age: 7d, keep: 3, compress: true}}\n").Audit
	if a.Sync != audit.SyncAlways || a.Rotate != (audit.Rotation{MaxSize: 100 << 20, MaxAge: 7 * 24 * time.Hour, Keep: 3, Compress: true}) {
		t.Errorf("audit %+v", a)
	}
	if a = load(t, "version: 1\naudit: {rotate: {max_size: 2MB}}\n").Audit; a.Sync != audit.SyncInterval || a.Rotate.MaxSize != 2_000_000 {
		t.Errorf("audit %+v", a)
	}
	for in, want := range map[string]string{
		"sync: sometimes":                  "always",
		"rotate: {}":                       "max_size",
		"rotate: {keep: 3}":                "neither max_size nor max_age",
		"rotate: {max_size: 100}":          "a number and its unit",
		"rotate: {max_size: MiB}":          "a number and its unit",
		"rotate: {max_size: +5MiB}":        "a number and its unit",
		"rotate: {max_size: 1KiB}":         "write a size from 1MiB to 1024GiB",
		"rotate: {max_size: 99999999GiB}":  "write a size from 1MiB to 1024GiB",
		"rotate: {max_size: [1MiB]}":       "",
		"rotate: {max_age: 5}":             "30s or 5m",
		"rotate: {max_age: 1d, keep: 0}":   "leave the key out to keep all",
		"rotate: {max_age: 1d, sise: 1GB}": "sise",
	} {
		_, err := Load("s.yaml", []byte("version: 1\naudit: {"+in+"}\n"), Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v does not say %q", in, err, want)
		}
	}
}

func TestEverySetting(t *testing.T) {
	c := load(t, `
version: 1
mode: dry-run
audit:
  path: ${DIR}/a.jsonl
  hash_chain: false
  include_arguments: false
  max_value_length: 100
  redact: [args, args.a, "args[0].b", 'args["odd key"].c']
  redact_key_patterns: ["(?i)pin"]
  on_failure: continue
packs: none
flow: {untrusted: ask, unknown: deny}
`)
	a := c.Audit
	if c.Mode != DryRun || !a.NoChain || !a.DropArguments || a.MaxValue != 100 || !a.ContinueOnFailed || a.Path != filepath.FromSlash("/var/log/a.jsonl") {
		t.Errorf("%+v", c)
	}
	var selectors []string
	for _, s := range a.Redact {
		selectors = append(selectors, s.String())
	}
	if want := []string{"", "a", "[0].b", `["odd key"].c`}; !slices.Equal(selectors, want) {
		t.Errorf("redact %q, want %q", selectors, want)
	}
	if len(a.KeyPatterns) != 1 || !a.KeyPatterns[0].MatchString("PIN") {
		t.Errorf("patterns %v", a.KeyPatterns)
	}
	if !c.Packs.None || c.Flow.Untrusted != sallyport.Ask || c.Flow.Unknown != sallyport.Deny {
		t.Errorf("packs %+v, flow %+v", c.Packs, c.Flow)
	}
	if c = load(t, "version: 1\npacks: [gmail]\nflow: {unknown: allow}\n"); !slices.Equal(c.Packs.Names, []string{"gmail"}) || c.Packs.None || c.Flow.Unknown != sallyport.Allow {
		t.Errorf("packs %+v, flow %+v", c.Packs, c.Flow)
	}
	if c = load(t, "version: 1\naudit: {path: null, redact_key_patterns: []}\n"); !c.Audit.Off || c.Audit.KeyPatterns == nil {
		t.Errorf("audit %+v", c.Audit)
	}
}

func TestAuditPathIsRelativeToTheFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "sub", "s.yaml")
	c, err := Load(file, []byte("version: 1\naudit: {path: ../logs/./a.jsonl}\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(dir, "logs", "a.jsonl"); c.Audit.Path != want {
		t.Errorf("got %s, want %s", c.Audit.Path, want)
	}
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if c, err = Load("s.yaml", []byte("version: 1\naudit: {path: a.jsonl}\n"), Options{}); err != nil || c.Audit.Path != filepath.Join(wd, "a.jsonl") {
		t.Errorf("got %+v, %v", c, err)
	}
	for _, p := range []string{`""`, "logs/", ".", "a/..", "~/a", `"a\0b"`, `"a\u202eb"`, "5", "no", ""} {
		if _, err := Load("s.yaml", []byte("version: 1\naudit: {path: "+p+"}\n"), Options{}); err == nil || !strings.HasPrefix(err.Error(), "s.yaml:2:1") {
			t.Errorf("path %s: %v", p, err)
		}
	}
}

func TestSelectPolicy(t *testing.T) {
	none, only := load(t, "version: 1\n"), load(t, "version: 1\npolicies: {a: {}}\n")
	several := load(t, "version: 1\npolicies: {b: {}, a: {default: allow}}\n")
	for _, tt := range []struct {
		c          *Config
		name, want string // want: the policy's name, or the error
	}{
		{none, "", policy.BuiltInName},
		{none, policy.BuiltInName, policy.BuiltInName},
		{none, "a", "there is no policy 'a': no policy is defined"},
		{only, "", "a"},
		{only, "a", "a"},
		{only, "A", "there is no policy 'A'; defined: 'a'"},
		{only, policy.BuiltInName, "there is no policy 'built-in'; defined: 'a'"},
		{several, "", "several policies are defined, choose one: 'a', 'b'"},
		{several, "b", "b"},
		{several, "c\x1b", `there is no policy 'c\u{001b}'; defined: 'a', 'b'`},
	} {
		p, err := tt.c.Policy(tt.name)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = p.Name()
		}
		if got != tt.want {
			t.Errorf("Policy(%q): %s, want %s", tt.name, got, tt.want)
		}
	}
}

// B085: a file that fails to load, in part or whole, is never an absent policy.
func TestB085NothingIsLoadedInPart(t *testing.T) {
	const good = "version: 1\npolicies: {p: {default: deny}}\n"
	if c := load(t, good); c.Policies["p"].Default() != policy.Deny {
		t.Fatal("the good file denies nothing")
	}
	for name, in := range map[string]string{
		"default typo":    "version: 1\npolicies: {p: {default: denied}}\n",
		"unknown key":     "version: 1\npolicies: {p: {rules: [{effect: deny, tool: [x]}]}}\n",
		"duplicate key":   good + "policies: {p: {default: allow}}\n",
		"empty":           "",
		"only comments":   "# version: 1\n",
		"wrong version":   "version: 2\npolicies: {p: {}}\n",
		"no version":      "policies: {p: {}}\n",
		"null policies":   "version: 1\npolicies:\n",
		"empty policies":  "version: 1\npolicies: {}\n",
		"cut in a write":  good[:len(good)-4],
		"second document": good + "---\npolicies: {p: {default: allow}}\n",
		"merge conflict":  "<<<<<<< HEAD\n" + good,
		"no such profile": good + "flow: {profile: relaxed}\n",
		"list":            "- version: 1\n",
		"UTF-16":          "\xff\xfev\x00",
	} {
		c, err := Load("s.yaml", []byte(in), Options{})
		if err == nil || c != nil {
			t.Errorf("%s: loaded %+v", name, c)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "s.yaml:") {
			t.Errorf("%s: no place in %v", name, err)
		}
	}
}

func TestB114ByteOrderMarkAndLineEnds(t *testing.T) {
	c := load(t, "\xef\xbb\xbfversion: 1\r\nmode: dry-run\r\npolicies: {p: {}}\r\n")
	if c.Mode != DryRun || len(c.Policies) != 1 {
		t.Errorf("%+v", c)
	}
}

func TestB119OnlyOneVariableSyntax(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"${DIR}", "/var/log"},
		{"$${DIR}", "${DIR}"},
		{"$DIR", "$DIR"},
		{"pa$$word", "pa$$word"},
		{"${DIR:-x}", ""},
		{"${env:DIR}", ""},
		{"${UNSET}", ""},
	} {
		c, err := Load("s.yaml", []byte("version: 1\npolicies: {p: {rules: [{effect: deny, reason: '"+tt.in+"'}]}}\n"), Options{Lookup: env})
		switch {
		case tt.want == "" && err == nil:
			t.Errorf("%s was read", tt.in)
		case tt.want != "" && err != nil:
			t.Errorf("%s: %v", tt.in, err)
		case err == nil && c.Policies["p"].Rules()[0].Reason != tt.want:
			t.Errorf("%s: %q", tt.in, c.Policies["p"].Rules()[0].Reason)
		}
	}
}

func TestContractsFiles(t *testing.T) {
	const entries = "send: {exfiltrating: true}\ndelete: {max_calls: 1}\n"
	c := load(t, entries)
	if len(c.Contracts) != 2 || len(c.Policies) != 0 {
		t.Errorf("%+v", c)
	}
	f, err := LoadContracts("c.yaml", []byte(entries), Options{})
	if err != nil || len(f.Contracts) != 2 {
		t.Fatalf("%+v, %v", f, err)
	}
	other := load(t, "version: 1\ntools: {post: {exfiltrating: true}}\n")
	before := other.Digest
	if err := other.AddContracts(f); err != nil || len(other.Contracts) != 3 || other.Digest == before {
		t.Errorf("%+v, %v", other, err)
	}
	if len(other.Sources) != 2 || other.Sources[1].File != "c.yaml" || string(other.Sources[1].Data) != entries {
		t.Errorf("sources %+v", other.Sources)
	}
	clash := load(t, "version: 1\ntools: {send: {max_calls: 1}}\n")
	before = clash.Digest
	if err := clash.AddContracts(f); err == nil || len(clash.Contracts) != 1 || clash.Digest != before {
		t.Errorf("a clash was joined: %+v, %v", clash, err)
	}
	for _, in := range []string{"", "{}", "[]", "version: 1\n", "version: 1\ntools: {}\n", "policies: {}\n", "send: {exfiltrating: maybe}\n"} {
		if f, err := LoadContracts("c.yaml", []byte(in), Options{}); err == nil || f != nil {
			t.Errorf("%q was read as contracts: %+v", in, f)
		}
	}
}

func TestDigestFollowsTheFile(t *testing.T) {
	a, b := load(t, "version: 1\n"), load(t, "version: 1\n# x\n")
	if a.Digest == b.Digest || len(a.Digest) != 64 || a.Digest == Default().Digest {
		t.Errorf("%s, %s", a.Digest, b.Digest)
	}
	if again := load(t, "version: 1\n"); again.Digest != a.Digest {
		t.Error("the same file has two digests")
	}
}

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	small, large := filepath.Join(dir, "s"), filepath.Join(dir, "l")
	if err := os.WriteFile(small, []byte("version: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(large, make([]byte, strictyaml.MaxSize+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := ReadFile(small); err != nil || string(data) != "version: 1\n" {
		t.Errorf("%q, %v", data, err)
	}
	for path, want := range map[string]string{
		large:                         "more than 4194304 bytes",
		dir:                           "not a regular file",
		filepath.Join(dir, "missing"): "no such file",
		os.DevNull:                    "not a regular file",
		"no\x1b[2J":                   `no\u{001b}[2J: `,
	} {
		if _, err := ReadFile(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", path, err, want)
		}
	}
}

func FuzzLoad(f *testing.F) {
	for _, s := range []string{
		"version: 1\nmode: dry-run\naudit: {path: a, redact: [args.x], redact_key_patterns: ['(?i)x']}\npacks: [gmail]\n",
		"version: 1\npolicies: {p: {default: ask, rules: [{effect: allow, tools: ['a*']}]}}\nflow: {unknown: deny}\n",
		"send: {exfiltrating: true, sink_params: [to]}\n",
		"version: 1\nserver: {namespace: never, upstream_timeout: 5s}\nupstreams: {a: {transport: stdio, command: x, env: {A: b}, inherit_env: [C]}}\n",
		"version: 1\nupstreams: {a: {transport: http, url: 'https://x.example/mcp', headers: {X-A: b}, timeout: 1m}}\ntools: {a/x: {max_calls: 1}}\n",
		"version: 1\npolicies: {p: {rules: [{effect: allow, rate_limits: [a], upstreams: ['*']}]}}\nrate_limits: {a: {rate: 1, per: 1m, burst: 2, scope: global}}\n",
		"version: 1\npolicies: {p: {}}\ntokens: [{name: a, policy: p, env: DIR, expires: 2030-01-31}]\n", "version: 2\n", "a: &a {max_calls: 1}\nb: *a\n", "version: 1\ntools: {<<: {x: {}}}\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Load("f.yaml", data, Options{Lookup: env})
		if (c == nil) != (err != nil) {
			t.Fatalf("%+v with %v", c, err)
		}
		file, fileErr := LoadContracts("f.yaml", data, Options{Lookup: env})
		if (file == nil) != (fileErr != nil) {
			t.Fatalf("%+v with %v", file, fileErr)
		}
		if err != nil {
			if s := err.Error(); s == "" || strings.ContainsAny(s, "\x00\x1b\r") {
				t.Errorf("not safe to show: %q", s)
			}
			return
		}
		// What loads is complete.
		for name, p := range c.Policies {
			if got, err := c.Policy(name); err != nil || got != p || p == nil {
				t.Errorf("policy %q: %v, %v", name, got, err)
			}
		}
		if c.Audit.MaxValue < minMaxValue || c.Audit.Path != "" && !filepath.IsAbs(c.Audit.Path) || slices.Contains(c.Contracts, nil) {
			t.Errorf("%+v", c)
		}
		for _, u := range c.Upstreams {
			if u.Name == "" || (u.Transport == Stdio) != (u.Command != "") || (u.Transport == HTTP) != (u.URL != "") || u.Cwd != "" && !filepath.IsAbs(u.Cwd) {
				t.Errorf("%+v", u)
			}
		}
		for _, tok := range c.Tokens {
			if tok.Name == "" || tok.SHA256 == [32]byte{} || c.Policies[tok.Policy] == nil && tok.Policy != policy.BuiltInName {
				t.Errorf("%+v", tok)
			}
		}
		for name, r := range c.RateLimits {
			if r.Name != name || r.Rate < 1 || r.Burst < 1 || r.PerSecond() <= 0 {
				t.Errorf("%+v", r)
			}
		}
		if file != nil && len(c.Policies) > 0 {
			t.Error("a configuration is also a contracts file")
		}
	})
}
