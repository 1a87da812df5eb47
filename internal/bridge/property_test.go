package bridge

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/upstream"
)

// rawValue draws JSON as people write it: odd spacing, escapes, numbers that no float holds.
func rawValue(depth int) *rapid.Generator[string] {
	scalar := rapid.SampledFrom([]string{`1`, `1.0`, `-0`, `9007199254740993`, `1e400`, `"a"`, `"\u00e9\ud83d\ude00"`, `"é"`, `""`, `true`, `null`, `" "`, `"\/"`})
	if depth == 0 {
		return scalar
	}
	return rapid.Custom(func(t *rapid.T) string {
		space := rapid.SampledFrom([]string{"", " ", "\t "}).Draw(t, "space")
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			return rawObject(depth-1).Draw(t, "object")
		case 1:
			return "[" + space + strings.Join(rapid.SliceOfN(rawValue(depth-1), 0, 3).Draw(t, "list"), space+",") + "]"
		}
		return scalar.Draw(t, "scalar")
	})
}

func rawObject(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		space := rapid.SampledFrom([]string{"", " ", "\n"}).Draw(t, "space")
		var all []string
		names := []string{"content", "x", "future_x", "description", "tr\u00e4um", `\u0078y`, "_meta", "progress"}
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 4, rapid.ID[string]).Draw(t, "names") {
			value := rawValue(depth).Draw(t, name)
			if name == "_meta" {
				value = `{"traceparent":"00-1", "vendor/x":[1.0]}`
			}
			all = append(all, space+`"`+name+`":`+space+value)
		}
		return "{" + strings.Join(all, ",") + space + "}"
	})
}

// What a bridge must not touch comes out byte for byte.
func TestBytesSurvive(t *testing.T) {
	var toServer, fromServer atomic.Value
	serve := func(_ context.Context, m mcp.Message, _ func(string)) (string, error) {
		toServer.Store(string(m.Params))
		return answer(m, fromServer.Load().(string))
	}
	h := newHandshake(t, initParams, `{}`, serve)
	s := newStateless(t, `{}`, serve)
	cut := func(t *rapid.T, raw []byte, paths ...[]string) string {
		for _, p := range paths {
			out, err := mcp.RewriteObject(raw, mcp.Edit{Path: p})
			if err != nil {
				t.Fatal(err)
			}
			raw = out
		}
		return string(raw)
	}
	rapid.Check(t, func(rt *rapid.T) {
		params, res := rawObject(3).Draw(rt, "params"), rawObject(4).Draw(rt, "result")
		method := rapid.SampledFrom([]string{"tools/call", "tools/list", "resources/read", "prompts/get", "completion/complete"}).Draw(rt, "method")
		fromServer.Store(res)
		one := func(conn upstream.Conn) mcp.Message {
			m, err := conn.Do(context.Background(), parse(t, req(1, method, params)), func(mcp.Message) {})
			if err != nil {
				rt.Fatal(err)
			}
			return m
		}
		hadMeta := at([]byte(params), "_meta") != nil
		added := [][]string{{"_meta", keyVersion}, {"_meta", keyClientInfo}, {"_meta", keyCapabilities}}
		if !hadMeta {
			added = [][]string{{"_meta"}}
		}
		if got := string(one(h).Result); got != res {
			rt.Fatalf("handshake, result:\n got %s\nwant %s", got, res)
		}
		if got := cut(rt, []byte(toServer.Load().(string)), added...); compact(got) != compact(params) {
			rt.Fatalf("handshake, params:\n got %s\nwant %s", got, params)
		}
		got := one(s).Result
		if text(at(got, "resultType")) != "complete" || cacheable(method) != (text(at(got, "cacheScope")) == "private") {
			rt.Fatalf("stateless, result: %s", got)
		}
		if got := cut(rt, got, []string{"resultType"}, []string{"ttlMs"}, []string{"cacheScope"}); compact(got) != compact(res) {
			rt.Fatalf("stateless, result:\n got %s\nwant %s", got, res)
		}
		if got := toServer.Load().(string); got != params {
			rt.Fatalf("stateless, params:\n got %s\nwant %s", got, params)
		}
	})
}

// compact takes away white space between tokens, where adding and cutting leaves other. Strings in
// these tests hold none but in one, which is left alone.
func compact(s string) string {
	s = strings.ReplaceAll(s, `" "`, `"_"`)
	return strings.NewReplacer(" ", "", "\t", "", "\n", "").Replace(s)
}

