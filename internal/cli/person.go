package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"strings"
)

// person is whoever sits at the terminal.
type person struct {
	terminal *os.File // that in reads
	in       *bufio.Reader
	out      io.Writer
}

// atTerminal finds the person that a question is put to. Standard input and output have to
// be this process's controlling terminal, with it in the foreground: a pipe, a file, or the
// shell of an agent that has no terminal are nobody.
func atTerminal(stdin io.Reader, stdout io.Writer) (*person, error) {
	nobody := errors.New("this needs a person at a terminal: standard input and output have to be the terminal that this command was started in")
	in, ok := stdin.(*os.File)
	if !ok || !onTerminal(in) || !controlling(in) {
		return nil, nobody
	}
	out, ok := stdout.(*os.File)
	if !ok || !onTerminal(out) || !controlling(out) {
		return nil, nobody
	}
	return &person{terminal: in, in: bufio.NewReaderSize(in, 4<<10), out: out}, nil
}

// ask puts a question that was shown, and returns the answer in lower case. No answer, a
// closed terminal or a very long line is "". What was typed before is no answer: it was typed,
// or pasted at somebody's advice, before there was anything to read.
func (p *person) ask(question string) (string, error) {
	if err := discardTyped(p.terminal); err != nil {
		return "", fmt.Errorf("what was typed before the question cannot be told from an answer: %w", err)
	}
	p.in.Reset(p.terminal)
	if _, err := io.WriteString(p.out, question); err != nil {
		return "", err
	}
	line, err := p.in.ReadSlice('\n')
	if err != nil {
		fmt.Fprintln(p.out)
		return "", nil //nolint:nilerr // no answer is no
	}
	return strings.ToLower(strings.TrimSpace(string(line))), nil
}

// whoAnswers names the user of this process, as far as the system knows.
func whoAnswers() string {
	if u, err := user.Current(); err == nil {
		return u.Username + " at a terminal"
	}
	return fmt.Sprintf("user %d at a terminal", os.Getuid())
}
