package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

// The table as measured, where the recorded suites are: they are not part of this
// repository. SALLYPORT_SHARED names the folder that holds agentdojo/. After a change
// that is meant to move the numbers, golden.txt and docs/benchmark.md get the command's
// tables.
func TestGolden(t *testing.T) {
	shared := os.Getenv("SALLYPORT_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "shared")
	}
	dir := filepath.Join(shared, "agentdojo")
	for _, file := range []string{"workspace.pairs.jsonl.gz", "slack.pairs.jsonl.gz"} {
		if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
			message := "the recorded suites are not here; set SALLYPORT_SHARED to the folder that holds agentdojo/"
			if os.Getenv("CI") == "true" {
				t.Fatal(message)
			}
			t.Skip(message)
		}
	}
	contracts, err := contractFiles("")
	if err != nil {
		t.Fatal(err)
	}
	reports, err := replayDir(dir, contracts)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	printAll(&b, reports)
	if want := golden(t); b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func golden(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "golden.txt"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// The document shows what was measured.
func TestDocumentShowsTheTables(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", "benchmark.md"))
	if err != nil {
		t.Fatal(err)
	}
	tables := 0
	for block := range strings.SplitSeq(golden(t), "\n\n") {
		if !strings.HasPrefix(block, "|") {
			continue
		}
		tables++
		if !strings.Contains(string(data), block+"\n") {
			t.Errorf("docs/benchmark.md does not hold\n%s", block)
		}
	}
	if tables != 3 {
		t.Errorf("golden.txt holds %d tables, want workspace, slack and both", tables)
	}
}

// Contracts of the suites state every tool's flow and trust nobody: an
// administrator who only saw the schemas knows no address.
func TestContractsKnowNoAnswers(t *testing.T) {
	for suite, count := range map[string]int{"workspace": 24, "slack": 11} {
		file := suite + ".yaml"
		data, err := embedded.ReadFile("contracts/" + file)
		if err != nil {
			t.Fatal(err)
		}
		var p strictyaml.Problems
		entries := contract.Parse(strictyaml.Parse(file, data, nil, &p), &p, contract.Options{})
		if err := p.Err(); err != nil {
			t.Fatal(err)
		}
		if len(entries) != count {
			t.Errorf("%s has %d entries, want %d", file, len(entries), count)
		}
		for _, e := range entries {
			if !e.FlowStated || len(e.TrustedDestinations) > 0 || e.Exfiltrating != (len(e.SinkParams) > 0) {
				t.Errorf("%s: %s trusts someone or does not say what it sends", file, e.Tool)
			}
		}
		for line := range strings.Lines(string(data)) {
			if !strings.HasPrefix(line, "#") && slices.ContainsFunc([]string{"@", "www."}, func(s string) bool { return strings.Contains(line, s) }) {
				t.Errorf("%s: %s", file, line)
			}
		}
	}
}
