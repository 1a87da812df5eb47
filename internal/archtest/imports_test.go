package archtest

import (
	"slices"
	"strings"
	"testing"
)

// anything may be imported by the edge of the program and by tests that drive it whole.
var anything = []string{"*"}

// mayImport says which of the module's own packages a package may import, its tests
// apart. The arrows point one way, from the edges to the decision. A package that is
// not listed fails: a new room is a decision.
var mayImport = map[string][]string{
	// Words and values that everything below uses.
	"internal/quote":      {},
	"internal/lograte":    {},
	"internal/strictyaml": {"internal/quote"},
	"doc":                 {"internal/quote"},

	// The engine: no I/O, no MCP.
	"flow":     {"doc", "internal/quote"},
	"confine":  {"internal/quote"},
	"policy":   {"confine", "doc", "flow", "internal/quote", "internal/strictyaml"},
	"contract": {"confine", "doc", "flow", "internal/quote", "internal/strictyaml"},
	".":        {"confine", "contract", "doc", "flow", "internal/quote", "policy"},

	// Evidence and the wire: they know nothing of decisions.
	"audit":               {"doc", "internal/quote"},
	"confine/osresolve":   {"confine", "internal/quote"},
	"internal/mcp":        {"doc", "internal/quote"},
	"internal/stdio":      {"internal/mcp", "internal/quote"},
	"internal/streamhttp": {"doc", "internal/mcp", "internal/quote"},

	// What the processes of one client share, and which client that is.
	"internal/store":  {"."},
	"internal/client": {},

	// Conversations with the servers behind the gateway, and what makes one era of the other.
	"internal/upstream": {"doc", "internal/lograte", "internal/mcp", "internal/quote", "internal/stdio", "internal/streamhttp"},
	"internal/bridge":   {"doc", "internal/mcp", "internal/quote", "internal/upstream"},

	// Who calls over the network, and how it gets in.
	"internal/token":    {},
	"internal/instance": {},
	"internal/serve":    {"internal/mcp", "internal/streamhttp", "internal/token"},

	// What a person is asked, and what became of it.
	"internal/approval": {".", "audit", "doc", "flow", "internal/quote", "internal/store"},

	// The edges.
	"internal/pins":      {".", "contract", "doc", "internal/quote"},
	"internal/config":    {".", "audit", "confine", "confine/osresolve", "contract", "doc", "flow", "internal/quote", "internal/strictyaml", "policy"},
	"internal/relay":     {".", "audit", "confine", "confine/osresolve", "contract", "doc", "flow", "internal/approval", "internal/config", "internal/lograte", "internal/mcp", "internal/pins", "internal/quote", "internal/stdio", "policy"},
	"internal/gateway":   {".", "audit", "contract", "doc", "internal/approval", "internal/bridge", "internal/mcp", "internal/pins", "internal/quote", "internal/relay", "internal/stdio", "internal/streamhttp", "internal/upstream", "policy"},
	"internal/decide":    {".", "audit", "contract", "doc", "internal/mcp", "internal/quote", "policy"},
	"internal/lint":      {".", "audit", "contract", "doc", "flow", "internal/config", "internal/quote", "internal/strictyaml", "policy"},
	"internal/demo":      {"audit", "internal/quote"},
	"internal/packscore": {"contract", "doc", "internal/quote", "internal/strictyaml"},

	// What a policy's author asks before anything runs.
	"internal/explain":    {".", "internal/quote", "policy"},
	"internal/policytest": {".", "contract", "doc", "internal/explain", "internal/quote", "internal/strictyaml", "policy"},

	"internal/cli":  anything,
	"cmd/sallyport": {"internal/cli"},

	// Tests.
	"internal/archtest": {},
	"storetest":         {"."},
	"e2e":               {},
	"e2e/copyrelay":     {},
	"e2e/echoserver":    {},
	"e2e/rig":           {},
	"e2e/peer":          {},
	"e2e/conformance":   {"e2e/rig"},
	"e2e/soak":          {"e2e/peer", "e2e/rig"},

	// Measurements.
	"bench/agentdojo": {".", "contract", "doc", "flow", "internal/strictyaml", "policy"},
}

// engine is what can be imported alone by a program that has its own tool loop.
var engine = []string{".", "doc", "flow", "confine", "policy", "contract", "internal/quote", "internal/strictyaml"}

