package gateway

import (
	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/quote"
)

// taskTable says which upstream gave a task to a caller. A task outlives the session in
// which it began, and its id is known to nobody else: an id that is not here is refused,
// wherever the client has it from. Guarded by Gateway.mu.
type taskTable struct {
	of  map[string]string // upstream by task id
	age []string
}

func (g *Gateway) noteTask(caller, id, upstream string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.tasks[caller]
	if t == nil {
		t = &taskTable{of: make(map[string]string)}
		g.tasks[caller] = t
	}
	if _, known := t.of[id]; known {
		return // the first that gave it keeps it
	}
	t.of[id] = upstream
	t.age = append(t.age, id)
	for len(t.age) > maxTasks {
		delete(t.of, t.age[0])
		t.age = t.age[1:]
	}
}

func (g *Gateway) taskOf(caller, id string) (upstream string, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.tasks[caller]
	if t == nil {
		return "", false
	}
	upstream, ok = t.of[id]
	return upstream, ok
}

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

// noticeTask remembers who has the task that a call became.
func (s *session) noticeTask(l *link, c *call, m mcp.Message) {
	if c.m.Method != "tools/call" {
		return
	}
	id := createdTask(m.Result)
	if id == "" || len(id) > mcp.MaxID {
		return
	}
	s.g.noteTask(s.name, id, l.place.Name)
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
	s.taskTokens[g.id.Key()] = taskToken{l, g.token}
}

// task takes a request about a task to the upstream that gave it.
func (c *call) task() {
	s, u := c.s, c.s.setup()
	if c.m.Method == "tasks/list" {
		c.listTasks(u)
		return
	}
	id, ok := param(c.m, "taskId")
	if !ok {
		c.fail(mcp.CodeInvalidParams, "params.taskId has to be a string")
		return
	}
	name, ok := s.g.taskOf(s.name, id)
	p := u.place(name)
	if !ok || p == nil {
		c.refuse(mcp.CodeInvalidParams, c.m.Method, id, "unknown task "+quote.Value(id, 100))
		return
	}
	c.to(p, nil)
}

// listTasks lists the caller's own tasks. A server may hold those of others under the
// gateway's one name.
func (c *call) listTasks(u *setup) {
	s := c.s
	own := func(p *place, m mcp.Message) mcp.Message {
		return mcp.FilterList(m, "tasks", func(element []byte) bool {
			f, err := mcp.Fields(element, "taskId")
			if err != nil {
				return true
			}
			id, _ := mcp.Str(f[0])
			upstream, ok := s.g.taskOf(s.name, id)
			return !ok || upstream != p.Name
		})
	}
	if u.naming.passes() {
		c.to(u.places[0], func(m mcp.Message) { c.answer(own(u.places[0], m)) })
		return
	}
	b := []byte(`{"tasks":[`)
	start := len(b)
	for _, l := range s.openAll(c.ctx, u, false) {
		if l.hello.capabilities.Get("tasks").Len() == 0 {
			continue
		}
		found := &listedBy{link: l}
		if err := s.pagesOf(c.ctx, kindInfo{method: c.m.Method, list: "tasks"}, found, c.m, func(m mcp.Message) mcp.Message { return own(l.place, m) }); err != nil {
			s.log.Warn("an upstream's tasks are absent", "upstream", l.place.Name, "reason", err)
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
