package bridge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

func TestQuestionsThatAreRefused(t *testing.T) {
	none := `{"io.modelcontextprotocol/clientCapabilities":{}}`
	for _, c := range []struct {
		name, method, meta, question string
		code                         int
	}{
		{"no elicitation", "tools/call", none, formQuestion, mcp.CodeMethodNotFound},
		{"no sampling", "tools/call", none, `"method":"sampling/createMessage","params":{}`, mcp.CodeMethodNotFound},
		{"no capabilities", "tools/call", `{}`, formQuestion, mcp.CodeMethodNotFound},
		{"form only", "tools/call", `{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}`, `"method":"elicitation/create","params":{"mode":"url"}`, mcp.CodeInvalidParams},
		{"sampling with tools", "tools/call", modern(""), `"method":"sampling/createMessage","params":{"tools":[]}`, mcp.CodeInvalidParams},
		{"roots, declared", "tools/call", `{"io.modelcontextprotocol/clientCapabilities":{"roots":{}}}`, `"method":"roots/list"`, mcp.CodeMethodNotFound},
		{"no params", "tools/call", modern(""), `"method":"elicitation/create"`, mcp.CodeInvalidParams},
		{"during a list", "tools/list", modern(""), formQuestion, mcp.CodeInvalidRequest},
		{"an unknown method", "tools/call", modern(""), `"method":"x/y","params":{}`, mcp.CodeMethodNotFound},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newStateless(t, legacyEverything, nil)
			r.server.script = r.asking(c.question)
			r.waitInitialized(t)
			got := do(t, r, req(1, c.method, `{"name":"x","_meta":`+c.meta+`}`)).result()
			if a := parse(t, text(at(got, "got"))); codeOf(a) != c.code || a.ID.Raw() != `"s0"` {
				t.Errorf("%s", a.Raw)
			}
		})
	}
}

