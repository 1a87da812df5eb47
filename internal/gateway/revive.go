package gateway

import (
	"errors"
	"time"

	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/relay"
	"github.com/sallyport-dev/sallyport/internal/upstream"
)

// sub is a resource that the client has subscribed to.
type sub struct{ place *place }

// catchUp tells a server that has just been opened what the client said to all of them.
func (l *link) catchUp() {
	s := l.s
	l.mu.Lock()
	l.listens = true
	l.mu.Unlock()
	if s.era == upstream.Stateless {
		return
	}
	s.mu.Lock()
	initialized, level := s.initialized, s.logLevel
	var uris []string
	for uri, sub := range s.subscribed {
		if sub.place.Name == l.place.Name { // a reload may have replaced it
			uris = append(uris, uri)
		}
	}
	s.mu.Unlock()
	if !initialized {
		return
	}
	m, _ := mcp.Parse(mcp.NewNotification(methodInitialized, nil))
	l.tellInitialized(m)
	if level != nil && l.hello.logging {
		l.tellAgain(methodSetLevel, append(append([]byte(`{"level":`), level...), '}'))
	}
	for _, uri := range uris {
		l.tellAgain(methodSubscribe, append(append([]byte(`{"uri":`), rawText(uri)...), '}'))
	}
}

// tellAgain repeats a request of the client's to a server that came back. The answer is of
// no use to it, and nobody is asked: a server could have the question shown as often as it
// goes away.
func (l *link) tellAgain(method string, params []byte) {
	m, bad := mcp.Parse(mcp.NewRequest(mcp.IntID(0), method, params))
	if bad != nil {
		return
	}
	go func() {
		if answer, err := l.s.ask(relay.AskNobody(l.ctx), l, m); err == nil && answer.Error != nil {
			l.s.log.Warn("an upstream that came back refuses what it had taken before", "upstream", l.place.Name, "method", method)
		}
	}()
}

// Times between two tries to reach an upstream that is down. The upstream itself keeps a
// pause after each that failed.
const (
	firstRetry = time.Second
	lastRetry  = time.Minute
)

// revive opens an upstream again as soon as it can be reached, for a client that would not
// ask: it has been told of its tools, or waits to be. Stateless clients ask with every
// request.
func (s *session) revive(p *place) {
	if s.era == upstream.Stateless {
		return
	}
	s.mu.Lock()
	tried := s.reviving[p]
	s.reviving[p], s.absent[p] = true, true
	s.mu.Unlock()
	if !tried {
		go s.retry(p)
	}
}

func (s *session) retry(p *place) {
	defer func() {
		s.mu.Lock()
		delete(s.reviving, p)
		s.mu.Unlock()
	}()
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-s.ctx.Done():
			t.Stop()
			return
		}
		if s.setup().place(p.Name) != p {
			return
		}
		_, err := s.link(s.ctx, p)
		if err == nil {
			return
		}
		var paused *upstream.Paused
		if errors.As(err, &paused) {
			wait = max(wait/2, min(time.Until(paused.Until), lastRetry))
		}
	}
}

// linked tells a client that what an upstream has is there, if it could not see that it is.
func (s *session) linked(l *link) {
	s.mu.Lock()
	was := s.absent[l.place]
	delete(s.absent, l.place)
	s.mu.Unlock()
	if was {
		s.log.Info("an upstream is there", "upstream", l.place.Name)
		s.announce(l.hello.has)
	}
}

// announce says that lists have changed, to a client that was told that they can.
func (s *session) announce(which [kindCount]bool) {
	s.mu.Lock()
	greeted, can := s.greeted, s.announces
	s.mu.Unlock()
	if !greeted || s.era == upstream.Stateless {
		return
	}
	for k, method := range changedMethods {
		if method != "" && which[k] && can[k] {
			m, _ := mcp.Parse(mcp.NewNotification(method, nil))
			s.tell(m)
		}
	}
}

// changedMethods say that a list has changed. Templates change with the resources.
var changedMethods = [kindCount]string{
	tools: "notifications/tools/list_changed", prompts: "notifications/prompts/list_changed", resources: "notifications/resources/list_changed",
}
