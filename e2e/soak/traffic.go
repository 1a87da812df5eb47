package main

import (
	"context"
	json "encoding/json/v2"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/sallyport-dev/sallyport/e2e/peer"
	"github.com/sallyport-dev/sallyport/e2e/rig"
)

var upstreams = []string{"child", "plainchild", "web", "plain"}

// traffic runs clients one after the other on each worker until the time is over, and
// returns when all of them have ended. beside runs along until its context ends.
func (s *soak) traffic(ctx context.Context, url string, length time.Duration, beside func(context.Context)) {
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	var all sync.WaitGroup
	all.Go(func() { beside(ctx) })
	for n := range s.workers {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(n), uint64(length)))
			for i := 0; ctx.Err() == nil; i++ {
				s.client(ctx, url, r, fmt.Sprintf("w%d", n))
			}
		})
	}
	all.Wait()
}

// patience bounds every wait for an answer.
const patience = 60 * time.Second

// client is the life of one: it connects, makes some calls, and ends its session, at
// once or when it comes back after its connection was cut.
func (s *soak) client(ctx context.Context, url string, r *rand.Rand, name string) {
	transport := &http.Transport{DisableCompression: true}
	defer transport.CloseIdleConnections()
	era := []peer.Era{peer.Handshake, peer.Stateless}[r.IntN(2)]
	o := peer.ClientOptions{
		URL: url, Secret: rig.Secret(callers[r.IntN(len(callers))]), Era: era, Capabilities: `{"elicitation":{"form":{}}}`,
		Listen: r.IntN(2) == 0, HTTP: &http.Client{Transport: transport},
		Answer: func(string, []byte) []byte { return []byte(`{"action":"accept","content":{}}`) },
	}
	c, err := peer.Dial(context.WithoutCancel(ctx), o)
	if err != nil {
		s.fault("a client cannot connect: %v", err)
		time.Sleep(time.Second) // not to fill the report
		return
	}
	s.count("clients")
	defer func() {
		if err := c.Close(); err != nil {
			s.fault("a session does not end: %v", err)
		}
	}()
	for i := range 5 + r.IntN(30) {
		if ctx.Err() != nil {
			return
		}
		nonce := fmt.Sprintf("%s call %d", name, i)
		switch n := r.IntN(100); {
		case n < 60:
			s.ordinary(c, o, r, nonce)
		case n < 70:
			s.several(c, o, r, nonce)
		case n < 80:
			s.list(c, r)
		case n < 88:
			s.leave(c, r, nonce)
		case n < 98 && era == peer.Handshake:
			s.cancel(c, r, nonce)
		case n >= 98:
			s.crash(c, r, nonce)
		}
	}
}

// mayFail says whether a call to an upstream may end with an error: those that crash, and
// the one that forgets its sessions, can lose a call that was under way.
func mayFail(upstream string) bool { return upstream != "plain" }

func (s *soak) ordinary(c *peer.Client, o peer.ClientOptions, r *rand.Rand, nonce string) {
	upstream := upstreams[r.IntN(len(upstreams))]
	tool := []string{"echo", "echo", "echo", "progress", "big", "ask", "slow"}[r.IntN(7)]
	members := fmt.Sprintf(`"name":"%s__%s","arguments":{"nonce":%q}`, upstream, tool, nonce)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	f, err := c.Call(ctx, "tools/call", c.Params(members))
	for range 3 { // questions
		var more struct {
			ResultType   string `json:"resultType"`
			RequestState string `json:"requestState"`
		}
		if err != nil || f.Result == nil || json.Unmarshal(f.Result, &more) != nil || more.ResultType != "input_required" {
			break
		}
		var asked struct {
			InputRequests map[string]any `json:"inputRequests"`
		}
		if err = json.Unmarshal(f.Result, &asked); err != nil {
			break
		}
		var answers []string
		for key := range asked.InputRequests {
			answers = append(answers, fmt.Sprintf(`%q:{"action":"accept","content":{}}`, key))
		}
		f, err = c.Call(ctx, "tools/call", c.Params(members+fmt.Sprintf(`,"requestState":%q,"inputResponses":{%s}`, more.RequestState, strings.Join(answers, ","))))
	}
	if err != nil {
		s.fault("%s of %s for a %v client: %v", tool, upstream, o.Era, err)
		return
	}
	s.check(f, upstream, tool, nonce)
}