func TestTooManyQuestions(t *testing.T) {
	t.Run("in rounds", func(t *testing.T) {
		r := newStateless(t, legacyEverything, nil)
		var all []string
		for range MaxRounds + 1 {
			all = append(all, formQuestion)
		}
		r.server.script = r.asking(all...)
		r.waitInitialized(t)
		got := do(t, r, req(1, "tools/call", `{"name":"x","_meta":`+modern("")+`}`)).result()
		for i := range MaxRounds {
			state, _ := parkedState(t, got)
			got = do(t, r, req(1, "tools/call", fmt.Sprintf(`{"name":"x","requestState":%s,"inputResponses":{"q%d":{}},"_meta":%s}`, state, i+1, modern("")))).result()
		}
		if !strings.Contains(text(at(got, "got")), `"id":"s8","error"`) {
			t.Errorf("%s", got)
		}
	})
	t.Run("at once", func(t *testing.T) {
		r := newStateless(t, legacyEverything, nil)
		refused := make(chan mcp.Message, 1)
		r.server.script = func(ctx context.Context, m mcp.Message, tell func(string)) (string, error) {
			for i := range maxQuestions + 1 {
				tell(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%s}`, i, formQuestion))
			}
			refused <- <-r.server.sent
			return until(ctx)
		}
		r.waitInitialized(t)
		parkedState(t, do(t, r, req(1, "tools/call", `{"name":"x","_meta":`+modern("")+`}`)).result())
		if m := <-refused; m.ID.Raw() != fmt.Sprint(maxQuestions) || m.Error == nil {
			t.Errorf("%s", m.Raw)
		}
	})
	t.Run("calls parked", func(t *testing.T) {
		r := newStateless(t, legacyEverything, func(ctx context.Context, m mcp.Message, tell func(string)) (string, error) {
			tell(`{"jsonrpc":"2.0","id":` + m.ID.Raw() + `,` + formQuestion + `}`)
			return until(ctx)
		})
		r.waitInitialized(t)
		for i := range maxParked {
			parkedState(t, do(t, r, req(i, "tools/call", `{"name":"x","_meta":`+modern("")+`}`)).result())
		}
		c := do(t, r, req(999, "tools/call", `{"name":"x","_meta":`+modern("")+`}`))
		if m := <-r.server.sent; m.ID.Raw() != "999" || m.Error == nil {
			t.Errorf("%s", m.Raw)
		}
		c.stop(errors.New("enough"))
		<-c.end
	})
}

func TestQuestionsBeside(t *testing.T) {
	r := newStateless(t, legacyEverything, nil)
	began, goOn := make(chan struct{}, 2), make(chan struct{})
	r.server.script = func(_ context.Context, m mcp.Message, _ func(string)) (string, error) {
		began <- struct{}{}
		<-goOn
		return answer(m, `{"content":[]}`)
	}
	r.waitInitialized(t)
	ask := func(id string) { r.Beside(parse(t, `{"jsonrpc":"2.0","id":`+id+`,`+formQuestion+`}`)) }
	refused := func(id string) {
		t.Helper()
		if m := <-r.server.sent; m.ID.Raw() != id || codeOf(m) != mcp.CodeInvalidRequest {
			t.Errorf("%s", m.Raw)
		}
	}
	ask("1")
	refused("1")
	r.Beside(parse(t, req(2, "ping", "")))
	want(t, "pong", string((<-r.server.sent).Raw), result(2, `{}`))
	a := do(t, r, req(1, "tools/call", `{"name":"x","_meta":`+modern("")+`}`))
	<-began
	ask("3")
	state, _ := parkedState(t, a.result())
	// Parked, it is open still.
	b := do(t, r, req(2, "tools/call", `{"name":"y","_meta":`+modern("")+`}`))
	<-began
	ask("4")
	refused("4")
	a = do(t, r, req(3, "tools/call", `{"name":"x","requestState":`+state+`,"inputResponses":{"q1":{"action":"decline"}},"_meta":`+modern("")+`}`))
	want(t, "answer to the server", string((<-r.server.sent).Raw), result(3, `{"action":"decline"}`))
	close(goOn)
	a.answer()
	b.answer()
}

func TestStatelessCancel(t *testing.T) {
	ways := map[string]func(*statelessRig, *client) error{
		"by its context": func(_ *statelessRig, c *client) error {
			err := errors.New("enough")
			c.stop(err)
			return err
		},
		"by a notification": func(r *statelessRig, _ *client) error {
			_ = r.Send(context.Background(), parse(t, note("notifications/cancelled", `{"requestId":5}`)))
			return errCancelled
		},
		"by the end of the server": func(r *statelessRig, _ *client) error {
			err := errors.New("died")
			r.server.die(err)
			return err
		},
		"by Close": func(r *statelessRig, _ *client) error {
			_ = r.Close(context.Background())
			return errClosed
		},
	}
	for name, end := range ways {
		t.Run(name, func(t *testing.T) {
			began, ended := make(chan struct{}), make(chan error, 1)
			r := newStateless(t, `{}`, func(ctx context.Context, m mcp.Message, _ func(string)) (string, error) {
				close(began)
				<-ctx.Done()
				ended <- context.Cause(ctx)
				return "", context.Cause(ctx)
			})
			c := do(t, r, req(5, "tools/call", `{"name":"x","_meta":`+modern("")+`}`))
			<-began
			cause := end(r, c)
			if o := <-c.end; !errors.Is(o.err, cause) {
				t.Errorf("ended with %v, want %v", o.err, cause)
			}
			if err := <-ended; !errors.Is(err, cause) {
				t.Errorf("the server's call ended with %v, want %v", err, cause)
			}
		})
	}
	t.Run("Close, while parked", func(t *testing.T) {
		r := newStateless(t, legacyEverything, nil)
		r.server.script = r.asking(formQuestion)
		r.waitInitialized(t)
		parkedState(t, do(t, r, req(1, "tools/call", `{"name":"x","_meta":`+modern("")+`}`)).result())
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if o := <-do(t, r, req(2, "tools/call", `{"name":"x","_meta":`+modern("")+`}`)).end; o.err == nil {
			t.Errorf("answered after the end: %s", o.m.Raw)
		}
	})
}
