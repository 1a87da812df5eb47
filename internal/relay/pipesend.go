package relay

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// drain lets open calls finish for a bounded time after the client's end of input.
func (p *Pipes) drain(ctx context.Context, serverDone <-chan error) Ending {
	idle := p.relay.Drain()
	p.log.Debug("the client's input ended; waiting for open calls", "at most", p.opt.Drain)
	limit := time.NewTimer(p.opt.Drain)
	defer limit.Stop()
	why := "the client has gone"
	select {
	case <-idle:
	case <-limit.C:
		why = fmt.Sprintf("the client's input ended and the call took more than %v after that", p.opt.Drain)
	case <-p.gone:
	case err := <-serverDone:
		return p.serverEnded(ctx, err)
	case <-p.lost:
		return p.serverLost(ctx, serverDone)
	case <-ctx.Done():
		p.farewell(ctx, "the gateway is stopping", p.opt.Farewell)
		return Stopped
	}
	p.farewell(ctx, why, p.opt.Farewell)
	return ClientEnded
}

// lastWords is how long a server that reads no more may go on to answer.
const lastWords = 2 * time.Second

// serverLost ends the relay for a server that reads no more. One that has died is found
// out by a write first, and what it answered before still stands in its output.
func (p *Pipes) serverLost(ctx context.Context, serverDone <-chan error) Ending {
	limit := time.NewTimer(lastWords)
	defer limit.Stop()
	select {
	case <-serverDone:
	case <-limit.C:
	case <-p.gone:
	case <-ctx.Done():
	}
	return p.serverEnded(ctx, errors.New("it closed its input"))
}

func (p *Pipes) serverEnded(ctx context.Context, err error) Ending {
	how := ""
	if p.opt.HowServerEnded != nil {
		how = p.opt.HowServerEnded()
	}
	switch {
	case how != "":
		how = fmt.Sprintf("the server %s ended (%s)", p.opt.Upstream, how)
	case err != nil:
		how = fmt.Sprintf("the server %s cannot be reached: %v", p.opt.Upstream, err)
	default:
		how = fmt.Sprintf("the server %s ended", p.opt.Upstream)
	}
	p.log.Error(how)
	p.farewell(ctx, how, p.opt.Drain)
	return ServerEnded
}

// farewell ends the relay. The client has so long to read the last answers, and Farewell
// once ctx is cancelled: one that does not read must not keep the gateway from ending.
func (p *Pipes) farewell(ctx context.Context, why string, patience time.Duration) {
	answered := p.relay.end(why)
	limit := time.NewTimer(patience)
	defer limit.Stop()
	stopped := ctx.Done()
	for {
		select {
		case <-answered:
			return
		case <-p.gone:
			return
		case <-stopped:
			stopped = nil
			limit.Reset(min(patience, p.opt.Farewell))
		case <-limit.C:
			p.log.Warn("the client does not read its last answers")
			return
		}
	}
}
