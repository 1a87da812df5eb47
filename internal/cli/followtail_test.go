package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

// followtail is a command of the scripts: it starts a command and goes through the steps of
// a file, each of which waits for what the command prints and for nothing else.
//
//	want REGEXP     the next line of its standard output matches
//	add LOG FILE    append a file to another
//	part LOG FILE   append it without its last line feed
//	move FROM TO    rename a file
//	empty LOG       cut a file to nothing
//	stop            interrupt it; it must end well, and have printed no other line
func followtail() {
	if err := followSteps(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "followtail:", err)
		os.Exit(1)
	}
}

// followLimit ends a script that waits for a line that does not come.
const followLimit = 30 * time.Second

func followSteps(file string, command []string) error {
	steps, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	limit := time.AfterFunc(followLimit, func() { _ = cmd.Process.Kill() })
	defer limit.Stop()
	lines := bufio.NewReader(out)
	for step := range strings.Lines(string(steps)) {
		step = strings.TrimSpace(step)
		word, rest, _ := strings.Cut(step, " ")
		switch a := strings.Fields(rest); word {
		case "want":
			var got string
			if got, err = lines.ReadString('\n'); err == nil && !regexp.MustCompile(rest).MatchString(strings.TrimSuffix(got, "\n")) {
				err = fmt.Errorf("got %q", got)
			}
		case "add":
			err = appendFile(a[0], a[1], "")
		case "part":
			err = appendFile(a[0], a[1], "\n")
		case "move":
			err = os.Rename(a[0], a[1])
		case "empty":
			err = os.Truncate(a[0], 0)
		case "stop":
			_ = cmd.Process.Signal(os.Interrupt)
			var more []byte
			more, _ = io.ReadAll(lines)
			if err = cmd.Wait(); err == nil && len(more) > 0 {
				err = fmt.Errorf("it printed %q besides", more)
			}
		default:
			err = fmt.Errorf("no such step")
		}
		if err != nil {
			_ = cmd.Process.Kill()
			return fmt.Errorf("%s: %w", step, err)
		}
	}
	return nil
}

func appendFile(to, from, without string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	text = bytes.TrimSuffix(text, []byte(without))
	f, err := os.OpenFile(to, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}
