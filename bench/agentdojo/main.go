package main

import (
	"embed"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

//go:embed contracts/*.yaml
var embedded embed.FS

func main() {
	if err := command(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "agentdojo:", err)
		os.Exit(1)
	}
}

func command(args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("agentdojo", flag.ContinueOnError)
	flags.SetOutput(stderr)
	dir := flags.String("contracts", "", "folder of SUITE.yaml, instead of the built-in contracts")
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: agentdojo [-contracts FOLDER] DIR")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		flags.Usage()
		return fmt.Errorf("one folder of recorded suites is wanted, got %d arguments", flags.NArg())
	}
	contracts, err := contractFiles(*dir)
	if err != nil {
		return err
	}
	start := time.Now()
	reports, err := replayDir(flags.Arg(0), contracts)
	if err != nil {
		return err
	}
	printAll(stdout, reports)
	sum := add(reports)
	fmt.Fprintf(stdout, "replayed %d cases (%d attacks, %d user tasks) with %d gates under %d oracles in %.1f s\n",
		sum.attacks+sum.tasks, sum.attacks, sum.tasks, len(gates), len(oracles), time.Since(start).Seconds())
	return nil
}

func contractFiles(dir string) (fs.FS, error) {
	if dir == "" {
		return fs.Sub(embedded, "contracts")
	}
	return os.DirFS(dir), nil
}

// replayDir replays every suite of a folder.
func replayDir(dir string, contracts fs.FS) ([]report, error) {
	suites, err := openSuites(dir)
	if err != nil {
		return nil, err
	}
	var reports []report
	for i := range suites {
		s := &suites[i]
		file := s.Name + ".yaml"
		data, err := fs.ReadFile(contracts, file)
		if err != nil {
			return nil, fmt.Errorf("suite %s has no contracts: %w", s.Name, err)
		}
		r, err := run(s, file, data)
		if err != nil {
			return nil, err
		}
		reports = append(reports, r)
	}
	return reports, nil
}

// printAll prints the table of each suite, and their sum when there are several.
func printAll(w io.Writer, reports []report) {
	for _, r := range reports {
		r.print(w)
	}
	if len(reports) > 1 {
		add(reports).print(w)
	}
}
