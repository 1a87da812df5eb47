package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func given(t *testing.T, scenarios map[string]string) verdicts {
	t.Helper()
	dir := t.TempDir()
	for name, checks := range scenarios {
		sub := filepath.Join(dir, "server-"+name+"-2026-11-30T03-56-31-679Z")
		if err := os.Mkdir(sub, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(sub, "checks.json"), []byte(checks), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	v, err := readVerdicts(dir)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func reported(found []difference, expected ...expectation) (string, bool) {
	var b strings.Builder
	ok := report(&b, "run", found, expected)
	return b.String(), ok
}

const reason = "the reason has to say something"

func TestADifferenceFails(t *testing.T) {
	direct := given(t, map[string]string{
		"a-2":  `[{"id":"x","status":"SUCCESS"},{"id":"x","status":"SUCCESS"},{"id":"note","status":"INFO"}]`,
		"ping": `[{"id":"p","status":"SUCCESS"}]`,
	})
	for name, c := range map[string]struct {
		checks string
		want   string
	}{
		"a failure":        {`[{"id":"x","status":"SUCCESS"},{"id":"x","status":"FAILURE","errorMessage":"why"}]`, "a-2 x: SUCCESS SUCCESS, through the gateway SUCCESS FAILURE: why"},
		"a missing check":  {`[{"id":"x","status":"SUCCESS"}]`, "a-2 x: SUCCESS SUCCESS, through the gateway SUCCESS"},
		"no check at all":  {`[]`, "a-2 (none): absent, through the gateway NONE"},
		"one check more":   {`[{"id":"x","status":"SUCCESS"},{"id":"x","status":"SUCCESS"},{"id":"y","status":"WARNING"}]`, "a-2 y: absent, through the gateway WARNING"},
		"only the comment": {`[{"id":"x","status":"SUCCESS"},{"id":"x","status":"SUCCESS"}]`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			found := compare(direct, given(t, map[string]string{"a-2": c.checks, "ping": `[{"id":"p","status":"SUCCESS"}]`}))
			text, ok := reported(found)
			if ok != (c.want == "") || !strings.Contains(text, c.want) {
				t.Errorf("%v, %s", ok, text)
			}
		})
	}
}

func TestAMissingScenarioFails(t *testing.T) {
	ping := `[{"id":"p","status":"SUCCESS"}]`
	found := compare(given(t, map[string]string{"a": ping, "b": ping}), given(t, map[string]string{"a": ping}))
	if text, ok := reported(found); ok || !strings.Contains(text, "b p: SUCCESS, through the gateway absent") {
		t.Error(ok, text)
	}
}

func TestExpectations(t *testing.T) {
	found := []difference{{check{"a", "x"}, "SUCCESS", "FAILURE", ""}}
	known := expectation{Scenario: "a", Check: "x", Direct: "SUCCESS", Gateway: "FAILURE", Reason: reason}
	other := known
	other.Gateway = "WARNING"
	flaky := other
	flaky.Sometimes = true
	for name, c := range map[string]struct {
		found    []difference
		expected []expectation
		ok       bool
	}{
		"known":               {found, []expectation{known}, true},
		"known, another kind": {found, []expectation{other}, false},
		"no longer there":     {nil, []expectation{known}, false},
		"only sometimes":      {nil, []expectation{flaky}, true},
	} {
		if text, ok := reported(c.found, c.expected...); ok != c.ok {
			t.Errorf("%s: %v\n%s", name, ok, text)
		}
	}
}

func TestExpectedFileIsReadStrictly(t *testing.T) {
	for name, text := range map[string]string{
		"no reason":     `{"2025-11-25":[{"scenario":"a","check":"x","direct":"SUCCESS","gateway":"FAILURE"}]}`,
		"no such run":   `{"2024":[]}`,
		"an extra key":  `{"2025-11-25":[{"scenario":"a","why":"` + reason + `"}]}`,
		"more than one": `{} {}`,
	} {
		path := filepath.Join(t.TempDir(), "expected.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readExpected(path); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	if _, err := readExpected("expected.json"); err != nil {
		t.Error(err)
	}
}
