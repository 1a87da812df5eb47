package client

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The test binary is also the processes of the trees.
func TestMain(m *testing.M) {
	switch os.Getenv("CLIENT_TEST_AS") {
	case "":
		os.Exit(m.Run())
	case "server":
		server()
	case "client":
		pretendClient()
	case "launcher":
		launcher()
	case "wait":
		fmt.Println("up")
		_, _ = io.Copy(io.Discard, os.Stdin)
	}
}

// server says whose it is, in one line.
func server() {
	if gone := os.Getenv("CLIENT_TEST_UNTIL_PARENT_IS_NOT"); gone != "" {
		for strconv.Itoa(os.Getppid()) == gone {
			time.Sleep(time.Millisecond)
		}
	}
	id, err := Find()
	if err != nil {
		fmt.Printf("error: %v\n", err)
		return
	}
	fmt.Println(id)
}

// pretendClient starts two servers, one of them through a shell, and says whose they are.
func pretendClient() {
	for _, shell := range []string{"", `"$0"; true`} {
		fmt.Println(<-start(shell, nil))
	}
}

// launcher starts a server with some of its own ends.
func launcher() {
	cmd := exec.Command(self())
	cmd.Env = append(os.Environ(), "CLIENT_TEST_AS=server")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	// A writer or reader that is no file makes os/exec make a pipe.
	switch os.Getenv("CLIENT_TEST_LAUNCHER") {
	case "filters output":
		cmd.Stdout = struct{ io.Writer }{os.Stdout}
	case "filters input":
		cmd.Stdin = struct{ io.Reader }{os.Stdin}
	case "filters both":
		cmd.Stdout, cmd.Stdin = struct{ io.Writer }{os.Stdout}, struct{ io.Reader }{os.Stdin}
	case "odd name":
		if err := os.WriteFile("/proc/self/comm", []byte(") Z 1 (\n)"), 0); err != nil {
			fmt.Println(err)
		}
	case "ends":
		cmd.Env = append(cmd.Env, "CLIENT_TEST_UNTIL_PARENT_IS_NOT="+strconv.Itoa(os.Getpid()))
		if err := cmd.Start(); err != nil {
			fmt.Println(err)
		}
		return
	}
	if err := cmd.Run(); err != nil {
		fmt.Println(err)
	}
}

func self() string {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return exe
}

// start starts this binary as a server, with pipes, through a shell's script if there is
// one, and sends what it says.
func start(script string, change func(*exec.Cmd), env ...string) <-chan string {
	cmd := exec.Command(self())
	if script != "" {
		cmd = exec.Command("sh", "-c", script, self())
	}
	cmd.Env = append(append(os.Environ(), "CLIENT_TEST_AS=server", "GORACE=atexit_sleep_ms=0"), env...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		panic(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		panic(err)
	}
	if change != nil {
		change(cmd)
	}
	said := make(chan string, 1)
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	go func() {
		text := make([]byte, 1)
		n, _ := out.Read(text)
		in.Close() // a launcher may wait for that
		rest, _ := io.ReadAll(out)
		_ = cmd.Wait()
		said <- strings.TrimSpace(string(text[:n]) + string(rest))
	}()
	return said
}