// busy is a server that does what each call's plan says, one letter after the other.
func busy(end upstream.Era, open *questionsOf) script {
	return func(ctx context.Context, m mcp.Message, tell func(string)) (string, error) {
		plan := at2(m, "plan")
		done := 0
		if state := at2(m, "requestState"); state != "" && end == upstream.Stateless {
			_, _ = fmt.Sscan(state, &done)
		}
		for i := done; i < len(plan); i++ {
			switch plan[i] {
			case 'p':
				tell(note("notifications/progress", `{"progressToken":1,"progress":1}`))
			case 'l':
				tell(note("notifications/message", `{"level":"error","data":1}`))
			case 't':
				tell(note("notifications/tools/list_changed", `{}`))
			case 'x':
				return "", errors.New("lost")
			case 'e':
				return failure(m, `{"code":-1,"message":"m"}`)
			case 'h':
				return until(ctx)
			case 'q':
				if end == upstream.Stateless {
					return answer(m, fmt.Sprintf(`{"resultType":"input_required","inputRequests":{"q":{"method":"roots/list"}},"requestState":"%d"}`, i+1))
				}
				id := fmt.Sprintf(`"%s/%d"`, m.ID.Raw(), i)
				answered := open.put(id)
				tell(`{"jsonrpc":"2.0","id":` + id + `,` + formQuestion + `}`)
				select {
				case <-answered:
				case <-ctx.Done():
					return "", context.Cause(ctx)
				}
			}
		}
		return answer(m, `{"content":[]}`)
	}
}

// questionsOf are the questions of a server, by their ids.
type questionsOf struct {
	t    testing.TB
	mu   sync.Mutex
	open map[string]chan struct{}
	n    int
}

func (q *questionsOf) put(id string) <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.n++
	c := make(chan struct{})
	q.open[id] = c
	return c
}

// answered takes what the server is sent: each question has one answer at most.
func (q *questionsOf) answered(m mcp.Message) {
	if m.Kind != mcp.Response {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	c := q.open[m.ID.Raw()]
	if c == nil {
		q.t.Errorf("answered twice, or never asked: %s", m.Raw)
		return
	}
	delete(q.open, m.ID.Raw())
	close(c)
}

func plan(r *rand.Rand) string {
	b := make([]byte, r.IntN(12))
	for i := range b {
		b[i] = "ppllttqqqqxeh"[r.IntN(13)]
	}
	return string(b)
}

// Every request ends, whatever both sides do and however much at once.
func TestEveryRequestEnds(t *testing.T) {
	const clients, each = 16, 40
	run := func(t *testing.T, one func(r *rand.Rand, id int)) {
		var all sync.WaitGroup
		for n := range clients {
			all.Go(func() {
				r := rand.New(rand.NewPCG(1, uint64(n)))
				for i := range each {
					one(r, n*each+i)
				}
			})
		}
		all.Wait()
	}
	// wait gives up on a plan that hangs, and now and then on another.
	wait := func(r *rand.Rand, c *client, plan string) outcome {
		if strings.ContainsRune(plan, 'h') || r.IntN(8) == 0 {
			c.stop(errors.New("enough"))
		}
		return <-c.end
	}
	t.Run("handshake", func(t *testing.T) {
		h := newHandshake(t, initParams, `{}`, busy(upstream.Stateless, nil))
		h.initialized(t)
		run(t, func(r *rand.Rand, id int) {
			p := plan(r)
			c := do(t, h, req(id, "tools/call", `{"name":"x","plan":"`+p+`","_meta":{"progressToken":1}}`))
			stop := make(chan struct{})
			var answers sync.WaitGroup
			answers.Go(func() {
				for {
					select {
					case m := <-c.got:
						if m.Kind == mcp.Request {
							_ = h.Send(context.Background(), parse(t, result(m.ID.Raw(), `{"roots":[]}`)))
						}
					case <-stop:
						return
					}
				}
			})
			o := wait(r, c, p)
			close(stop)
			answers.Wait()
			if o.err == nil && o.m.ID.Raw() != fmt.Sprint(id) {
				t.Errorf("%d was answered with %s", id, o.m.Raw)
			}
		})
		if len(h.asked) > 0 {
			t.Errorf("%d questions are left", len(h.asked))
		}
	})
	t.Run("stateless", func(t *testing.T) {
		open := &questionsOf{t: t, open: map[string]chan struct{}{}}
		s := newStateless(t, `{}`, busy(upstream.Handshake, open))
		s.server.take = open.answered
		run(t, func(r *rand.Rand, id int) {
			p := plan(r)
			params := `"name":"x","plan":"` + p + `","_meta":` + modern(`"progressToken":1,"io.modelcontextprotocol/logLevel":"info",`)
			more := ""
			for {
				c := do(t, s, req(id, "tools/call", `{`+params+more+`}`))
				o := wait(r, c, p)
				if o.err != nil {
					return
				}
				if o.m.ID.Raw() != fmt.Sprint(id) {
					t.Errorf("%d was answered with %s", id, o.m.Raw)
				}
				if text(at(o.m.Result, "resultType")) != "input_required" || r.IntN(6) == 0 {
					return
				}
				state, _ := parkedState(t, o.m.Result)
				answers := `{`
				for i := range MaxRounds + 1 {
					answers += fmt.Sprintf(`"q%d":{},`, i+1)
				}
				more = `,"requestState":` + state + `,"inputResponses":` + answers + `"z":{}}`
			}
		})
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if len(s.calls)+len(s.parked) > 0 {
			t.Errorf("%d calls and %d parked are left", len(s.calls), len(s.parked))
		}
		if open.n < clients {
			t.Errorf("only %d questions", open.n)
		}
	})
}
