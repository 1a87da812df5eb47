// Command conformance runs the official MCP conformance suite against the official Go
// SDK's server, directly and through the gateway, and compares the verdict on every check.
//
// Two runs have the same era on both sides. Two more have a server behind the gateway
// that speaks only the other era; they are compared with what the direct run of the same
// requirements gave. A difference that expected.json does not list with its reason fails,
// and so does an entry there that no longer differs. It must never excuse a difference
// by itself.
//
//	go run ./e2e/conformance [-runs A,B] [-keep DIR] [-direct]
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sallyport-dev/sallyport/e2e/rig"
)

// A run is one set of requirements through the gateway.
type run struct {
	name         string // of the requirements, and of the server's era where it differs
	requirements string
	stateless    bool                             // how the server behind the gateway is started
	only         func(string) (*rig.Proxy, error) // what narrows it to one era, or nil
}

var runs = []run{
	{"2025-11-25", "2025-11-25", false, nil},
	{"2026-07-28", "2026-07-28", true, nil},
	{"2025-11-25 on a 2026-07-28 server", "2025-11-25", true, rig.StatelessOnly},
	{"2026-07-28 on a 2025-11-25 server", "2026-07-28", false, rig.HandshakeOnly},
}

// directStateless says how the server is started for the direct run of a set.
var directStateless = map[string]bool{"2025-11-25": false, "2026-07-28": true}

func main() {
	only := flag.String("runs", "", "names of the runs, comma-separated; all without it")
	keep := flag.String("keep", "", "keep all results and logs in this directory")
	direct := flag.Bool("direct", false, "run only against the server itself")
	gateway := flag.String("gateway", "", "a sallyport program; built without it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ok, err := conform(ctx, *only, *keep, *gateway, *direct)
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

func conform(ctx context.Context, only, keep, gateway string, directOnly bool) (bool, error) {
	began := time.Now()
	expected, err := readExpected(filepath.Join("e2e", "conformance", "expected.json"))
	if err != nil {
		return false, fmt.Errorf("%w (run it in the module's root)", err)
	}
	b, err := newBench(keep, gateway, directOnly)
	if err != nil {
		return false, err
	}
	defer b.close()

	ok := true
	baseline := map[string]verdicts{}
	for _, r := range runs {
		if only != "" && !slices.Contains(strings.Split(only, ","), r.name) {
			continue
		}
		want, known := baseline[r.requirements]
		if !known {
			if want, err = b.direct(ctx, r.requirements); err != nil {
				return false, err
			}
			baseline[r.requirements] = want
			fmt.Printf("%s, directly: %s\n", r.requirements, want.summary())
		}
		if directOnly {
			continue
		}
		got, err := b.through(ctx, r)
		if err != nil {
			return false, fmt.Errorf("%s: %w", r.name, err)
		}
		fmt.Printf("%s, through the gateway: %s\n", r.name, got.summary())
		ok = report(os.Stdout, r.name, compare(want, got), expected[r.name]) && ok
	}
	fmt.Printf("%.1f s\n", time.Since(began).Seconds())
	return ok, nil
}
