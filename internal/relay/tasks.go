package relay

import (
	"time"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// A call that goes on as a task (2025-11-25, "Tasks"; from 2026-07-28 the extension of
// SEP-2663) is answered with the task's id; what the tool says comes later, in the answer of
// tasks/result, or in that of tasks/get or in notifications/tasks. It is the tool's output
// then as it is otherwise: the call's decision is kept for its labels.

// task is one that a call of the client's began.
type task struct {
	began *call // nil: the server gave the id twice, and whose task it is is not known

	// Guarded by Relay.mu.
	told bool // how it ended was recorded
}

// Limits of tasks.
const (
	maxTasks  = 1_024 // of each direction remembered; the oldest is forgotten first
	maxTaskID = 1_024 // bytes
)

const notBegun = "no task that was begun through this gateway in this session, or one that was forgotten"

// HasTask reports that a call through this relay began the task and the relay remembers it.
func (r *Relay) HasTask(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tasks[id] != nil
}

// judgeTask lets a request through that is about a task of this client's.
func (r *Relay) judgeTask(c *call, m mcp.Message) (why string) {
	f, err := mcp.Fields(m.Params, "taskId", "inputResponses")
	if err != nil {
		return "its params cannot be read"
	}
	id, ok := mcp.Str(f[0])
	if !ok {
		return "params.taskId has to be a string"
	}
	if len(id) <= maxTaskID {
		c.target = id
	}
	r.mu.Lock()
	c.task = r.tasks[id]
	r.mu.Unlock()
	if c.task == nil {
		return "params.taskId names " + notBegun
	}
	if m.Method == "tasks/update" {
		c.content, why = inputResponses(f[1])
		c.args = c.content
	}
	return why
}

// unknownTask reports an element of tasks/list that is no task of this client's: it could
// do nothing with it.
func (r *Relay) unknownTask(element []byte) bool {
	f, err := mcp.Fields(element, "taskId")
	if err != nil {
		return true
	}
	id, ok := mcp.Str(f[0])
	return !ok || !r.HasTask(id)
}

// begin remembers the task that answers c. false: the call was answered for good.
func (r *Relay) begin(c *call, v doc.Value) bool {
	if c.method != "tools/call" {
		return false
	}
	t := v
	if marked := v.Get("resultType").String() == "task"; !marked || v.Get("taskId").Kind() != doc.String {
		if t = v.Get("task"); !marked && !c.asTask {
			return false
		}
	}
	id := t.Get("taskId")
	if id.Kind() != doc.String || id.String() == "" || len(id.String()) > maxTaskID {
		r.log.Warn("the server answered with a task whose id is no string of 1 to 1024 bytes: it cannot be asked about", "server", r.opt.Upstream)
		return false
	}
	c.judged, c.args, c.ctx = nil, sallyport.Value{}, nil // done with
	over := ended(t.Get("status").String())

	r.mu.Lock()
	if r.ended {
		r.mu.Unlock()
		return false
	}
	var gone []*call
	if before := r.tasks[id.String()]; before != nil {
		if before.began != nil {
			gone = append(gone, before.began)
		}
		gone = append(gone, c)
		r.tasks[id.String()] = &task{told: true}
	} else {
		r.tasks[id.String()] = &task{began: c}
		r.taskAge = append(r.taskAge, id.String())
	}
	for len(r.taskAge) > maxTasks {
		if t := r.tasks[r.taskAge[0]]; t.began != nil {
			gone = append(gone, t.began)
		}
		delete(r.tasks, r.taskAge[0])
		r.taskAge = r.taskAge[1:]
	}
	writes := c.writes
	r.mu.Unlock()

	for _, g := range gone {
		r.opt.Session.Forget(g.decision.ID) // a write's slot is another matter
	}
	switch {
	case !writes:
	case over:
		r.releaseWrite(c)
	default:
		time.AfterFunc(r.opt.TaskGrace, func() { r.releaseWrite(c) })
	}
	return true
}

// ended reports a status that does not change any more.
func ended(status string) bool {
	return status == "completed" || status == "failed" || status == "cancelled"
}

// observeTask records what a server says of a task: the answer to method, or the params of
// a notification. body is v as it was received.
func (r *Relay) observeTask(t *task, method string, v doc.Value, body []byte, isError bool) {
	if t.began == nil {
		r.opt.Session.Observe(sallyport.Output{Upstream: r.opt.Upstream, Tool: method, Value: v})
		return
	}
	c := t.began
	var result doc.Value
	rest := v
	switch {
	case method == "tasks/result":
		result, rest = v, doc.Value{}
	case isError:
	case v.Get("result").Kind() == doc.Object: // recorded once: as the tool's, not as outside too
		if without, err := without(v, "result"); err == nil {
			result, rest = v.Get("result"), without
		}
	}
	if result.Kind() != doc.Absent {
		r.opt.Session.Observe(sallyport.Output{Upstream: r.opt.Upstream, Tool: c.target, Call: c.decision.Call, Value: result})
	}
	if rest.Kind() != doc.Absent {
		r.opt.Session.Observe(sallyport.Output{Upstream: r.opt.Upstream, Tool: method, Call: c.decision.Call, Value: rest})
	}
	r.taskEnded(t, method, v, body, isError)
}

// taskEnded notes that a task has ended, if v says so.
func (r *Relay) taskEnded(t *task, method string, v doc.Value, body []byte, isError bool) {
	status := v.Get("status").String()
	o := outcome{name: "allowed", detail: "the result of its task"}
	final := false
	switch {
	case method == "tasks/result":
		final, o.isError = true, isError || v.Get("isError").Bool()
		o.result = body
	case isError || !ended(status):
		return
	case status == "cancelled":
		final, o.name, o.detail = true, "cancelled", "its task was cancelled"
	case v.Get("result").Kind() == doc.Object:
		final, o.isError = true, v.Get("result").Get("isError").Bool()
		if f, err := mcp.Fields(body, "result"); err == nil {
			o.result = f[0]
		}
	case v.Get("error").Kind() == doc.Object:
		final, o.isError = true, true
	}
	r.releaseWrite(t.began)
	r.mu.Lock()
	tell := final && !t.told
	t.told = t.told || final
	r.mu.Unlock()
	if tell {
		r.recordOutcome(t.began, o)
	}
}

// without copies an object but for one member.
func without(v doc.Value, name string) (doc.Value, error) {
	all := make(map[string]any)
	for m := range v.Members() {
		if m.Name != name {
			all[m.Name] = m.Value
		}
	}
	return doc.FromGo(all)
}

// observeTaskNews records a notification about a task. false: it could not be read and must
// not be relayed.
func (r *Relay) observeTaskNews(method string, number uint64, params []byte) bool {
	f, err := mcp.Fields(params, "taskId")
	if err != nil {
		return false
	}
	id, _ := mcp.Str(f[0])
	r.mu.Lock()
	t := r.tasks[id]
	r.mu.Unlock()
	if t == nil {
		return r.observe(method, number, params)
	}
	v, err := doc.Parse(params, doc.Limits{})
	if err != nil {
		return false
	}
	r.observeTask(t, method, v, params, false)
	return true
}

// stopTasks is called with mu held when the relay ends and returns the decisions to forget.
func (r *Relay) stopTasks() (open []sallyport.DecisionID) {
	for _, t := range r.tasks {
		if t.began != nil {
			open = append(open, t.began.decision.ID)
		}
	}
	clear(r.tasks)
	r.taskAge = nil
	return open
}
