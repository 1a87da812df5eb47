package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
)

// converse FILE COMMAND ARGS… plays a client: it sends each line of FILE to the command
// and waits for the answer to a request before it sends the next line. Everything that it
// hears goes to standard output. A line that is the word approve answers the question of the
// last code that it heard, see approveLast; one that is elicit and a result answers all questions
// from then on with it. Its exit code is the command's.
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
	var all strings.Builder
	answer := ""
	for say.Scan() && !ended {
		if say.Text() == "approve" {
			approveLast(all.String())
			continue
		}
		if result, ok := strings.CutPrefix(say.Text(), "elicit "); ok {
			answer = result
			continue
		}
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
			all.WriteString(line)
			var got message
			if json.Unmarshal([]byte(line), &got) != nil {
				continue
			}
			if got.Method == "elicitation/create" && answer != "" {
				fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", got.ID, answer)
			}
			if got.Method == "" && string(got.ID) == string(sent.ID) {
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

var codes = regexp.MustCompile(`sallyport approve ([A-Z2-9]{3}-[A-Z2-9]{4})`)

// approveLast runs sallyport approve for the last code in a text, in the terminal that this
// process was started in, and prints its exit code.
func approveLast(heard string) {
	all := codes.FindAllStringSubmatch(heard, -1)
	if all == nil {
		fmt.Println("approve: no code was heard")
		return
	}
	code := all[len(all)-1][1]
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		fmt.Println("approve:", err)
		return
	}
	defer tty.Close()
	cmd := exec.Command("sallyport", "approve", code)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, os.Stderr
	_ = cmd.Run()
	fmt.Println("approve: exit", cmd.ProcessState.ExitCode())
}
