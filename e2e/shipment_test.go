package e2e

import (
	"context"
	"encoding/json/jsontext"
	json "encoding/json/v2"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/sallyport-dev/sallyport/e2e/peer"
)

// shipment is one request with all that belongs to it: what the client sends, what the
// server sends before its answer and asks, and the answer.
type shipment struct {
	method, params  string
	token           string   // the progress token, "" without one
	progress        []string // params of notifications; tokenMark stands for the token
	asks            []question
	result, failure string // one of the two
}

type question struct{ method, params, answer string }

const tokenMark = "TOKEN-OF-THE-REQUEST"

func (s *shipment) String() string {
	return fmt.Sprintf("%s with %d bytes of params and %d of result, %d questions", s.method, len(s.params), len(s.result), len(s.asks))
}

// shipment draws one.
func (r *randomJSON) shipment(p pairing) *shipment {
	s := &shipment{}
	var meta []string
	if p.client == peer.Stateless {
		meta = append(meta, peer.MetaMembers(askedCapabilities))
	}
	if r.IntN(3) == 0 {
		s.token = r.pick(`7`, `"token"`, `9007199254740993`, `"\u0074ök\/en"`, `-1`, `""`)
		meta = append(meta, `"progressToken":`+s.token)
		for i := range r.IntN(3) {
			s.progress = append(s.progress, r.object(2, `"progressToken":`+tokenMark, fmt.Sprintf(`"progress":%d.50`, i), `"message":`+r.text()))
		}
	}
	size := r.size()
	var params, result []string
	switch r.IntN(8) {
	case 0:
		s.method, params = "resources/read", []string{`"uri":"peer://fixed/1"`}
		result = []string{`"contents":` + r.list(r.IntN(3), func() string { return r.resource(size) })}
		if p.server == peer.Stateless {
			result = append(result, `"ttlMs":1000`, `"cacheScope":"private"`)
		}
	case 1:
		s.method, params = "prompts/get", []string{`"name":"fixed"`, `"arguments":{"a":` + r.text() + `}`}
		result = []string{`"messages":` + r.list(r.IntN(3), func() string { return r.object(1, `"role":"user"`, `"content":`+r.content(size)) })}
	case 2:
		s.method, params = "completion/complete", []string{`"ref":{"type":"ref/prompt","name":"fixed"}`, `"argument":{"name":"a","value":` + r.text() + `}`}
		result = []string{`"completion":` + r.object(1, `"values":`+r.list(r.IntN(4), r.text), `"hasMore":false`)}
	default:
		s.method, params = "tools/call", []string{`"name":"carry"`}
		if r.IntN(8) > 0 {
			params = append(params, `"arguments":`+r.object(4, `"text":`+r.long(r.size())))
		}
		result = r.toolResult(size)
		s.asks = r.questions()
	}
	s.params = r.object(1, append(params, r.meta(meta...)...)...)
	if p.server == peer.Stateless {
		result = append(result, `"resultType":"complete"`)
	}
	if r.IntN(8) == 0 {
		s.failure = r.object(2, fmt.Sprintf(`"code":%d`, -32000-r.IntN(20)), `"message":`+r.text(), `"data":`+r.value(3))
		return s
	}
	s.result = r.object(2, append(result, r.meta()...)...)
	return s
}

func (r *randomJSON) toolResult(size int) []string {
	result := []string{`"content":` + r.list(r.IntN(4), func() string { return r.content(size) })}
	if r.IntN(2) == 0 {
		result = append(result, `"structuredContent":`+r.object(4))
	}
	if r.IntN(4) == 0 {
		result = append(result, `"isError":`+r.pick("true", "false"))
	}
	return result
}

// questions are none, mostly.
func (r *randomJSON) questions() []question {
	if r.IntN(4) > 0 {
		return nil
	}
	var all []question
	for i := range 1 + r.IntN(2) {
		name := fmt.Sprintf(`ask-%d`, i)
		if r.IntN(2) == 0 {
			all = append(all, question{
				"elicitation/create",
				r.object(2, `"message":"`+name+`"`, `"requestedSchema":{"type":"object","properties":{"n":{"type":"integer"}}}`),
				r.object(2, `"action":"accept"`, `"content":{"n": 12345678901234567890}`),
			})
			continue
		}
		all = append(all, question{
			"sampling/createMessage",
			r.object(2, `"systemPrompt":"`+name+`"`, `"maxTokens":1e2`, `"messages":[{"role":"user","content":{"type":"text","text":`+r.text()+`}}]`),
			r.object(2, `"role":"assistant"`, `"model":"m"`, `"content":{"type":"text","text":`+r.text()+`}`),
		})
	}
	return all
}

const largestSize = 32 << 20

// largest are one request and one result of 32 MiB.
func (r *randomJSON) largest(p pairing) []*shipment {
	text := r.long(largestSize)
	call := func(text string) string {
		if p.client == peer.Stateless {
			return `{"name":"carry","arguments":{"text":` + text + `},"_meta":{` + peer.MetaMembers(askedCapabilities) + `}}`
		}
		return `{"name":"carry","arguments":{"text":` + text + `}}`
	}
	result := func(text string) string {
		if p.server == peer.Stateless {
			return `{"content":[{"type":"text","text":` + text + `}],"resultType":"complete"}`
		}
		return `{"content":[{"type":"text","text":` + text + `}]}`
	}
	return []*shipment{
		{method: "tools/call", params: call(text), result: result(`"taken"`)},
		{method: "tools/call", params: call(`"give"`), result: result(text)},
	}
}

