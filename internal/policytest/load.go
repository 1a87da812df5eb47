package policytest

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
	"github.com/sallyport-dev/sallyport/policy"
)

// Options say what a file may name.
type Options struct {
	// Policy chooses a policy by the name that a test gives, "" for none, and its caller.
	Policy func(name, caller string) (*policy.Policy, error)
	Caller string // of a test that names none
	// Upstream is the one that is meant where none is named; "" if one has to be named.
	Upstream string
	// Unnamed says that Upstream only stands for a server without a name, as where none is
	// configured: a file whose tools name one server means that one.
	Unnamed bool
	// Unknown says why there is no upstream of a name, "" if there is. nil: all are.
	Unknown func(upstream string) string
	// Tools reads a server's tools/list from the file that a test names, as written there.
	// nil: none can be read.
	Tools  func(file, upstream string) ([]contract.Tool, error)
	Lookup func(string) (string, bool) // variables, as in [strictyaml.Parse]
}

// Load reads a file of tests. The error is a [*strictyaml.LoadError] with every problem;
// then there is no suite.
func Load(file string, data []byte, opt Options) (*Suite, error) {
	var p strictyaml.Problems
	root := strictyaml.Parse(file, data, opt.Lookup, &p)
	if root == nil {
		return nil, p.Err()
	}
	s := &Suite{File: file}
	l := loader{p: &p, opt: opt, names: make(map[string]int), rules: make(map[*policy.Policy][]string)}
	l.file(root, s)
	if err := p.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

type loader struct {
	p     *strictyaml.Problems
	opt   Options
	names map[string]int // of tests, with their lines
	rules map[*policy.Policy][]string

	upstream string // that is meant where a step names none
	several  string // why none is meant; "" for the usual reason
	policy   *policy.Policy
}

func (l *loader) file(root *strictyaml.Node, s *Suite) {
	fields, ok := root.Fields(l.p, []string{"upstream", "tools", "tests"}, nil)
	if !ok {
		return
	}
	fileUpstream := l.opt.Upstream
	if n := fields["upstream"]; n != nil {
		fileUpstream = l.upstreamName(n)
	}
	var lists []list
	if n := fields["tools"]; n != nil {
		entries, _ := n.Entries(l.p)
		for _, e := range entries {
			l.checkUpstream(e.Key, e.Name)
			lists = append(lists, l.list(e.Value, e.Name))
		}
	}
	if fields["upstream"] == nil && l.opt.Unnamed {
		fileUpstream = l.meant(lists)
	}
	n := fields["tests"]
	if n == nil {
		l.p.Add(root, "there are no tests; write tests: with a list")
		return
	}
	items, ok := n.List(l.p)
	if ok && len(items) == 0 {
		l.p.Add(n, "the list of tests is empty, so nothing is tested")
	}
	for _, item := range items {
		l.upstream = fileUpstream
		if t := l.test(item); t != nil {
			t.lists = lists
			l.checkNames(t)
			s.Tests = append(s.Tests, t)
		}
	}
}

func (l *loader) test(n *strictyaml.Node) *Test {
	fields, ok := n.Fields(l.p, []string{"name", "policy", "caller", "upstream", "steps"}, nil)
	if !ok {
		return nil
	}
	t := &Test{Line: n.Line(), Caller: l.opt.Caller}
	t.Name = l.testName(n, fields["name"])
	if c := fields["caller"]; c != nil {
		t.Caller = l.visible(c, "a caller")
	}
	l.choosePolicy(n, fields["policy"], t)
	if u := fields["upstream"]; u != nil {
		l.upstream = l.upstreamName(u)
	}
	steps := fields["steps"]
	if steps == nil {
		l.p.Add(n, "the test has no steps")
		return t
	}
	items, ok := steps.List(l.p)
	expects := 0
	for _, item := range items {
		st, good := l.step(item)
		if st.call != nil || st.shown != nil || !good {
			expects++
		}
		t.steps = append(t.steps, st)
	}
	if ok && expects == 0 {
		l.p.Add(steps, "no step is a call, listed or hidden, so the test tests nothing")
	}
	return t
}

func (l *loader) testName(n, name *strictyaml.Node) string {
	if name == nil {
		l.p.Add(n, "the test has no name")
		return ""
	}
	s := l.visible(name, "a test's name")
	if s == "" {
		return ""
	}
	if first, ok := l.names[s]; ok {
		l.p.Add(name, "the test in line %d is already named %s", first, strictyaml.Quote(s))
	}
	l.names[s] = name.Line()
	return s
}

func (l *loader) choosePolicy(n, named *strictyaml.Node, t *Test) {
	name, at := "", n
	if named != nil {
		at = named
		if name = l.visible(named, "a policy's name"); name == "" {
			return
		}
	}
	p, err := l.opt.Policy(name, t.Caller)
	if err != nil {
		l.p.Add(at, "%v", err)
	}
	t.Policy, l.policy = p, p
}

const maxName = 256 // bytes

// visible reads a name that a person can read; "" after a problem.
func (l *loader) visible(n *strictyaml.Node, what string) string {
	s, ok := n.Str(l.p)
	switch {
	case !ok:
		return ""
	case s == "" || len(s) > maxName || quote.Text(s, 0) != s || strings.TrimSpace(s) != s:
		l.p.Add(n, "%s has 1 to %d bytes, no white space at its ends and no characters that cannot be seen", what, maxName)
		return ""
	}
	return s
}

func (l *loader) upstreamName(n *strictyaml.Node) string {
	s := l.visible(n, "an upstream's name")
	if s != "" {
		l.checkUpstream(n, s)
	}
	return s
}

func (l *loader) checkUpstream(n *strictyaml.Node, name string) {
	if l.opt.Unknown == nil {
		return
	}
	if why := l.opt.Unknown(name); why != "" {
		l.p.Add(n, "%s", why)
	}
}

// upstreamOf is the upstream that a step names, or the one that is meant.
func (l *loader) upstreamOf(at, n *strictyaml.Node) string {
	if n != nil {
		return l.upstreamName(n)
	}
	switch {
	case l.upstream != "":
	case l.several != "":
		l.p.Add(at, "%s", l.several)
	default:
		l.p.Add(at, "there are several upstreams: say which one with upstream, here or for the test or the file")
	}
	return l.upstream
}

const (
	oneOfSteps = "a step is one of tools, observe, prompt, wait, call, listed and hidden"
	maxDays    = 366 // of one wait
	day        = 24 * time.Hour
)

var (
	stepKeys = []string{"tools", "observe", "prompt", "wait", "call", "listed", "hidden", "upstream", "expect", "rule", "check", "reason", "answer", "then", "result"}
	kindKeys = stepKeys[:7]
	// besides are the keys that a kind of step may have beside its own.
	besides = map[string][]string{
		"tools":  {"upstream"},
		"listed": {"hidden", "upstream"},
		"hidden": {"upstream"},
		"call":   {"expect", "rule", "check", "reason", "answer", "then", "result"},
	}
)

// step reads one step. ok is false after a problem.
func (l *loader) step(n *strictyaml.Node) (st step, ok bool) {
	st.at = n
	fields, ok := n.Fields(l.p, stepKeys, nil)
	if !ok {
		return st, false
	}
	kind := ""
	for _, k := range kindKeys {
		switch {
		case fields[k] == nil || kind != "" && slices.Contains(besides[kind], k):
		case kind != "":
			l.p.Add(n, "%s, and this one is both %s and %s; write two steps", oneOfSteps, kind, k)
			return st, false
		default:
			kind = k
		}
	}
	if kind == "" {
		l.p.Add(n, "%s", oneOfSteps)
		return st, false
	}
	for _, e := range n.Pairs() {
		if e.Name != kind && fields[e.Name] != nil && !slices.Contains(besides[kind], e.Name) {
			l.p.Add(e.Key, "%s does not go with %s", e.Name, kind)
		}
	}
	value := fields[kind]
	switch kind {
	case "tools":
		up := l.upstreamOf(n, fields["upstream"])
		told := l.list(value, up)
		st.list = &told
	case "observe":
		st.output = l.observe(value)
	case "prompt":
		s, _ := value.Str(l.p)
		st.prompt = &s
	case "wait":
		st.wait = l.wait(value)
	case "call":
		st.call = l.call(n, value, fields)
	case "listed", "hidden":
		st.shown = l.shown(n, fields)
	}
	return st, true
}

func (l *loader) wait(n *strictyaml.Node) time.Duration {
	s, ok := n.Str(l.p)
	if !ok {
		return 0
	}
	d, ok := parseWait(s)
	if !ok || d <= 0 || d > maxDays*day {
		l.p.Add(n, "write a time such as 30s, 5m, 1h30m or 2d, at most %d days", maxDays)
		return 0
	}
	return d
}

// parseWait reads a duration as Go writes it, with whole days before it or alone: 2d,
// 1d12h. So everything that the configuration takes is taken here.
func parseWait(s string) (time.Duration, bool) {
	days, rest, found := strings.Cut(s, "d")
	if !found {
		d, err := time.ParseDuration(s)
		return d, err == nil
	}
	n, err := strconv.ParseUint(days, 10, 16)
	if err != nil || n > maxDays {
		return 0, false
	}
	d := time.Duration(n) * day
	if rest == "" {
		return d, true
	}
	if strings.Trim(rest[:1], "0123456789") != "" {
		return 0, false // a sign
	}
	more, err := time.ParseDuration(rest)
	if err != nil || more > maxDays*day {
		return 0, false
	}
	return d + more, true
}

// value reads any JSON value; null after a problem.
func (l *loader) value(n *strictyaml.Node) doc.Value {
	v, ok := n.Value(l.p)
	if !ok {
		return doc.Value{}
	}
	d, err := doc.FromGo(v)
	if err != nil {
		l.p.Add(n, "this cannot be written as JSON: %v", err)
	}
	return d
}
