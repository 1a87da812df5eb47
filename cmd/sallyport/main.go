// Command sallyport is a security gateway between AI agents and their tools.
//
// This package only wires the command line to the process; it must never hold anything
// that a test would have to start a process for.
package main

import (
	"os"

	"github.com/sallyport-dev/sallyport/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