// noEngine is what the engine must never import: whatever touches files, processes,
// the network or the system, and whatever knows MCP. embed, net/mail, net/url and
// net/netip do none of it.
var noEngine = []string{
	"os", "os/exec", "os/signal", "os/user", "net", "net/http", "net/rpc", "net/smtp", "io/fs", "io/ioutil",
	"path/filepath", "syscall", "unsafe", "plugin", "log", "log/slog", "crypto/tls", "testing",
	module + "/audit", module + "/internal/mcp", module + "/internal/stdio", module + "/internal/streamhttp", module + "/internal/relay", module + "/internal/gateway", module + "/internal/upstream", module + "/internal/bridge",
	module + "/internal/pins", module + "/internal/approval", module + "/internal/config", module + "/internal/cli", module + "/internal/demo",
	"github.com/modelcontextprotocol", "golang.org/x/sys", "golang.org/x/term", "github.com/spf13",
	"github.com/gofrs", "text/template", "html/template",
}

// thirdParty says who may import a module of others, its tests apart. Whoever is not
// listed may not.
var thirdParty = map[string][]string{
	"github.com/gofrs/flock":                {"audit", "internal/instance", "internal/relay"},
	"github.com/modelcontextprotocol":       {"internal/demo", "e2e"},
	"golang.org/x/time":                     {"."},
	"github.com/nlnwa/whatwg-url":           {"flow"},
	"github.com/spf13/cobra":                {"internal/cli"},
	"github.com/spf13/pflag":                {"internal/cli"},
	"go.yaml.in/yaml/v4":                    {"internal/strictyaml"},
	"golang.org/x/net/idna":                 {"flow"},
	"golang.org/x/net/publicsuffix":         {"flow"},
	"golang.org/x/sys":                      {"audit", "internal/cli", "internal/client", "internal/pins", "internal/stdio", "internal/store"},
	"golang.org/x/term":                     {"internal/cli"},
	"golang.org/x/text":                     {"confine", "contract", "flow"},
	"github.com/google/go-cmp/cmp":          nil,
	"github.com/rogpeppe/go-internal":       nil,
	"github.com/santhosh-tekuri/jsonschema": nil,
	"go.uber.org/goleak":                    nil,
	"pgregory.net/rapid":                    nil,
	"github.com/inconshreveable/mousetrap":  nil,
}

func TestImportsPointOneWay(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range sources(t) {
		allowed, listed := mayImport[s.dir]
		if !listed {
			t.Errorf("%s: package directory %q is not in the table of imports", s.path, s.dir)
			continue
		}
		seen[s.dir] = true
		if s.test {
			continue
		}
		for _, i := range s.imports {
			dir := own(i)
			if dir == "" || slices.Contains(allowed, dir) || slices.Equal(allowed, anything) {
				continue
			}
			t.Errorf("%s: %s must not import %s", s.path, s.dir, dir)
		}
	}
	for _, dir := range engine {
		if _, ok := mayImport[dir]; !ok {
			t.Errorf("engine package %s is not in the table of imports", dir)
		}
	}
}

// The table itself must have no way back, or it would allow what it is there to stop.
func TestTableHasNoCircle(t *testing.T) {
	const visiting, done = 1, 2
	state := map[string]int{}
	var visit func(string, []string)
	visit = func(dir string, way []string) {
		switch state[dir] {
		case done:
			return
		case visiting:
			t.Fatalf("circle: %s", strings.Join(append(way, dir), " → "))
		}
		state[dir] = visiting
		for _, next := range mayImport[dir] {
			if next == "*" {
				continue
			}
			if _, ok := mayImport[next]; !ok {
				t.Errorf("%s may import %s, which the table does not list", dir, next)
			}
			visit(next, append(way, dir))
		}
		state[dir] = done
	}
	for dir := range mayImport {
		visit(dir, nil)
	}
}

func TestEngineDoesNoIO(t *testing.T) {
	files := 0
	for _, s := range sources(t) {
		if s.test || !slices.Contains(engine, s.dir) {
			continue
		}
		files++
		for _, i := range s.imports {
			if bad := slices.IndexFunc(noEngine, func(p string) bool { return under(i, p) }); bad >= 0 {
				t.Errorf("%s: the engine must not import %s", s.path, i)
			}
		}
	}
	if files == 0 {
		t.Error("no file of the engine found")
	}
}

func TestThirdPartyImports(t *testing.T) {
	for _, s := range sources(t) {
		for _, i := range s.imports {
			if own(i) != "" || !strings.Contains(strings.Split(i, "/")[0], ".") {
				continue
			}
			found := false
			for prefix, dirs := range thirdParty {
				if prefix == i || strings.HasPrefix(i, prefix+"/") {
					found = true
					if !s.test && !slices.Contains(dirs, s.dir) {
						t.Errorf("%s: %s must not import %s", s.path, s.dir, i)
					}
				}
			}
			if !found {
				t.Errorf("%s: %s is in no list of third-party modules", s.path, i)
			}
		}
	}
}

// under reports whether import i is p, or below it where p is a module of others. A
// package of the standard library stands for itself alone: net is not net/url.
func under(i, p string) bool {
	return i == p || strings.Contains(p, ".") && strings.HasPrefix(i, p+"/")
}
