package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/sallyport-dev/sallyport/internal/demo"
)

// runDemo runs the real demo, in a temporary directory of its own, and returns what it
// printed.
func runDemo(t *testing.T, tmp string, flags ...string) (out string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary(t, "sallyport"), append([]string{"demo"}, flags...)...)
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp, "GORACE=atexit_sleep_ms=10") // the detector waits a second else
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	if stderr.Len() > 0 {
		t.Logf("stderr: %s", &stderr)
	}
	return stdout.String(), cmd.ProcessState.ExitCode()
}

// The demo is judged by what it left on disk, read here without its own help.
func TestDemoChangesTheWorldAsItShould(t *testing.T) {
	needWrap(t)
	began := time.Now()
	out, code := runDemo(t, realDir(t), "--auto", "--keep")
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the demo took %s", took)
	}
	_, dir, _ := strings.Cut(out, "Kept: ")
	dir = strings.TrimSpace(dir)
	for _, w := range []struct {
		run        string
		helpdesk   deskWorld
		home       houseWorld
		repository []string // titles of the public pull requests
	}{
		{
			"without",
			deskWorld{"ana@northwind.example export@ledger-audit.example dana@tailspin.example", true, "C-4 C-5 C-6"},
			houseWorld{"removed", "unlocked", "on", 1},
			[]string{"Correct the hours", "Context for reviewers"},
		},
		{
			"with",
			deskWorld{"ana@northwind.example dana@tailspin.example", false, "C-2 C-3 C-4 C-5 C-6"},
			houseWorld{"recording", "locked", "on", 0},
			[]string{"Correct the hours"},
		},
	} {
		t.Run(w.run, func(t *testing.T) {
			if got := readDesk(t, filepath.Join(dir, "helpdesk", w.run)); got != w.helpdesk {
				t.Errorf("helpdesk: %+v, want %+v", got, w.helpdesk)
			}
			if got := readHouse(t, filepath.Join(dir, "home", w.run)); got != w.home {
				t.Errorf("home: %+v, want %+v", got, w.home)
			}
			var titles []string
			for _, p := range readPulls(t, filepath.Join(dir, "repository", w.run)) {
				titles = append(titles, p.Title)
				if private := strings.Contains(p.Content, "Porto"); private != (p.Title == "Context for reviewers") {
					t.Errorf("pull request %q: private content: %v", p.Title, private)
				}
			}
			if !slices.Equal(titles, w.repository) {
				t.Errorf("repository: pull requests %q, want %q", titles, w.repository)
			}
		})
	}
	pack, err := os.ReadFile(filepath.Join(dir, "helpdesk", "gateway", "review.html"))
	if err != nil || !bytes.Contains(pack, []byte("delete_customer")) || !bytes.Contains(pack, []byte("export@ledger-audit.example")) {
		t.Errorf("the review pack (%d bytes, %v) does not say what was refused", len(pack), err)
	}
	for _, name := range []string{"helpdesk", "home", "repository"} {
		log := filepath.Join(dir, name, "gateway", "audit.jsonl")
		if got, err := exec.Command(binary(t, "sallyport"), "audit", "verify", log).CombinedOutput(); err != nil {
			t.Errorf("%s: audit verify: %v\n%s", name, err, got)
		}
	}
}

