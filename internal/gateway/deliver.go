package gateway

import (
	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/internal/upstream"
)

// toClient takes what the relay lets through to the client. It does not wait for it.
func (l *link) toClient(m mcp.Message, about mcp.ID) {
	switch m.Kind {
	case mcp.Response:
		if g := l.s.takeLeg(m.ID); g != nil {
			g.take(m)
		}
	case mcp.Request:
		l.asks(m, l.s.leg(about))
	case mcp.Notification:
		l.notifies(m, about)
	}
}

// notifies takes a notification of the server's to where it belongs.
func (l *link) notifies(m mcp.Message, about mcp.ID) {
	s := l.s
	g := s.leg(about)
	switch m.Method {
	case methodProgress:
		l.progress(m)
		return
	case methodCancelled:
		l.serverCancels(m)
		return
	case "notifications/tools/list_changed":
		s.stale(l.place, tools)
	case "notifications/prompts/list_changed":
		s.stale(l.place, prompts)
	case "notifications/resources/list_changed":
		s.stale(l.place, resources)
		s.stale(l.place, templates)
	}
	switch {
	case g != nil && g.beside != nil:
		g.beside(m)
	case g != nil && g.call != nil:
		g.call.tell(m)
	case s.era == upstream.Stateless: // nobody listens
	default:
		s.tell(m)
	}
}

// tell puts a notification on the call's own stream.
func (c *call) tell(m mcp.Message) {
	if !c.box.put(letter{frame: m.Raw}) {
		c.s.log.Debug("a notification about a call is dropped", "method", quote.Text(m.Method, 64))
	}
}

// tell puts a notification on the session's stream.
func (s *session) tell(m mcp.Message) {
	if err := s.sendOwn(m.Raw); err != nil {
		s.log.Debug("a notification is dropped", "method", quote.Text(m.Method, 64), "reason", err)
	}
}

var progressPath = []string{"params", "progressToken"}

// progress takes a progress notification to the call that it is about, under the client's
// own token. One for a token that is not in use is dropped: there are clients that give up
// on a server for it.
func (l *link) progress(m mcp.Message) {
	f, err := mcp.Fields(m.Params, "progressToken")
	if err != nil {
		return
	}
	id, err := mcp.ParseID(f[0])
	if err != nil {
		return
	}
	if g := l.s.leg(id); g != nil && g.at.Load() == l && g.call != nil && g.token != nil {
		if m, err := mcp.Rewrite(m, mcp.Edit{Path: progressPath, Value: g.token}); err == nil {
			g.call.tell(m)
		}
		return
	}
	if t, ok := l.s.taskToken(l, id); ok {
		if m, err := mcp.Rewrite(m, mcp.Edit{Path: progressPath, Value: t}); err == nil {
			l.s.tell(m)
		}
	}
}

// subscription ids stand in the _meta of what belongs to a subscriptions/listen.
var (
	subscriptionInParams = []string{"params", "_meta", metaPrefix + "subscriptionId"}
	subscriptionInResult = []string{"result", "_meta", metaPrefix + "subscriptionId"}
)
