package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// listserver FILE [FILE] plays a server: it lists the tools in FILE, a JSON list, as the file
// is when it is asked; those in the second FILE to a client that has elicitation. Every
// call is answered with "ran" and the tool's name; that of "slow" makes the file started
// and waits for the file go.
func listserver() {
	list := os.Args[1]
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Name         string
				Capabilities map[string]any
			}
		}
		if err := json.Unmarshal(in.Bytes(), &m); err != nil || m.ID == nil {
			continue
		}
		var result string
		switch m.Method {
		case "initialize":
			if m.Params.Capabilities["elicitation"] != nil {
				list = os.Args[len(os.Args)-1]
			}
			result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"list","version":"1"}}`
		case "tools/list":
			tools, err := os.ReadFile(list)
			if err != nil {
				fmt.Fprintln(os.Stderr, "listserver:", err)
				os.Exit(1)
			}
			var one bytes.Buffer
			if err := json.Compact(&one, tools); err != nil {
				fmt.Fprintln(os.Stderr, "listserver:", err)
				os.Exit(1)
			}
			result = `{"tools":` + one.String() + `}`
		default:
			if m.Params.Name == "slow" {
				if err := os.WriteFile("started", nil, 0o600); err != nil {
					fmt.Fprintln(os.Stderr, "listserver:", err)
					os.Exit(1)
				}
				waitFor("go")
			}
			result = `{"content":[{"type":"text","text":"ran ` + m.Params.Name + `"}]}`
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
	}
}

// waitFor returns when a file is there. Its process is ended from outside if that takes
// too long.
func waitFor(file string) {
	for {
		if _, err := os.Stat(file); err == nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}
