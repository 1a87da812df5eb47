package gateway

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/upstream"
)

// What the client says about a cancellation is for the server that works on the request: over
// a bridge too.
func TestTheReasonForACancellationGoesOn(t *testing.T) {
	for _, stateless := range []bool{false, true} {
		a := toolServer("a", "hold")
		if stateless {
			a.stateless()
		}
		begun, why := make(chan struct{}), make(chan error, 1)
		serve := a.serve
		a.serve = func(ctx context.Context, c *conn, m mcp.Message, about func(string)) (string, error) {
			if m.Method != "tools/call" {
				return serve(ctx, c, m, about)
			}
			close(begun)
			<-ctx.Done()
			why <- context.Cause(ctx)
			return "", ctx.Err()
		}
		r := newRig(t, Options{}, a)
		k := r.stdio(newCaller(t, "local", everything, nil))
		k.initialize()
		k.send(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"hold"}}`)
		<-begun
		k.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,"reason":"not any more"}}`)
		var c *upstream.Cancelled
		if err := <-why; !errors.As(err, &c) || string(c.Reason) != `"not any more"` {
			t.Errorf("stateless %v: the server is told %v", stateless, err)
		}
		k.close()
	}
}

// A level that does not exist, and a task that nobody knows, are wrong params whatever stands
// behind the gateway: no server is asked.
func TestWrongParamsHaveOneCode(t *testing.T) {
	for name, servers := range map[string][]*server{
		"one":                 {library("a", nil, nil, "")},
		"several":             {library("a", nil, nil, ""), library("b", nil, nil, "")},
		"one without logging": {toolServer("a", "t")},
		"stateless":           {library("a", nil, nil, "").stateless()},
		"of both eras":        {library("a", nil, nil, "").stateless(), library("b", nil, nil, "")},
	} {
		r := newRig(t, Options{}, servers...)
		k := r.stdio(newCaller(t, "local", everything, nil))
		k.initialize()
		for _, m := range []string{
			`"method":"logging/setLevel","params":{"level":"loud"}`, `"method":"logging/setLevel","params":{"level":3}`, `"method":"logging/setLevel"`,
			`"method":"tasks/get","params":{"taskId":"x"}`, `"method":"tasks/get"`, `"method":"tasks/result","params":{"taskId":"x"}`, `"method":"tasks/cancel","params":{"taskId":"x"}`,
			`"method":"tasks/get","params":{"taskId":"x",` + modernMeta + `}`, `"method":"tasks/cancel","params":{"taskId":"x",` + modernMeta + `}`, `"method":"tasks/update","params":{"taskId":"x",` + modernMeta + `}`,
		} {
			if got := k.call(`{"jsonrpc":"2.0","id":1,` + m + `}`); fmt.Sprint(get(t, got, "error", "code")) != "-32602" {
				t.Errorf("%s: %s: %s", name, m, got)
			}
		}
		k.close()
		for _, s := range servers {
			if s.saw("loud") || s.saw("tasks/") {
				t.Errorf("%s: %s was asked", name, s.name)
			}
		}
	}
}
