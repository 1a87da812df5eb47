package relay

import (
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// stuck is a server's input that nobody reads.
type stuck struct{ closed chan struct{} }

func (s stuck) Write([]byte) (int, error) {
	<-s.closed
	return 0, io.ErrClosedPipe
}

// A client that was killed while the server does not read leaves nothing behind: the
// reader of its input is held up and would never see that it ended.
func TestB010ClientDiesWhileTheServerDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dead atomic.Bool
		server := stuck{make(chan struct{})}
		g := newRig(t, rigOptions{noAudit: true, options: func(o *PipeOptions) {
			o.ServerIn = server
			o.ClientGone = dead.Load
		}})
		g.client(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		time.Sleep(time.Minute)
		select {
		case e := <-g.ended:
			t.Fatalf("ended with %v while the client lives", e)
		default:
		}
		dead.Store(true)
		start := time.Now()
		if e := <-g.ended; e != ClientEnded {
			t.Fatalf("ended with %v", e)
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("it took %v", took)
		}
		close(server.closed)
		g.clientIn.Close()
		g.serverOut.Close()
	})
}

// Nothing is decided, or charged, for a call that was cancelled while it waited.
func TestCancelledCallsAreNotCharged(t *testing.T) {
	g := newRig(t, rigOptions{manual: true, config: "version: 1\ntools: {echo: {max_calls: 1}}"})
	for i := range 5 {
		g.call(i, "echo", `{}`)
	}
	list := g.serverHears()
	for i := range 4 {
		g.client(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, i))
	}
	g.quiet()
	g.server(`{"jsonrpc":"2.0","id":` + idOf(list) + `,"result":{"tools":[{"name":"echo"}]}}`)
	g.serverWants(callFrame(4, "echo", `{}`))
}
