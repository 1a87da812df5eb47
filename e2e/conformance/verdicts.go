package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A check is one id of a scenario. The runner may report an id several times.
type check struct{ Scenario, ID string }

// A verdict is the statuses of a check's reports, in the runner's order, and the first
// message of one that did not pass.
type verdict struct{ status, message string }

type verdicts map[check]verdict

// result is the directory of one scenario: its name and when it ran.
var result = regexp.MustCompile(`^server-(.+)-\d{4}-\d{2}-\d{2}T[\d-]+Z$`)

func readVerdicts(dir string) (verdicts, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	all := verdicts{}
	for _, e := range entries {
		m := result.FindStringSubmatch(e.Name())
		if m == nil {
			return nil, fmt.Errorf("%s is not the result of a scenario", e.Name())
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name(), "checks.json"))
		if err != nil {
			return nil, err
		}
		if err := all.add(m[1], data); err != nil {
			return nil, fmt.Errorf("%s: %w", e.Name(), err)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("no scenario ran")
	}
	return all, nil
}

func (v verdicts) add(scenario string, data []byte) error {
	var checks []struct{ ID, Status, ErrorMessage string }
	if err := json.Unmarshal(data, &checks); err != nil {
		return err
	}
	if len(checks) == 0 {
		v[check{scenario, "(none)"}] = verdict{status: "NONE"}
	}
	for _, c := range checks {
		// What the runner says of its own doing, such as each message it saw, is no verdict.
		if c.Status == "INFO" {
			continue
		}
		key := check{scenario, c.ID}
		have := v[key]
		if have.status != "" {
			have.status += " "
		}
		have.status += c.Status
		if have.message == "" && c.Status != "SUCCESS" {
			have.message = c.ErrorMessage
		}
		v[key] = have
	}
	return nil
}

func (v verdicts) summary() string {
	counts := map[string]int{}
	scenarios := map[string]bool{}
	for c, one := range v {
		scenarios[c.Scenario] = true
		for s := range strings.FieldsSeq(one.status) {
			counts[s]++
		}
	}
	var parts []string
	for _, s := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[s], s))
	}
	return fmt.Sprintf("%d scenarios, %s", len(scenarios), strings.Join(parts, ", "))
}

// A difference is a check whose verdict the gateway changed. "absent" stands for a check
// that was not made.
type difference struct {
	check
	direct, gateway, message string
}

func compare(direct, gateway verdicts) []difference {
	all := map[check]bool{}
	for c := range direct {
		all[c] = true
	}
	for c := range gateway {
		all[c] = true
	}
	var found []difference
	for c := range all {
		d, g := direct[c], gateway[c]
		if d.status == g.status {
			continue
		}
		message := g.message
		if message == "" {
			message = d.message
		}
		absent := func(s string) string {
			if s == "" {
				return "absent"
			}
			return s
		}
		found = append(found, difference{c, absent(d.status), absent(g.status), message})
	}
	slices.SortFunc(found, func(a, b difference) int {
		return strings.Compare(a.Scenario+"\x00"+a.ID, b.Scenario+"\x00"+b.ID)
	})
	return found
}

// An expectation is a difference that is known, and why it is right or cannot be helped.
type expectation struct {
	Scenario, Check, Direct, Gateway, Reason string
	// Sometimes is for a check whose outcome depends on the time at which things happen.
	Sometimes bool
}

// readExpected reads the known differences by the name of the run.
func readExpected(path string) (map[string][]expectation, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	d := json.NewDecoder(f)
	d.DisallowUnknownFields()
	var all map[string][]expectation
	if err := d.Decode(&all); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("%s: more than one value", path)
	}
	for name, list := range all {
		if !slices.ContainsFunc(runs, func(r run) bool { return r.name == name }) {
			return nil, fmt.Errorf("%s: no run is called %q", path, name)
		}
		for _, e := range list {
			if len(e.Reason) < 20 {
				return nil, fmt.Errorf("%s: %s %s has no reason", path, e.Scenario, e.Check)
			}
		}
	}
	return all, nil
}

// report prints the differences of a run and says whether all are expected and all that
// was expected is there.
func report(w io.Writer, name string, found []difference, expected []expectation) bool {
	ok := true
	used := make([]bool, len(expected))
	for _, d := range found {
		i := slices.IndexFunc(expected, func(e expectation) bool {
			return e.Scenario == d.Scenario && e.Check == d.ID && e.Direct == d.direct && e.Gateway == d.gateway
		})
		if i >= 0 {
			used[i] = true
			fmt.Fprintf(w, "  expected: %s %s: %s, through the gateway %s: %s\n", d.Scenario, d.ID, d.direct, d.gateway, expected[i].Reason)
			continue
		}
		ok = false
		fmt.Fprintf(w, "  DIFFERENT: %s %s: %s, through the gateway %s: %.600s\n", d.Scenario, d.ID, d.direct, d.gateway, d.message)
	}
	for i, e := range expected {
		if !used[i] && !e.Sometimes {
			ok = false
			fmt.Fprintf(w, "  NO LONGER DIFFERENT: %s %s: take it out of expected.json\n", e.Scenario, e.Check)
		}
	}
	fmt.Fprintf(w, "  %s: %d differences, %d expected\n", name, len(found), len(expected))
	return ok
}
