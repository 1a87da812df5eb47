package main

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/doc"
)

const (
	maxSuite = 64 << 20 // bytes of a suite's file
	maxPair  = 16 << 20 // bytes of one line
	maxPairs = 100_000
)

// suite is one suite's file, as far as it is used.
type suite struct {
	Name           string          `json:"suite"`
	Template       string          `json:"attack_template"` // what is put round every injection
	Tools          []tool          `json:"tools"`
	UserTasks      []userTask      `json:"user_tasks"`
	InjectionTasks []injectionTask `json:"injection_tasks"`

	pairs string // the file of pairs
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
	Sink        *struct {
		Dest map[string]json.RawMessage `json:"dest"`
	} `json:"sink"`
}

type userTask struct {
	ID       string `json:"id"`
	Prompt   string `json:"prompt"`
	Critical []int  `json:"critical_calls"`
	Trace    []step `json:"trace"`
}

type injectionTask struct {
	ID       string `json:"id"`
	Critical []int  `json:"critical_calls"`
	Calls    []struct {
		Function string `json:"function"`
	} `json:"calls"`
}

// pair is a user task with an injection in its outputs.
type pair struct {
	UserTask      string `json:"user_task"`
	InjectionTask string `json:"injection_task"`
	Prompt        string `json:"prompt"`
	Steps         []step `json:"steps"`
	// Works is what the benchmark's own check says when nothing is stopped.
	Works bool `json:"attack_success_without_gateway"`
}

type step struct {
	Phase    string          `json:"phase"` // in pairs only
	Function string          `json:"function"`
	Args     json.RawMessage `json:"args"`
	Error    *string         `json:"error"`
	Text     string          `json:"text"`
	JSON     json.RawMessage `json:"json"`
}

// openSuites reads every suite of a folder, in order of name.
func openSuites(dir string) ([]suite, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.pairs.jsonl.gz"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s holds no file SUITE.pairs.jsonl.gz", dir)
	}
	var all []suite
	for _, pairs := range files {
		s, err := openSuite(strings.TrimSuffix(pairs, ".pairs.jsonl.gz") + ".json")
		if err != nil {
			return nil, err
		}
		s.pairs = pairs
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b suite) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

func openSuite(file string) (suite, error) {
	var s suite
	f, err := os.Open(file)
	if err != nil {
		return s, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSuite+1))
	if err != nil {
		return s, err
	}
	if len(data) > maxSuite {
		return s, fmt.Errorf("%s is larger than %d bytes", file, maxSuite)
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fmt.Errorf("%s: %w", file, err)
	}
	if want := strings.TrimSuffix(filepath.Base(file), ".json"); s.Name != want {
		return s, fmt.Errorf("%s: it is of suite %q", file, s.Name)
	}
	return s, s.check()
}

// check refuses a suite whose critical calls do not exist: it would count nothing.
func (s *suite) check() error {
	for _, t := range s.UserTasks {
		for _, i := range t.Critical {
			if i < 0 || i >= len(t.Trace) {
				return fmt.Errorf("suite %s: %s has no call %d", s.Name, t.ID, i)
			}
		}
	}
	for _, t := range s.InjectionTasks {
		if len(t.Critical) == 0 {
			return fmt.Errorf("suite %s: %s has no critical call", s.Name, t.ID)
		}
		for _, i := range t.Critical {
			if i < 0 || i >= len(t.Calls) {
				return fmt.Errorf("suite %s: %s has no call %d", s.Name, t.ID, i)
			}
		}
	}
	return nil
}

// eachPair calls use for every pair, in the order of the file.
func (s *suite) eachPair(use func(pair) error) error {
	f, err := os.Open(s.pairs)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("%s: %w", s.pairs, err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(make([]byte, 0, 1<<20), maxPair)
	n := 0
	for lines.Scan() {
		if n++; n > maxPairs {
			return fmt.Errorf("%s holds more than %d pairs", s.pairs, maxPairs)
		}
		var p pair
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			return fmt.Errorf("%s:%d: %w", s.pairs, n, err)
		}
		if err := use(p); err != nil {
			return fmt.Errorf("%s:%d: %w", s.pairs, n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s:%d: %w", s.pairs, n+1, err)
	}
	return nil
}

// definitions are the tools as a server lists them: no more than name, description and
// schema.
func (s *suite) definitions() ([]contract.Tool, error) {
	var all []contract.Tool
	for _, t := range s.Tools {
		schema, err := doc.Parse(t.InputSchema, doc.Limits{})
		if err != nil {
			return nil, fmt.Errorf("suite %s: schema of %s: %w", s.Name, t.Name, err)
		}
		def, err := doc.FromGo(map[string]any{"name": t.Name, "description": t.Description, "inputSchema": schema})
		if err != nil {
			return nil, fmt.Errorf("suite %s: %s: %w", s.Name, t.Name, err)
		}
		all = append(all, contract.Tool{Upstream: s.Name, Name: t.Name, Definition: def})
	}
	return all, nil
}

// sends reports whether one of the task's critical calls has a destination.
func (s *suite) sends(t userTask) (bool, error) {
	for _, i := range t.Critical {
		call := t.Trace[i]
		at := slices.IndexFunc(s.Tools, func(t tool) bool { return t.Name == call.Function })
		if at < 0 {
			return false, fmt.Errorf("suite %s: %s calls %s, which is no tool", s.Name, t.ID, call.Function)
		}
		if s.Tools[at].Sink == nil {
			continue
		}
		var args map[string]json.RawMessage
		if err := json.Unmarshal(call.Args, &args); err != nil {
			return false, fmt.Errorf("suite %s: arguments of %s in %s: %w", s.Name, call.Function, t.ID, err)
		}
		for param := range s.Tools[at].Sink.Dest {
			if v := string(args[param]); !slices.Contains([]string{"", "null", `""`, "[]"}, v) {
				return true, nil
			}
		}
	}
	return false, nil
}

// criticalSteps marks the steps of a pair that are critical calls of its injection task.
func (s *suite) criticalSteps(p pair) ([]bool, error) {
	at := slices.IndexFunc(s.InjectionTasks, func(t injectionTask) bool { return t.ID == p.InjectionTask })
	if at < 0 {
		return nil, fmt.Errorf("there is no %q", p.InjectionTask)
	}
	t := s.InjectionTasks[at]
	type nth struct {
		function string
		n        int
	}
	wanted, count := map[nth]bool{}, map[string]int{}
	for i, c := range t.Calls {
		wanted[nth{c.Function, count[c.Function]}] = slices.Contains(t.Critical, i)
		count[c.Function]++
	}
	clear(count)
	marks, any := make([]bool, len(p.Steps)), false
	for i, st := range p.Steps {
		switch st.Phase {
		case "user":
		case "injection":
			marks[i] = wanted[nth{st.Function, count[st.Function]}]
			any = any || marks[i]
			count[st.Function]++
		default:
			return nil, fmt.Errorf("step %d is of phase %q", i, st.Phase)
		}
	}
	if !any {
		return nil, errors.New("no step is a critical call of the injection")
	}
	return marks, nil
}
