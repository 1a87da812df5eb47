// Command copyrelay is the floor that the relay benchmark compares with: it starts a
// server and copies lines between it and its own stdin and stdout, and does nothing
// else. It must never look into a line.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "copyrelay:", err)
		os.Exit(1)
	}
}

func run(argv []string) error {
	if len(argv) == 0 {
		return fmt.Errorf("usage: copyrelay COMMAND ARGS…")
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		defer in.Close() // the end of input ends the server, and with it this program
		if err := lines(in, os.Stdin); err != nil {
			fmt.Fprintln(os.Stderr, "copyrelay:", err)
		}
	}()
	if err := lines(os.Stdout, out); err != nil {
		return err
	}
	return cmd.Wait()
}

// lines copies whole lines, one write each.
func lines(to io.Writer, from io.Reader) error {
	r := bufio.NewReaderSize(from, 64<<10)
	for {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 {
			if _, err := to.Write(line); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
