package relay

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// BenchmarkCall is one 1 KB call and its 1 KB answer through the relay, with the log on
// and the server in the same process.
func BenchmarkCall(b *testing.B) {
	for _, logged := range []bool{true, false} {
		b.Run(fmt.Sprintf("audit=%v", logged), func(b *testing.B) { benchmarkCall(b, logged) })
	}
}

func benchmarkCall(b *testing.B, logged bool) {
	engine, err := sallyport.New(sallyport.Options{})
	if err != nil {
		b.Fatal(err)
	}
	session, err := engine.Session(sallyport.SessionOptions{Caller: "local", Doubt: "s"})
	if err != nil {
		b.Fatal(err)
	}
	clientIn, clientInW := io.Pipe()
	clientOutR, clientOut := io.Pipe()
	serverIn, serverInW := io.Pipe()
	serverOutR, serverOut := io.Pipe()
	opt := PipeOptions{
		Options: Options{
			Session: session, Policy: engine.Policy(), Caller: "local", SessionID: "s", Upstream: "srv",
			Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		},
		ClientIn: clientIn, ClientOut: clientOut, ServerIn: serverInW, ServerOut: serverOutR,
	}
	if logged {
		if opt.Audit, err = audit.Open(filepath.Join(b.TempDir(), "log", "audit.jsonl"), audit.Options{}); err != nil {
			b.Fatal(err)
		}
		defer opt.Audit.Close()
	}
	text := strings.Repeat("lorem ipsum dolor ", 50)
	go func() {
		in := bufio.NewReaderSize(serverIn, 1<<16)
		for {
			line, err := in.ReadBytes('\n')
			if err != nil {
				return
			}
			m, _ := mcp.Parse(line[:len(line)-1])
			result := `{"content":[{"type":"text","text":"` + text + `"}]}`
			if m.Method == "tools/list" {
				result = `{"tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}]}`
			}
			fmt.Fprintf(serverOut, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID.Raw(), result)
		}
	}()
	done := make(chan struct{})
	go func() {
		NewPipes(opt).Run(b.Context())
		close(done)
	}()
	out := bufio.NewReaderSize(clientOutR, 1<<16)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		fmt.Fprintf(clientInW, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"text":"%s"}}}`+"\n", i, text)
		if _, err := out.ReadSlice('\n'); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	clientInW.Close()
	<-done
	serverOut.Close()
	serverIn.Close()
}