// serve answers as the shipment of the moment says.
func (w *world) serve(ctx context.Context, q *peer.Request) {
	var cache string
	if w.era == peer.Stateless {
		cache = `,"resultType":"complete","ttlMs":0,"cacheScope":"private"`
	}
	switch q.Method {
	case "tools/list":
		q.Reply([]byte(`{"tools":[{"name":"carry","inputSchema":{"type":"object"}}]` + cache + `}`))
		return
	case "resources/list":
		q.Reply([]byte(`{"resources":[{"uri":"peer://fixed/1","name":"fixed"}]` + cache + `}`))
		return
	case "resources/templates/list":
		q.Reply([]byte(`{"resourceTemplates":[]` + cache + `}`))
		return
	case "prompts/list":
		q.Reply([]byte(`{"prompts":[{"name":"fixed","arguments":[{"name":"a"}]}]` + cache + `}`))
		return
	}
	w.mu.Lock()
	s := w.now
	w.mu.Unlock()
	answers, more := w.ask(ctx, q, s)
	if more {
		return
	}
	w.mu.Lock()
	if w.seen.params == nil {
		w.seen.params = q.Params
	}
	for k, v := range answers {
		w.seen.answers[k] = v
	}
	w.mu.Unlock()
	for _, p := range s.progress {
		q.Notify("notifications/progress", []byte(strings.ReplaceAll(p, tokenMark, string(q.ProgressToken()))))
	}
	if s.failure != "" {
		q.Fail([]byte(s.failure))
		return
	}
	q.Reply([]byte(s.result))
}

// ask puts the shipment's questions to the client. more says that the answers come with
// another request.
func (w *world) ask(ctx context.Context, q *peer.Request, s *shipment) (answers map[string][]byte, more bool) {
	answers = map[string][]byte{}
	if len(s.asks) == 0 {
		return answers, false
	}
	if w.era == peer.Handshake {
		for i, a := range s.asks {
			if f, err := q.Ask(ctx, a.method, []byte(a.params)); err == nil {
				answers[fmt.Sprintf("ask-%d", i)] = f.Result
			}
		}
		return answers, false
	}
	var p struct {
		RequestState   string                    `json:"requestState"`
		InputResponses map[string]jsontext.Value `json:"inputResponses"`
	}
	if err := json.Unmarshal(q.Params, &p); err == nil && p.RequestState == "state of "+s.method {
		for k, v := range p.InputResponses {
			answers[k] = v
		}
		return answers, false
	}
	w.mu.Lock()
	w.seen.params = q.Params
	w.mu.Unlock()
	var asks []string
	for i, a := range s.asks {
		asks = append(asks, fmt.Sprintf(`"ask-%d":{"method":%q,"params":%s}`, i, a.method, a.params))
	}
	q.Reply([]byte(`{"resultType":"input_required","requestState":"state of ` + s.method + `","inputRequests":{` + strings.Join(asks, ",") + `}}`))
	return nil, true
}

// asked is a client that answers a server's questions as the shipment says, in the way
// of its era.
type asked struct {
	*peer.Client
	era peer.Era

	mu  sync.Mutex
	now *shipment
	got delivery
}

// delivery is what came to the client.
type delivery struct {
	frame    *peer.Frame
	progress []string
	asked    map[string]string // params by the name of the question
}

const askedCapabilities = `{"sampling":{},"elicitation":{"form":{}}}`

func newAsked(t *testing.T, era peer.Era, url, secret string) *asked {
	t.Helper()
	c := &asked{era: era}
	var err error
	c.Client, err = peer.Dial(t.Context(), peer.ClientOptions{
		URL: url, Secret: secret, Era: era, Capabilities: askedCapabilities, Answer: c.answer, Notice: c.notice,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Client.Close() })
	return c
}

var askName = regexp.MustCompile(`ask-\d`)

func (c *asked) answer(method string, params []byte) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := string(askName.Find(params))
	for i, a := range c.now.asks {
		if name == fmt.Sprintf("ask-%d", i) && a.method == method && c.got.asked[name] == "" {
			c.got.asked[name] = string(params)
			return []byte(a.answer)
		}
	}
	return nil
}

func (c *asked) notice(method string, params []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if method == "notifications/progress" {
		c.got.progress = append(c.got.progress, string(params))
	}
}

// call sends the shipment's request and, while the answer to it is a question, again with
// what was asked for.
func (c *asked) call(ctx context.Context, s *shipment) (*delivery, error) {
	c.mu.Lock()
	c.now, c.got = s, delivery{asked: map[string]string{}}
	c.mu.Unlock()
	params := s.params
	for range 1 + 2*len(s.asks) {
		f, err := c.Call(ctx, s.method, []byte(params))
		if err != nil {
			return nil, err
		}
		var more struct {
			ResultType    string         `json:"resultType"`
			RequestState  jsontext.Value `json:"requestState"`
			InputRequests map[string]struct {
				Method string         `json:"method"`
				Params jsontext.Value `json:"params"`
			} `json:"inputRequests"`
		}
		if f.Result != nil && c.era == peer.Stateless {
			if err := json.Unmarshal(f.Result, &more); err != nil {
				return nil, err
			}
		}
		if more.ResultType != "input_required" {
			c.mu.Lock()
			defer c.mu.Unlock()
			got := c.got
			got.frame = f
			return &got, nil
		}
		var answers []string
		for key, q := range more.InputRequests {
			answers = append(answers, fmt.Sprintf("%q:%s", key, c.answer(q.Method, q.Params)))
		}
		params = strings.TrimRight(s.params, " \t")
		params = params[:len(params)-1] + `,"inputResponses":{` + strings.Join(answers, ",") + `}`
		if more.RequestState != nil {
			params += `,"requestState":` + string(more.RequestState)
		}
		params += "}"
	}
	return nil, fmt.Errorf("still asked after %d questions", len(s.asks))
}
