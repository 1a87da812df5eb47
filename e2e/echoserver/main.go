// Command echoserver is the smallest MCP server that the relay benchmark can call: it
// answers initialize, tools/list and tools/call of one tool, echo, which gives its
// argument back. It must never cost more than decoding one line and writing another.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

const (
	initialized = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"echo","version":"1"}}`
	tools       = `{"tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}]}`
)

type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Arguments struct {
			Text json.RawMessage `json:"text"`
		} `json:"arguments"`
	} `json:"params"`
}

func main() {
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "echoserver:", err)
		os.Exit(1)
	}
}

func serve(in io.Reader, out io.Writer) error {
	r := bufio.NewReaderSize(in, 64<<10)
	var answer []byte
	for {
		line, err := r.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		var req request
		if err := json.Unmarshal(line, &req); err != nil {
			return err
		}
		if req.ID == nil {
			continue
		}
		answer = append(answer[:0], `{"jsonrpc":"2.0","id":`...)
		answer = append(answer, req.ID...)
		answer = appendResult(answer, req)
		if _, err := out.Write(append(answer, "}\n"...)); err != nil {
			return err
		}
	}
}

func appendResult(b []byte, req request) []byte {
	switch req.Method {
	case "initialize":
		return append(b, `,"result":`+initialized...)
	case "ping":
		return append(b, `,"result":{}`...)
	case "tools/list":
		return append(b, `,"result":`+tools...)
	case "tools/call":
		b = append(b, `,"result":{"content":[{"type":"text","text":`...)
		b = append(b, req.Params.Arguments.Text...)
		return append(b, `}]}`...)
	}
	return append(b, `,"error":{"code":-32601,"message":"method not found"}`...)
}
