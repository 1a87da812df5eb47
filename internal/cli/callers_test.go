package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"
)

// callers FILE COMMAND ARGS… plays several clients over HTTP. It starts the command, which
// is a gateway that logs its url, and goes through the lines of FILE:
//
//	NAME {…}      sends a message with the token in $TOKEN_NAME, in the session that NAME's
//	              initialize began, and prints NAME, the status and the body
//	NAME METHOD PATH  sends no message
//	run COMMAND   runs another command, with GATEWAY in its arguments replaced by the url
//	begin NAME {…}  sends a message and does not wait; what came of it is printed by end
//	approve       answers the question of the last code that was heard, see approveLast
//	await FILE    waits until the file is there
//	heard TEXT    waits until the gateway has logged TEXT
//	signal TERM|HUP   signals the gateway
//	end           waits until the gateway has ended
//
// Its exit code is the gateway's.
func callers() {
	fail := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, "callers:", err)
			os.Exit(99)
		}
	}
	script, err := os.ReadFile(os.Args[1])
	fail(err)
	cmd := exec.Command(os.Args[2], os.Args[3:]...)
	cmd.Stdout = os.Stdout
	log, err := cmd.StderrPipe()
	fail(err)
	fail(cmd.Start())
	urls := make(chan string, 1)
	logged := make(chan struct{})
	said := make(chan string, 10_000)
	go func() {
		defer close(logged)
		found := regexp.MustCompile(`msg=listening url=(\S+)`)
		lines := bufio.NewScanner(log)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			fmt.Fprintln(os.Stderr, lines.Text())
			said <- lines.Text()
			if m := found.FindStringSubmatch(lines.Text()); m != nil {
				urls <- m[1]
			}
		}
		close(urls)
	}()
	url, ok := <-urls
	var begun sync.WaitGroup
	end := func() {
		begun.Wait()
		<-logged
		if cmd.Wait() != nil {
			os.Exit(cmd.ProcessState.ExitCode())
		}
		os.Exit(0)
	}
	if !ok {
		end()
	}
	guard := time.AfterFunc(time.Minute, func() {
		_ = cmd.Process.Kill()
		fmt.Fprintln(os.Stderr, "callers: it takes too long")
		os.Exit(99)
	})
	defer guard.Stop()
	sessions := map[string]string{}
	var all strings.Builder
	for line := range strings.Lines(string(script)) {
		line = strings.TrimSpace(line)
		name, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case name == "run":
			words := strings.Fields(strings.ReplaceAll(rest, "GATEWAY", url))
			out, _ := exec.Command(words[0], words[1:]...).CombinedOutput()
			fmt.Printf("%s$ %s\n", out, rest)
		case name == "begin":
			who, message, _ := strings.Cut(rest, " ")
			begun.Go(func() {
				status, body, err := speak(url, who, message, maps.Clone(sessions))
				fmt.Printf("%s %d %s %v\n", who, status, body, err)
			})
		case name == "approve":
			approveLast(all.String())
		case name == "await":
			waitFor(rest)
		case name == "heard":
			for text := range said {
				if strings.Contains(text, rest) {
					break
				}
			}
		case name == "signal":
			fail(cmd.Process.Signal(map[string]syscall.Signal{"TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP}[rest]))
		case name == "end":
			end()
		default:
			status, body, err := speak(url, name, rest, sessions)
			fail(err)
			fmt.Printf("%s %d %s\n", name, status, body)
			all.WriteString(body)
		}
	}
	fail(cmd.Process.Signal(syscall.SIGTERM))
	end()
}

// speak sends one message of a caller.
func speak(url, name, message string, sessions map[string]string) (status int, body string, err error) {
	method, at := http.MethodPost, url
	if !strings.HasPrefix(message, "{") {
		var path string
		method, path, _ = strings.Cut(message, " ")
		at, message = strings.TrimSuffix(url, "/mcp")+path, ""
	}
	req, err := http.NewRequest(method, at, strings.NewReader(message))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if value := os.Getenv("TOKEN_" + strings.ToUpper(name)); value != "" {
		req.Header.Set("Authorization", "Bearer "+value)
	}
	if id := sessions[name]; id != "" && !strings.Contains(message, `"initialize"`) {
		req.Header.Set("Mcp-Session-Id", id)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, "", err
	}
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		sessions[name] = id
	}
	text := resp.Header.Get("WWW-Authenticate") + string(bytes.Join(bytes.Fields(data), []byte(" ")))
	return resp.StatusCode, text, nil
}
