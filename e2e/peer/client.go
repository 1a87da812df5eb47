package peer

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	json "encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
)

// ClientOptions say how to connect.
type ClientOptions struct {
	URL    string
	Secret string // the bearer token, "" for none
	Era    Era
	// Capabilities is a JSON object; {} without it.
	Capabilities string
	// Answer gives the result for a request of the server's, as raw JSON. Without it, and
	// where it returns nil, the server gets an error. It may be called at the same time.
	Answer func(method string, params []byte) []byte
	// Notice gets each notification. It may be called at the same time.
	Notice func(method string, params []byte)
	// Listen opens the stream for what belongs to no request: GET in the handshake era. A
	// stateless client listens with Stream.
	Listen bool
	// HTTP is the client to use; http.DefaultClient without it.
	HTTP *http.Client
}

// Client is a client of one session. Its methods may be called at the same time.
type Client struct {
	opt     ClientOptions
	session string
	next    atomic.Int64

	stop    context.CancelFunc
	streams sync.WaitGroup
	// Initialize is the result of the handshake.
	Initialize jsontext.Value
}

// Refused is an answer that is no JSON-RPC message for the request.
type Refused struct {
	Status int
	Body   string
}

// Error shows the status and the beginning of the body.
func (r *Refused) Error() string { return fmt.Sprintf("HTTP %d: %.300s", r.Status, r.Body) }

// ErrNoAnswer is for a stream that ended without the answer to its request.
var ErrNoAnswer = errors.New("the stream ended without an answer")

