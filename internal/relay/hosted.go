package relay

import (
	"context"

	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/quote"
)

// In 2025-11-25 a client can run what a server asks of it (sampling, elicitation) as a
// task: it answers with the task's id, and the server fetches the content with tasks/result.
// That answer carries what the answer to the request itself would.

// hostedRequest returns why a request of the server's about a task of the client's is
// refused: it may ask about those that its own requests began.
func (r *Relay) hostedRequest(m mcp.Message) (why string) {
	switch m.Method {
	case "tasks/get", "tasks/result", "tasks/cancel":
	default:
		return ""
	}
	id, ok := taskID(m.Params)
	if !ok {
		return "params.taskId has to be a string"
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.hosted[id] == "" {
		return "params.taskId names no task of this client's that was begun for this server"
	}
	return ""
}

func taskID(params []byte) (string, bool) {
	f, err := mcp.Fields(params, "taskId")
	if err != nil {
		return "", false
	}
	return mcp.Str(f[0])
}

// hosts remembers the task that a client's answer to the server begins.
func (r *Relay) hosts(a asked, result doc.Value) {
	id := result.Get("task").Get("taskId")
	if !hostable[a.method] || id.Kind() != doc.String || id.String() == "" || len(id.String()) > maxTaskID {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.hosted[id.String()] != "" {
		return
	}
	r.hosted[id.String()] = a.method
	r.hostedAge = append(r.hostedAge, id.String())
	for len(r.hostedAge) > maxTasks {
		delete(r.hosted, r.hostedAge[0])
		r.hostedAge = r.hostedAge[1:]
	}
}

// mayTell decides whether the client may tell the server how a task of its own goes: the
// text is content.
func (r *Relay) mayTell(ctx context.Context, m mcp.Message) bool {
	id, _ := taskID(m.Params)
	r.mu.Lock()
	known := r.hosted[id] != ""
	r.mu.Unlock()
	if !known {
		r.log.Warn("a notification of the client is dropped: it is about no task that the server began", "task", quote.Text(id, 64))
		return false
	}
	_, ok := r.judgeContent(ctx, mcp.ID{}, m.Method, m.Params)
	return ok
}
