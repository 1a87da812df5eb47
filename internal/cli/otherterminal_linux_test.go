package cli

import (
	"fmt"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

func init() { systemCommands["otherterminal"] = otherTerminal }

// otherterminal in|out COMMAND ARGS… runs a command with one end of it at a pseudo-terminal of
// its own, as a program can make one that has no person, and says yes there.
func otherTerminal() {
	fail := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, "otherterminal:", err)
			os.Exit(99)
		}
	}
	own, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	fail(err)
	fd := int(own.Fd())
	fail(unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	fail(err)
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	fail(err)
	_, err = own.WriteString("y\n")
	fail(err)
	cmd := exec.Command(os.Args[2], os.Args[3:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if os.Args[1] == "in" {
		cmd.Stdin = tty
	} else {
		cmd.Stdout = tty
	}
	if cmd.Run() != nil {
		os.Exit(cmd.ProcessState.ExitCode())
	}
}