// check holds an answer against its call.
func (s *soak) check(f *peer.Frame, upstream, tool, nonce string) {
	var result struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
		IsError bool `json:"isError"`
	}
	failed := f.Error != nil || json.Unmarshal(f.Result, &result) != nil || result.IsError || len(result.Content) != 1
	switch {
	case failed && mayFail(upstream):
		s.count("calls failed with their upstream")
	case failed:
		s.fault("%s of %s failed: %.300s%.300s", tool, upstream, f.Error, f.Result)
	case !strings.HasPrefix(result.Content[0].Text, nonce):
		s.fault("%s of %s: asked %q, the answer is for %.100q", tool, upstream, nonce, result.Content[0].Text)
	default:
		s.count("calls answered")
	}
}

func (s *soak) several(c *peer.Client, o peer.ClientOptions, r *rand.Rand, nonce string) {
	var all sync.WaitGroup
	for i := range 4 {
		own := rand.New(rand.NewPCG(r.Uint64(), 0))
		all.Go(func() { s.ordinary(c, o, own, fmt.Sprintf("%s of %s", string(rune('a'+i)), nonce)) })
	}
	all.Wait()
}

func (s *soak) list(c *peer.Client, r *rand.Rand) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	method := []string{"tools/list", "resources/list", "prompts/list"}[r.IntN(3)]
	f, err := c.Call(ctx, method, c.Params(""))
	if err != nil || f.Error != nil {
		s.fault("%s: %v %+v", method, err, f)
		return
	}
	s.count("lists")
}

// leave cuts the connection within a call.
func (s *soak) leave(c *peer.Client, r *rand.Rand, nonce string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(r.IntN(250))*time.Millisecond)
	defer cancel()
	upstream := upstreams[r.IntN(len(upstreams))]
	_, err := c.Call(ctx, "tools/call", c.Params(fmt.Sprintf(`"name":"%s__slow","arguments":{"nonce":%q}`, upstream, nonce)))
	if err == nil {
		s.count("calls answered before the client left")
		return
	}
	s.count("calls left")
}

// cancel cancels a call: it gets no answer, or the one that was on its way.
func (s *soak) cancel(c *peer.Client, r *rand.Rand, nonce string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	id := c.NextID()
	upstream := upstreams[r.IntN(len(upstreams))]
	var other sync.WaitGroup
	defer other.Wait()
	pause := time.Duration(r.IntN(200)) * time.Millisecond
	other.Go(func() {
		time.Sleep(pause)
		if err := c.Send(ctx, fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s,"reason":"soak"}}`, id)); err != nil {
			s.fault("a cancellation was refused: %v", err)
		}
	})
	f, err := c.CallID(ctx, id, "tools/call", c.Params(fmt.Sprintf(`"name":"%s__slow","arguments":{"nonce":%q}`, upstream, nonce)))
	switch {
	case errors.Is(err, peer.ErrNoAnswer):
		s.count("calls cancelled")
	case err != nil:
		var refused *peer.Refused
		if errors.As(err, &refused) && refused.Status/100 == 2 {
			s.count("calls cancelled")
			return
		}
		s.fault("a cancelled call: %v", err)
	default:
		s.check(f, upstream, "slow", nonce)
	}
}

// crash ends an upstream's process. The call that did it gets an error.
func (s *soak) crash(c *peer.Client, r *rand.Rand, nonce string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	upstream := upstreams[r.IntN(2)]
	f, err := c.Call(ctx, "tools/call", c.Params(fmt.Sprintf(`"name":"%s__crash","arguments":{"nonce":%q}`, upstream, nonce)))
	if err != nil {
		s.fault("the call that ended %s got no answer: %v", upstream, err)
		return
	}
	if f.Error == nil && !strings.Contains(string(f.Result), `"isError":true`) {
		s.fault("the call that ended %s succeeded: %.200s", upstream, f.Result)
	}
	s.count("crashes")
}