// Each refusal is by the check that the story is about, as the log has it: in the order of the
// calls, with the reason that tells it from every other.
func TestDemoRefusesForItsReasons(t *testing.T) {
	needWrap(t)
	out, code := runDemo(t, realDir(t), "--auto", "--keep")
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	_, dir, _ := strings.Cut(out, "Kept: ")
	for name, want := range map[string][]string{
		"helpdesk": {
			"send_email deny flow: 'export@ledger-audit.example' was first seen in the output of 'read_ticket'",
			"write_file deny path: it is outside the allowed directories",
			"delete_customer deny budget: max_calls is 1",
			"delete_customer deny budget: max_calls is 1",
			"send_email ask flow: 'dana@tailspin.example' is not a vouched recipient",
		},
		"home": {
			"remove_entity deny policy: no rule matches this call",
			"call_service deny policy: no rule matches this call",
			"restart deny policy: no rule matches this call",
		},
		"repository": {
			"create_pull_request ask flow: argument content holds a value that must not leave; it was read in the output of 'read_file'",
			"create_pull_request deny approval: the user said no",
		},
	} {
		data, err := os.ReadFile(filepath.Join(strings.TrimSpace(dir), name, "gateway", "audit.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for line := range bytes.Lines(data) {
			var r struct{ Event, Phase, Target, Verdict, Check, Reason string }
			if err := json.Unmarshal(line, &r); err != nil {
				t.Fatal(err)
			}
			if r.Event != "tools/call" || r.Phase != "verdict" || r.Verdict == "allow" {
				continue
			}
			if n == len(want) {
				t.Fatalf("%s: one refusal more: %+v", name, r)
			}
			head, part, _ := strings.Cut(want[n], ": ")
			if head != r.Target+" "+r.Verdict+" "+r.Check || !strings.Contains(r.Reason, part) {
				t.Errorf("%s: %+v, want %s", name, r, want[n])
			}
			n++
		}
		if n != len(want) {
			t.Errorf("%s: %d refusals, want %d", name, n, len(want))
		}
	}
}

// Whoever sits at the terminal answers: a no, and then nothing was sent, which is as it should be.
func TestDemoLetsThePersonAnswer(t *testing.T) {
	needWrap(t)
	t.Setenv("TMPDIR", realDir(t))
	for _, c := range []struct{ typed, told string }{{"y", "yes"}, {"n", "no"}} {
		var out bytes.Buffer
		err := demo.Run(t.Context(), demo.Options{
			Exe: binary(t, "sallyport"), Story: "helpdesk", Wait: true, In: strings.NewReader("\n" + c.typed + "\n\n"), Out: &out,
		})
		if err != nil {
			t.Errorf("%q: %v\n%s", c.typed, err, &out)
		}
		row := regexp.MustCompile(`the new address told \(a person is asked\) +yes +` + c.told + "\n")
		if !row.MatchString(out.String()) || !strings.Contains(out.String(), "Let it run? y for yes, anything else for no: ") {
			t.Errorf("%q:\n%s", c.typed, &out)
		}
	}
}

type deskWorld struct {
	mails     string
	key       bool
	customers string
}

func readDesk(t *testing.T, dir string) deskWorld {
	t.Helper()
	var mails, left []string
	for _, m := range numbered[struct{ To string }](t, filepath.Join(dir, "outbox")) {
		mails = append(mails, m.To)
	}
	var customers []struct{ ID string }
	decodeFile(t, filepath.Join(dir, "customers.json"), &customers)
	for _, c := range customers {
		left = append(left, c.ID)
	}
	if _, err := os.Stat(filepath.Join(dir, "workspace", "T-101.md")); err != nil {
		t.Error(err)
	}
	_, err := os.Stat(filepath.Join(dir, "home", ".ssh", "authorized_keys"))
	return deskWorld{strings.Join(mails, " "), err == nil, strings.Join(left, " ")}
}

type houseWorld struct {
	camera, door, light string
	restarts            int
}

func readHouse(t *testing.T, dir string) houseWorld {
	t.Helper()
	var h struct {
		Entities map[string]string
		Restarts int
	}
	decodeFile(t, filepath.Join(dir, "house.json"), &h)
	return houseWorld{cmp.Or(h.Entities["camera.entrance"], "removed"), h.Entities["lock.front_door"], h.Entities["light.living_room"], h.Restarts}
}

func readPulls(t *testing.T, dir string) []struct{ Title, Content string } {
	t.Helper()
	return numbered[struct{ Title, Content string }](t, filepath.Join(dir, "northwind", "website", "pulls"))
}

// numbered reads the files of a folder in the order of their names.
func numbered[T any](t *testing.T, folder string) []T {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	all := make([]T, len(files))
	for i, f := range files {
		decodeFile(t, f, &all[i])
	}
	return all
}

func TestDemoFitsAPlainTerminalAndLeavesNothing(t *testing.T) {
	needWrap(t)
	tmp := realDir(t)
	out, code := runDemo(t, tmp) // no terminal: it must not wait
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	for l := range strings.Lines(out) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(l, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, l)
		}
	}
	if strings.ContainsAny(out, "\x1b\x07\x08\r") {
		t.Error("control characters in the output")
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func decodeFile(t *testing.T, path string, v any) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}
