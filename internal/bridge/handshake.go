package bridge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/upstream"
)

// HandshakeConn is a stateless server as a handshake client sees it. It is an
// [upstream.Conn] of the handshake era, safe for concurrent use.
type HandshakeConn struct {
	conn    upstream.Conn
	client  Client
	version string // that the client is spoken to in
	hello   []byte // the initialize result
	meta    []mcp.Edit
	can     capabilities // what the server declares
	asks    capabilities // what the client declares

	ctx    context.Context // ends with the conversation
	cancel context.CancelCauseFunc
	work   jobs
	out    *outbox
	open   openRequests

	mu      sync.Mutex
	ready   bool            // the client sent notifications/initialized
	level   []byte          // raw, as last set; nil: no logs
	ids     int             // the bridge's own ids, counted
	asked   map[string]*ask // by the key of the question's id
	streams []*stream
	subs    map[string]*stream // by URI: the stream that its updates are taken from

	beside delivery
}

// Handshake makes a stateless server speak to a handshake client. conn is a conversation with
// the server and discover its answer to server/discover. The result of the client's
// initialize is returned too; the bridge answers with it, should the request come to Do.
//
// Whatever conn sends beside requests must be given to [HandshakeConn.Beside].
func Handshake(conn upstream.Conn, discover mcp.Message, c Client) (*HandshakeConn, []byte, error) {
	if conn.Era() != upstream.Stateless {
		return nil, nil, fmt.Errorf("the server's conversation is of the %s era", conn.Era())
	}
	if discover.Error != nil {
		return nil, nil, errors.New("the server answered server/discover with an error")
	}
	if versions, ok := elements(at(discover.Result, "supportedVersions")); !ok || !slices.ContainsFunc(versions, func(v []byte) bool { return text(v) == mcp.V20260728 }) {
		return nil, nil, fmt.Errorf("the server does not speak %s", mcp.V20260728)
	}
	version := c.Version
	if version == "" {
		version = negotiated(text(at(c.Params, "protocolVersion")))
	}
	hello, err := initializeResult(discover.Result, version)
	if err != nil {
		return nil, nil, err
	}
	declared := modernCapabilities(at(c.Params, "capabilities"), version)
	h := &HandshakeConn{
		conn: conn, client: c, version: version, hello: hello,
		can: declares(at(discover.Result, "capabilities")), asks: declares(declared),
		asked: map[string]*ask{}, subs: map[string]*stream{},
		meta: []mcp.Edit{
			{Path: []string{"params", "_meta", keyVersion}, Value: quoted(mcp.V20260728)},
			{Path: []string{"params", "_meta", keyClientInfo}, Value: clientInfo(c.Params)},
		},
		beside: delivery{to: c.Beside},
	}
	h.asks.raw = declared
	h.ctx, h.cancel = context.WithCancelCause(context.Background())
	h.out = &outbox{ctx: h.ctx, conn: conn}
	watch(conn, h.ctx, h.cancel)
	return h, hello, nil
}

// watch ends the context of a bridge when the conversation below it is over.
func watch(conn upstream.Conn, ctx context.Context, cancel context.CancelCauseFunc) {
	go func() {
		select {
		case <-conn.Done():
			cancel(overCause(conn))
		case <-ctx.Done():
		}
	}()
}

func overCause(conn upstream.Conn) error {
	if err := conn.Err(); err != nil {
		return err
	}
	return errClosed
}

// Era is handshake.
func (h *HandshakeConn) Era() upstream.Era { return upstream.Handshake }

// Version is the version that the client is spoken to in.
func (h *HandshakeConn) Version() string { return h.version }

// Done is closed when the conversation with the server is over.
func (h *HandshakeConn) Done() <-chan struct{} { return h.conn.Done() }

// Err says why, once Done is closed.
func (h *HandshakeConn) Err() error { return h.conn.Err() }

