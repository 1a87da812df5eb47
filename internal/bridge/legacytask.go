package bridge

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/upstream"
)

// asTask makes a call of a tool that its server, of 2025-11-25, runs as a task only, and
// returns what the call would have returned without one. The call has not run yet.
func (s *StatelessConn) asTask(c *call, from func(mcp.Message)) (mcp.Message, error) {
	request, err := rewritten(c.first,
		mcp.Edit{Path: []string{"id"}, Value: rawID(s.nextID())},
		mcp.Edit{Path: []string{"params", "task"}, Value: []byte("{}")})
	if err != nil {
		return mcp.Message{}, err
	}
	created, err := s.conn.Do(c.ctx, request, from)
	if err != nil || created.Error != nil {
		return created, err
	}
	id := bytes.Clone(at(created.Result, "task", "taskId"))
	if _, ok := mcp.Str(id); !ok {
		return created, nil // it answered at once after all
	}
	answer, err := s.conn.Do(c.ctx, built(mcp.NewRequest(s.nextID(), "tasks/result", object(pair{"taskId", id}))), from)
	if err != nil && c.ctx.Err() != nil {
		s.work.run(func() {
			ctx, cancel := context.WithTimeout(s.ctx, cancelTask)
			defer cancel()
			// Best effort: nobody waits for the task any more.
			_, _ = s.own(ctx, "tasks/cancel", pair{"taskId", id})
		})
	}
	if errors.Is(err, upstream.ErrNotTaken) { // the call itself was taken, whatever became of this request
		err = fmt.Errorf("%w: %v", errTaskLost, err)
	}
	return answer, err
}

var errTaskLost = errors.New("what came of the task is not known")
