package relay

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"
)

// deafClient is a client that reads nothing until it is told to listen.
type deafClient struct {
	w       io.Writer
	blocked chan struct{} // closed when the relay waits for the client
	listen  chan struct{}
	once    sync.Once
}

func newDeafClient() *deafClient {
	return &deafClient{blocked: make(chan struct{}), listen: make(chan struct{})}
}

func (d *deafClient) Write(p []byte) (int, error) {
	d.once.Do(func() { close(d.blocked) })
	<-d.listen
	return d.w.Write(p)
}

func (d *deafClient) rig(t *testing.T, o rigOptions, more func(*PipeOptions)) *rig {
	o.options = func(opt *PipeOptions) {
		d.w, opt.ClientOut = opt.ClientOut, d
		opt.Farewell = 20 * time.Millisecond
		if more != nil {
			more(opt)
		}
	}
	g := newRig(t, o)
	g.call(1, "echo", `{}`)
	g.serverWants(callFrame(1, "echo", `{}`))
	g.call(2, "echo", `{}`)
	g.serverWants(callFrame(2, "echo", `{}`))
	g.server(textResult(1, "nobody reads this"))
	<-d.blocked
	return g
}

// A client that reads no more keeps the gateway from nothing: whatever ends it, it ends.
func TestClientThatDoesNotReadCannotKeepTheRelay(t *testing.T) {
	t.Run("stopped", func(t *testing.T) {
		g := newDeafClient().rig(t, rigOptions{}, nil)
		g.cancel()
		g.waitEnd(Stopped)
	})
	t.Run("end of input", func(t *testing.T) {
		g := newDeafClient().rig(t, rigOptions{}, func(o *PipeOptions) { o.Drain = 20 * time.Millisecond })
		g.clientIn.Close()
		g.waitEnd(ClientEnded)
	})
	t.Run("server dead, then stopped", func(t *testing.T) {
		g := newDeafClient().rig(t, rigOptions{}, nil)
		g.serverOut.Close()
		g.cancel()
		<-g.ended
	})
}

// A client that is only slow gets what is due to it after the server's death.
func TestSlowClientGetsItsLastAnswers(t *testing.T) {
	d := newDeafClient()
	g := d.rig(t, rigOptions{}, nil)
	g.serverOut.Close()
	close(d.listen)
	g.clientWants(textResult(1, "nobody reads this"))
	g.wantError("2", -32603)
	g.waitEnd(ServerEnded)
}

// What a server answered before it died arrives, though a write to it failed first.
func TestAnswersOfADeadServerAreRead(t *testing.T) {
	hold := make(chan struct{})
	g := newRig(t, rigOptions{options: func(o *PipeOptions) { o.ServerOut = &heldReader{o.ServerOut, hold} }, manual: true, tools: "-"})
	g.client(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	g.serverWants(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	g.serverIn.Close() // it has died; its answer still stands in the pipe
	g.client(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	<-g.pipes.lost
	close(hold)
	g.server(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	g.serverOut.Close()
	g.clientWants(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	g.wantError("2", -32603)
	g.waitEnd(ServerEnded)
}

type heldReader struct {
	r    io.Reader
	hold chan struct{}
}

func (h *heldReader) Read(p []byte) (int, error) {
	<-h.hold
	return h.r.Read(p)
}

// Large outputs that nobody reads do not pile up in memory: the server has to wait.
func TestLargeOutputsDoNotPileUp(t *testing.T) {
	d := newDeafClient()
	g := newRig(t, rigOptions{options: func(o *PipeOptions) { d.w, o.ClientOut = o.ClientOut, d }})
	const calls = 3 * maxBeside
	for i := range calls {
		g.call(i, "echo", `{}`)
		g.serverWants(callFrame(i, "echo", `{}`))
	}
	sent := make(chan int, calls)
	big := strings.Repeat("word ", inlineOutput/5)
	go func() {
		for i := range calls {
			g.server(textResult(i, big))
			sent <- i
		}
	}()
	// The reader takes what is recorded beside it and one more, and then no next frame.
	for range maxBeside {
		<-sent
	}
	<-d.blocked
	for held := false; !held; {
		select {
		case i := <-sent:
			if i > maxBeside+1 {
				t.Fatalf("output %d was taken while nobody reads", i)
			}
		case <-time.After(300 * time.Millisecond):
			held = true
		}
	}
	close(d.listen)
	seen := make(map[string]bool)
	for range calls {
		seen[g.clientHears()[:30]] = true
	}
	if len(seen) != calls {
		t.Fatalf("%d different answers, want %d", len(seen), calls)
	}
}

// The server hears of a call before it hears that the call is cancelled.
func TestCancelNeverOvertakesItsCall(t *testing.T) {
	for i := range 200 {
		g := newRig(t, rigOptions{noAudit: true})
		g.call(1, "echo", `{}`)
		g.client(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		g.client(`{"jsonrpc":"2.0","id":"p","method":"ping"}`)
		var heard []string
		for len(heard) == 0 || !strings.Contains(strings.Join(heard, ""), `"ping"`) {
			heard = append(heard, g.serverHears())
		}
		call, cancel := -1, -1
		for n, f := range heard {
			switch {
			case strings.Contains(f, "tools/call"):
				call = n
			case strings.Contains(f, "notifications/cancelled"):
				cancel = n
			}
		}
		if cancel >= 0 && (call < 0 || call > cancel) {
			t.Fatalf("run %d: the server hears %s", i, fmt.Sprint(heard))
		}
		g.clientIn.Close()
		g.cancel()
		<-g.ended
	}
}