// Close ends the conversation with the server, and all that is open.
func (h *HandshakeConn) Close(ctx context.Context) error {
	h.beside.close()
	h.cancel(errClosed)
	err := h.conn.Close(ctx)
	return errors.Join(err, h.work.close(ctx))
}

// Do answers what a stateless server has no request for, and carries the rest. Questions that
// the server asks for come through onMessage as requests, with ids of the bridge's; the
// answers to them are expected through [HandshakeConn.Send].
func (h *HandshakeConn) Do(ctx context.Context, m mcp.Message, onMessage func(mcp.Message)) (mcp.Message, error) {
	ctx, done := h.open.add(ctx, m.ID)
	defer done()
	if ctx.Err() != nil {
		return mcp.Message{}, context.Cause(ctx)
	}
	switch m.Method {
	case "initialize":
		return resultOf(m.ID, h.hello), nil
	case "ping":
		return resultOf(m.ID, []byte("{}")), nil
	case "logging/setLevel":
		return h.setLevel(m), nil
	case "resources/subscribe":
		return h.subscribe(ctx, m)
	case "resources/unsubscribe":
		return h.unsubscribe(m), nil
	case "server/discover", "subscriptions/listen":
		return refuse(mcp.CodeMethodNotFound, "a method of 2026-07-28, in a session that began with a handshake").Answer(m.ID), nil
	case "tasks/get", "tasks/result", "tasks/list", "tasks/cancel", "tasks/update":
		return refuse(mcp.CodeMethodNotFound, "the server is of 2026-07-28: the tasks of 2025-11-25 are not carried to it").Answer(m.ID), nil
	}
	d := &delivery{to: onMessage}
	defer d.close()
	answer, err := h.rounds(ctx, m, d)
	if err == nil {
		return answer, nil
	}
	var r *Refusal
	if errors.As(err, &r) {
		return r.Answer(m.ID), nil
	}
	return mcp.Message{}, err
}

// Send takes the answers to questions, and notifications. Those that a stateless server has
// no use for end here.
func (h *HandshakeConn) Send(ctx context.Context, m mcp.Message) error {
	if m.Kind == mcp.Response {
		h.answered(m)
		return nil
	}
	switch m.Method {
	case "notifications/initialized":
		h.begin()
		return nil
	case "notifications/cancelled":
		h.open.end(m)
		return nil
	case "notifications/roots/list_changed", "notifications/progress", "notifications/tasks/status":
		return nil
	}
	return h.conn.Send(ctx, m)
}

// Beside takes what the server sent that belongs to no request.
func (h *HandshakeConn) Beside(m mcp.Message) {
	switch m.Kind {
	case mcp.Request:
		h.refuseRequest(m)
	case mcp.Notification:
		h.notified(m)
	}
}

// refuseRequest answers a request of the server's: a stateless server has none.
func (h *HandshakeConn) refuseRequest(m mcp.Message) {
	if m.Method == "ping" {
		h.out.send(resultOf(m.ID, []byte("{}")))
		return
	}
	h.out.send(refuse(mcp.CodeInvalidRequest, "a server of 2026-07-28 asks with input_required, not with requests").Answer(m.ID))
}

// fromServer takes what the server sends during a request.
func (h *HandshakeConn) fromServer(d *delivery) func(mcp.Message) {
	return func(m mcp.Message) {
		switch {
		case m.Kind == mcp.Request:
			h.refuseRequest(m)
		case m.Kind == mcp.Notification:
			d.send(m)
		}
	}
}

// levels are the log levels, the most talkative first.
var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// levelOf is the place of a raw level in levels, -1 if it is none.
func levelOf(raw []byte) int { return slices.Index(levels, text(raw)) }

