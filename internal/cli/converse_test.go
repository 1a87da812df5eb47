package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
)

// converse FILE COMMAND ARGS… plays a client: it sends each line of FILE to the command
// and waits for the answer to a request before it sends the next line. Everything that it
// hears goes to standard output. Its exit code is the command's.
func converse() {
	fail := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, "converse:", err)
			os.Exit(99)
		}
	}
	lines, err := os.Open(os.Args[1])
	fail(err)
	cmd := exec.Command(os.Args[2], os.Args[3:]...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	fail(err)
	out, err := cmd.StdoutPipe()
	fail(err)
	fail(cmd.Start())
	heard := bufio.NewReader(out)
	type message struct {
		ID     json.RawMessage
		Method string
	}
	say := bufio.NewScanner(lines)
	ended := false
	for say.Scan() && !ended {
		var sent message
		fail(json.Unmarshal(say.Bytes(), &sent))
		if _, err := fmt.Fprintf(in, "%s\n", say.Bytes()); err != nil {
			break
		}
		for sent.ID != nil {
			line, err := heard.ReadString('\n')
			if err != nil {
				ended = true
				break
			}
			fmt.Print(line)
			var got message
			if json.Unmarshal([]byte(line), &got) == nil && got.Method == "" && string(got.ID) == string(sent.ID) {
				break
			}
		}
	}
	in.Close()
	for {
		line, err := heard.ReadString('\n')
		fmt.Print(line)
		if err != nil {
			break
		}
	}
	if cmd.Wait() != nil {
		os.Exit(cmd.ProcessState.ExitCode())
	}
	os.Exit(0)
}
