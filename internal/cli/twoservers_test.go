package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// twoservers FILE COMMAND ARGS… plays a client with two servers: it starts the command
// twice, with SERVER in the arguments replaced by one and by two, and sends each line of
// FILE to the one that it names in front of the message. What it hears goes to standard
// output, with the server in front.
func twoservers() {
	fail := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, "twoservers:", err)
			os.Exit(99)
		}
	}
	type server struct {
		cmd *exec.Cmd
		in  interface {
			Write([]byte) (int, error)
			Close() error
		}
		out *bufio.Reader
	}
	servers := map[string]*server{}
	for _, name := range []string{"one", "two"} {
		var args []string
		for _, a := range os.Args[3:] {
			args = append(args, strings.ReplaceAll(a, "SERVER", name))
		}
		s := &server{cmd: exec.Command(os.Args[2], args...)}
		s.cmd.Stderr = os.Stderr
		in, err := s.cmd.StdinPipe()
		fail(err)
		out, err := s.cmd.StdoutPipe()
		fail(err)
		s.in, s.out = in, bufio.NewReader(out)
		fail(s.cmd.Start())
		servers[name] = s
	}
	data, err := os.ReadFile(os.Args[1])
	fail(err)
	for line := range strings.Lines(string(data)) {
		name, message, ok := strings.Cut(strings.TrimSpace(line), " ")
		s := servers[name]
		if !ok || s == nil {
			fail(fmt.Errorf("a line starts with one or two: %q", line))
		}
		var sent struct{ ID json.RawMessage }
		fail(json.Unmarshal([]byte(message), &sent))
		_, err := fmt.Fprintf(s.in, "%s\n", message)
		fail(err)
		for sent.ID != nil {
			heard, err := s.out.ReadString('\n')
			fail(err)
			fmt.Print(name, " ", heard)
			var got struct {
				ID     json.RawMessage
				Method string
			}
			if json.Unmarshal([]byte(heard), &got) == nil && got.Method == "" && string(got.ID) == string(sent.ID) {
				break
			}
		}
	}
	for _, name := range []string{"one", "two"} {
		fail(servers[name].in.Close())
		fail(servers[name].cmd.Wait())
	}
}