func (h *HandshakeConn) setLevel(m mcp.Message) mcp.Message {
	level := at(m.Params, "level")
	switch {
	case !h.can.logging:
		return refuse(mcp.CodeMethodNotFound, "the server does not declare logging").Answer(m.ID)
	case levelOf(level) < 0:
		return refuse(mcp.CodeInvalidParams, "no level of logging").Answer(m.ID)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.level = bytes.Clone(level)
	return resultOf(m.ID, []byte("{}"))
}

// nextID is an id of the bridge's own, of a request to either side.
func (h *HandshakeConn) nextID() mcp.ID {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ids++
	return mcp.StringID(fmt.Sprintf("sallyport/bridge-%d", h.ids))
}

// modern are the edits that make a request one of 2026-07-28.
func (h *HandshakeConn) modern(tasks bool) []mcp.Edit {
	h.mu.Lock()
	level := h.level
	h.mu.Unlock()
	raw := h.asks.raw
	if tasks {
		if with, err := mcp.RewriteObject(raw, mcp.Edit{Path: []string{"extensions", tasksExtension}, Value: []byte("{}")}); err == nil {
			raw = with
		}
	}
	return append(slices.Clip(h.meta),
		mcp.Edit{Path: []string{"params", "_meta", keyCapabilities}, Value: raw},
		mcp.Edit{Path: []string{"params", "_meta", keyLogLevel}, Value: level},
	)
}

// capabilities are those of a client or a server that a bridge must know.
type capabilities struct {
	raw                                      []byte
	logging, subscribe                       bool
	toolsChanged, promptsChanged, resChanged bool
	taskCalls                                bool

	roots, sampling, samplingTools bool
	form, url                      bool
	tasks                          bool // the extension
}

// declares reads raw capabilities of either side.
func declares(raw []byte) capabilities {
	c := capabilities{
		raw:            raw,
		logging:        isObject(at(raw, "logging")),
		subscribe:      isTrue(at(raw, "resources", "subscribe")),
		toolsChanged:   isTrue(at(raw, "tools", "listChanged")),
		promptsChanged: isTrue(at(raw, "prompts", "listChanged")),
		resChanged:     isTrue(at(raw, "resources", "listChanged")),
		taskCalls:      isObject(at(raw, "tasks", "requests", "tools", "call")),
		roots:          isObject(at(raw, "roots")),
		sampling:       isObject(at(raw, "sampling")),
		samplingTools:  isObject(at(raw, "sampling", "tools")),
		tasks:          isObject(at(raw, "extensions", tasksExtension)),
	}
	if elicitation := at(raw, "elicitation"); isObject(elicitation) {
		c.url = isObject(at(elicitation, "url"))
		c.form = isObject(at(elicitation, "form")) || !c.url
	}
	return c
}

// lacks says why a question may not be asked of whoever declared c; nil if it may.
func (c capabilities) lacks(method string, params []byte) *Refusal {
	switch method {
	case "roots/list":
		if !c.roots {
			return refuse(mcp.CodeMethodNotFound, "the client does not declare roots")
		}
	case "sampling/createMessage":
		if !c.sampling {
			return refuse(mcp.CodeMethodNotFound, "the client does not declare sampling")
		}
		if !c.samplingTools && (at(params, "tools") != nil || at(params, "toolChoice") != nil) {
			return refuse(mcp.CodeInvalidParams, "the client does not declare sampling with tools")
		}
	case "elicitation/create":
		switch mode := at(params, "mode"); {
		case !c.form && !c.url:
			return refuse(mcp.CodeMethodNotFound, "the client does not declare elicitation")
		case mode != nil && text(mode) != "form" && text(mode) != "url":
			return refuse(mcp.CodeInvalidParams, "a mode of elicitation that no version of the protocol has")
		case text(mode) == "url" && !c.url:
			return refuse(mcp.CodeInvalidParams, "the client does not declare elicitation by URL")
		case text(mode) != "url" && !c.form:
			return refuse(mcp.CodeInvalidParams, "the client does not declare elicitation by form")
		}
	default:
		return refuse(mcp.CodeMethodNotFound, "a question that no version of the protocol has")
	}
	return nil
}
