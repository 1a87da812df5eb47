package gateway

import (
	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/quote"
)

// A task belongs to the session in which it began: the relay of its upstream remembers it,
// records what comes of it, and refuses every other id.

// taskToken is a progress token that outlives its call, because its call became a task.
type taskToken struct {
	link *link
	raw  []byte // the client's token
}

func (s *session) taskToken(l *link, id mcp.ID) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.taskTokens[id.Key()]
	return t.raw, ok && t.link == l
}

// createdTask reads the task that a result begins: of 2025-11-25 under task, of the
// extension in the result itself.
func createdTask(result []byte) string {
	f, err := mcp.Fields(result, "task", "resultType", "taskId")
	if err != nil {
		return ""
	}
	if f[0] != nil && f[0][0] == '{' {
		if f, err = mcp.Fields(f[0], "taskId"); err != nil {
			return ""
		}
		id, _ := mcp.Str(f[0])
		return id
	}
	if kind, _ := mcp.Str(f[1]); kind == "task" {
		id, _ := mcp.Str(f[2])
		return id
	}
	return ""
}

// noticeTask keeps the progress token of a call that became a task.
func (s *session) noticeTask(c *call, m mcp.Message) {
	if c.m.Method != "tools/call" || createdTask(m.Result) == "" {
		return
	}
	c.mu.Lock()
	var g *leg
	if len(c.legs) > 0 {
		g = c.legs[len(c.legs)-1]
	}
	c.mu.Unlock()
	if g == nil || g.token == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.taskTokens {
		if len(s.taskTokens) < maxTaskTokens {
			break
		}
		delete(s.taskTokens, key)
	}
	s.taskTokens[g.id.Key()] = taskToken{g.at.Load(), g.token}
}

// task takes a request about a task to the upstream that gave it.
func (c *call) task() {
	s, u := c.s, c.s.setup()
	switch {
	case u.naming.passes():
		c.to(u.places[0], nil)
		return
	case c.m.Method == "tasks/list":
		c.listTasks(u)
		return
	}
	id, ok := param(c.m, "taskId")
	if !ok {
		c.fail(mcp.CodeInvalidParams, "params.taskId has to be a string")
		return
	}
	var of *link
	for _, l := range s.openLinks() {
		if !l.isReady() || !l.relay.HasTask(id) {
			continue
		}
		if of != nil { // two servers gave the same id
			of = nil
			break
		}
		of = l
	}
	if of == nil {
		c.refuse(mcp.CodeInvalidParams, c.m.Method, id, "unknown task "+quote.Value(id, 100))
		return
	}
	c.to(of.place, nil)
}

// listTasks joins the tasks of all upstreams; each relay leaves out what is not this
// client's.
func (c *call) listTasks(u *setup) {
	s := c.s
	b := []byte(`{"tasks":[`)
	start := len(b)
	for _, l := range s.openAll(c.ctx, u, false) {
		if l.hello.capabilities.Get("tasks").Len() == 0 {
			continue
		}
		found := &listedBy{link: l}
		if err := s.pages(c.ctx, kindInfo{method: c.m.Method, list: "tasks"}, found, c.m); err != nil {
			s.log.Warn("an upstream's tasks are absent", "upstream", l.place.Name, "reason", err)
			continue
		}
		for _, e := range found.elements {
			if len(b) > start {
				b = append(b, ',')
			}
			b = append(b, e...)
		}
	}
	c.result(append(b, "]}"...))
}
