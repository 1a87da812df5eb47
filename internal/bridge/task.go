package bridge

import (
	"bytes"
	"context"
	"strconv"
	"time"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// Between two looks at a task.
const (
	pollDefault = time.Second
	pollLeast   = 100 * time.Millisecond
	pollMost    = time.Minute
	cancelTask  = 10 * time.Second // for telling the server that a task is not wanted any more
)

// wantsTasks reports whether a stateless server refused a call because its client does not
// declare the tasks extension. The call has not run then.
func wantsTasks(answer mcp.Message) bool {
	return answer.Error != nil && string(at(answer.Error, "code")) == strconv.Itoa(CodeMissingCapability) &&
		isObject(at(answer.Error, "data", "requiredCapabilities", "extensions", tasksExtension))
}

// follow waits for a task of a stateless server and returns what the call would have
// returned without one. The client sees a call that takes its time; when it cancels the call,
// the task is cancelled.
func (h *HandshakeConn) follow(ctx context.Context, created mcp.Message, d *delivery) (answer mcp.Message, err error) {
	id := bytes.Clone(at(created.Result, "taskId"))
	if _, ok := mcp.Str(id); !ok {
		return mcp.Message{}, refuse(mcp.CodeInternal, "the server's task has no id")
	}
	over := false
	defer func() {
		if !over {
			h.dropTask(id)
		}
	}()
	state := created.Result
	asked := map[string]bool{}
	for rounds := 0; ; {
		if err := sleep(ctx, state); err != nil {
			return mcp.Message{}, err
		}
		m, err := h.taskRequest(ctx, "tasks/get", d, pair{"taskId", id})
		if err != nil {
			return mcp.Message{}, err
		}
		if m.Error != nil {
			over = true
			return m, nil
		}
		state = m.Result
		switch text(at(state, "status")) {
		case "working":
		case "completed":
			over = true
			result := at(state, "result")
			if !isObject(result) {
				return mcp.Message{}, refuse(mcp.CodeInternal, "the server's task is completed and has no result")
			}
			return resultOf(created.ID, result), nil
		case "failed":
			over = true
			if !isObject(at(state, "error")) {
				return mcp.Message{}, refuse(mcp.CodeInternal, "the server's task failed and has no error")
			}
			failed, perr := mcp.Parse(object(pair{"jsonrpc", []byte(`"2.0"`)}, pair{"id", rawID(created.ID)}, pair{"error", at(state, "error")}))
			if perr != nil {
				return mcp.Message{}, refuse(mcp.CodeInternal, "the server's task failed and has no error")
			}
			return failed, nil
		case "cancelled":
			over = true
			return mcp.Message{}, refuse(mcp.CodeInternal, "the server cancelled the task of this call")
		case "input_required":
			questions, err := unasked(at(state, "inputRequests"), asked)
			if err != nil {
				return mcp.Message{}, err
			}
			if questions == nil {
				continue
			}
			if rounds++; rounds > MaxRounds {
				return mcp.Message{}, refuse(mcp.CodeInternal, "the server asked for input too often")
			}
			responses, _, err := h.ask(ctx, questions, 0, d)
			if err != nil {
				return mcp.Message{}, err
			}
			m, err := h.taskRequest(ctx, "tasks/update", d, pair{"taskId", id}, pair{"inputResponses", responses})
			if err != nil {
				return mcp.Message{}, err
			}
			if m.Error != nil {
				return m, nil
			}
		default:
			return mcp.Message{}, refuse(mcp.CodeInternal, "the server's task is in a state that no version of the protocol has")
		}
	}
}

// unasked are the questions of a task that were not asked yet, nil if there are none; asked
// is added to.
func unasked(requests []byte, asked map[string]bool) ([]byte, error) {
	all, err := members(requests, maxQuestions)
	if err != nil {
		return nil, refuse(mcp.CodeInternal, "the server's questions cannot be read, or are too many")
	}
	var fresh []pair
	for _, p := range all {
		if !asked[p.name] {
			asked[p.name] = true
			fresh = append(fresh, p)
		}
	}
	if fresh == nil {
		return nil, nil
	}
	return object(fresh...), nil
}

// taskRequest sends a request about a task.
func (h *HandshakeConn) taskRequest(ctx context.Context, method string, d *delivery, params ...pair) (mcp.Message, error) {
	m, err := rewritten(built(mcp.NewRequest(h.nextID(), method, object(params...))), h.modern(true)...)
	if err != nil {
		return mcp.Message{}, err
	}
	return h.conn.Do(ctx, m, h.fromServer(d))
}

// dropTask tells the server that nobody waits for a task any more.
func (h *HandshakeConn) dropTask(id []byte) {
	h.work.run(func() {
		ctx, cancel := context.WithTimeout(h.ctx, cancelTask)
		defer cancel()
		// Best effort: the protocol leaves it to the server whether it stops.
		_, _ = h.taskRequest(ctx, "tasks/cancel", &delivery{}, pair{"taskId", id})
	})
}

// sleep waits as long as a task says that its client should.
func sleep(ctx context.Context, state []byte) error {
	d := pollDefault
	if ms, err := strconv.ParseFloat(string(at(state, "pollIntervalMs")), 64); err == nil && ms > 0 {
		d = max(pollLeast, time.Duration(min(ms, float64(pollMost.Milliseconds())))*time.Millisecond)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