// Dial connects: with a handshake in that era, with nothing at all in the stateless one.
func Dial(ctx context.Context, o ClientOptions) (*Client, error) {
	if o.Capabilities == "" {
		o.Capabilities = "{}"
	}
	if o.HTTP == nil {
		o.HTTP = http.DefaultClient
	}
	base, stop := context.WithCancel(context.WithoutCancel(ctx))
	c := &Client{opt: o, stop: stop}
	if o.Era == Stateless {
		return c, nil
	}
	f, err := c.Call(ctx, "initialize", []byte(`{"protocolVersion":"`+HandshakeVersion+`","capabilities":`+o.Capabilities+`,"clientInfo":{"name":"peer","version":"1"}}`))
	if err == nil && f.Error != nil {
		err = fmt.Errorf("initialize: %s", f.Error)
	}
	if err == nil {
		c.Initialize = f.Result
		err = c.Send(ctx, []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	}
	if err == nil && o.Listen {
		err = c.listen(base)
	}
	if err != nil {
		c.Close() //nolint:errcheck // the first error says more
		return nil, err
	}
	return c, nil
}

// Session is the session's id, "" if there is none.
func (c *Client) Session() string { return c.session }

// Params makes params out of members without braces, "" for none, and adds the _meta
// that the era needs. The members must have no _meta.
func (c *Client) Params(members string) []byte {
	switch {
	case c.opt.Era == Handshake:
		return []byte("{" + members + "}")
	case members == "":
		return []byte(`{"_meta":{` + MetaMembers(c.opt.Capabilities) + `}}`)
	}
	return []byte("{" + members + `,"_meta":{` + MetaMembers(c.opt.Capabilities) + `}}`)
}

// NextID is an id that the client has not used.
func (c *Client) NextID() string { return fmt.Sprint(c.next.Add(1)) }

// Call sends a request under the next id and waits for its answer.
func (c *Client) Call(ctx context.Context, method string, params []byte) (*Frame, error) {
	return c.CallID(ctx, c.NextID(), method, params)
}

// CallID is Call under an id of the caller's, as JSON.
func (c *Client) CallID(ctx context.Context, id, method string, params []byte) (*Frame, error) {
	var frame bytes.Buffer
	fmt.Fprintf(&frame, `{"jsonrpc":"2.0","id":%s,"method":%q`, id, method)
	if params != nil {
		frame.WriteString(`,"params":`)
		frame.Write(params)
	}
	frame.WriteByte('}')
	return c.Exchange(ctx, id, method, params, frame.Bytes())
}

// Exchange posts a frame, which is a request with the given id, and reads what comes back
// to its end. More than one answer, or an answer to something else, is an error.
func (c *Client) Exchange(ctx context.Context, id, method string, params, frame []byte) (*Frame, error) {
	resp, err := c.post(ctx, method, params, frame)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if method == "initialize" && resp.StatusCode == http.StatusOK {
		c.session = resp.Header.Get("Mcp-Session-Id")
	}
	var answer *Frame
	take := func(data []byte) error {
		var f Frame
		if err := json.Unmarshal(data, &f); err != nil {
			return fmt.Errorf("no frame: %w: %.200s", err, data)
		}
		if f.Method != "" {
			c.incoming(ctx, &f)
			return nil
		}
		if answer != nil {
			return fmt.Errorf("a second answer to %s: %.200s", id, data)
		}
		if string(f.ID) != id {
			return fmt.Errorf("the answer to %s came on the stream of %s: %.200s", f.ID, id, data)
		}
		if (f.Result == nil) == (f.Error == nil) {
			return fmt.Errorf("neither result nor error: %.200s", data)
		}
		answer = &f
		return nil
	}
	if isStream(resp.Header) {
		err = readEvents(resp.Body, take)
	} else {
		var body []byte
		if body, err = io.ReadAll(resp.Body); err == nil && take(body) != nil {
			return nil, &Refused{resp.StatusCode, string(body)}
		}
	}
	if answer == nil && err == nil {
		err = ErrNoAnswer
	}
	return answer, err
}

// Send posts a notification or an answer.
func (c *Client) Send(ctx context.Context, frame []byte) error {
	resp, err := c.post(ctx, "", nil, frame)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode/100 != 2 {
		err = &Refused{resp.StatusCode, string(body)}
	}
	return err
}

// incoming handles a request or notification of the server's.
func (c *Client) incoming(ctx context.Context, f *Frame) {
	if f.ID == nil {
		if c.opt.Notice != nil {
			c.opt.Notice(f.Method, f.Params)
		}
		return
	}
	var result []byte
	if c.opt.Answer != nil {
		result = c.opt.Answer(f.Method, f.Params)
	}
	if result == nil {
		c.Send(ctx, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"not here"}}`, f.ID)) //nolint:errcheck // the server notices
		return
	}
	c.Send(ctx, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, f.ID, result)) //nolint:errcheck // the server notices
}

func (c *Client) post(ctx context.Context, method string, params, frame []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.opt.URL, bytes.NewReader(frame))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	c.headers(req)
	if c.opt.Era == Stateless {
		req.Header.Set("Mcp-Method", method)
		if name, ok := target(method, params); ok {
			req.Header.Set("Mcp-Name", headerValue(name))
		}
	}
	return c.opt.HTTP.Do(req)
}

func (c *Client) headers(req *http.Request) {
	req.Header.Set("Accept", "application/json, text/event-stream")
	if c.opt.Secret != "" {
		req.Header.Set("Authorization", "Bearer "+c.opt.Secret)
	}
	if c.session != "" {
		req.Header.Set("Mcp-Session-Id", c.session)
	}
	switch {
	case c.opt.Era == Stateless:
		req.Header.Set("Mcp-Protocol-Version", StatelessVersion)
	case c.session != "":
		req.Header.Set("Mcp-Protocol-Version", HandshakeVersion)
	}
}

// listen opens the session's own stream. It returns once the server has begun it.
func (c *Client) listen(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.opt.URL, nil)
	if err != nil {
		return err
	}
	c.headers(req)
	resp, err := c.opt.HTTP.Do(req)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK || !isStream(resp.Header) {
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body) //nolint:errcheck // the status says enough
		return &Refused{resp.StatusCode, string(body)}
	}
	c.streams.Go(func() {
		defer resp.Body.Close()
		readEvents(resp.Body, func(data []byte) error { //nolint:errcheck // it ends when the session ends
			var f Frame
			if err := json.Unmarshal(data, &f); err == nil && f.Method != "" {
				c.incoming(ctx, &f)
			}
			return nil
		})
	})
	return nil
}

// Close ends the session and its streams.
func (c *Client) Close() error {
	defer c.streams.Wait()
	defer c.stop()
	if c.session == "" {
		return nil
	}
	req, err := http.NewRequest(http.MethodDelete, c.opt.URL, nil)
	if err != nil {
		return err
	}
	c.headers(req)
	resp, err := c.opt.HTTP.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// Abandon leaves the session as a client does that is killed.
func (c *Client) Abandon() {
	c.stop()
	c.streams.Wait()
}
