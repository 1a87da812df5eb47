package relay

import (
	"context"
	"time"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/audit"
	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/pins"
)

const metaCapabilities = "io.modelcontextprotocol/clientCapabilities"

// declares notes what an initialize says of its client: pins belong to it. why is not ""
// if that cannot be read.
func (r *Relay) declares(m mcp.Message) (why string) {
	const unreadable = "params.capabilities cannot be read"
	f, err := mcp.Fields(m.Params, "capabilities", "clientInfo")
	if err != nil {
		return unreadable
	}
	var v doc.Value
	if f[0] != nil {
		if v, err = doc.Parse(f[0], doc.Limits{}); err != nil {
			return unreadable
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.client = clientName(f[1])
	r.declared, r.elicits = pins.CapabilitiesOf(v), elicitsForms(v)
	r.catalogue.stale = true
	return ""
}

// capabilities are those that the client of a listing declared.
func (r *Relay) capabilities(l *listing) (c pins.Capabilities, ok bool) {
	if l.meta == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.declared, true
	}
	v, err := doc.Parse(l.meta, doc.Limits{})
	return pins.CapabilitiesOf(v.Get(metaCapabilities)), err == nil
}

// pin tells the session what the server lists, and keeps it. It returns why nothing of
// the list may be used. It runs in the server's reader.
func (r *Relay) pin(ctx context.Context, l *listing) (why string) {
	var notices []contract.Notice
	if r.opt.Pins == nil {
		notices = r.opt.Session.Pin(r.opt.Upstream, l.tools)
	} else {
		c, ok := r.capabilities(l)
		if !ok {
			return "the client's capabilities cannot be read"
		}
		var events []pins.Event
		var err error
		if notices, events, err = r.opt.Pins.List(ctx, r.opt.Session, c, l.tools); err != nil {
			r.log.Error("the pins of this server cannot be used, so none of its tools can", "server", r.opt.Upstream, "error", err)
			return "the pins of this server cannot be used; the user finds the reason with: " + r.opt.Pins.Command("list")
		}
		r.recordPins(events)
	}
	for _, notice := range notices {
		if notice.Warning {
			r.log.Warn(notice.Text)
		} else {
			r.log.Info(notice.Text)
		}
	}
	return ""
}

// recordPins writes what a list changed in the pins. A failure is logged: calls have
// records of their own.
func (r *Relay) recordPins(events []pins.Event) {
	if r.opt.Audit == nil {
		return
	}
	for _, e := range events {
		rec := audit.Record{
			Time: time.Now(), Event: "pin", Session: r.opt.SessionID, Caller: r.opt.Caller, Upstream: r.opt.Upstream,
			Target: e.Tool, Detail: e.Detail, Mode: r.mode(sallyport.Decision{}),
		}
		if e.Denied {
			rec.Outcome = "denied"
		}
		if _, err := r.opt.Audit.Append(rec); err != nil {
			r.log.Error("a change of the pins could not be recorded", "log", r.opt.Audit.Path(), "error", err)
			return
		}
	}
}

// refusedByPin makes the next call look again: a person may have accepted the difference.
func (r *Relay) refusedByPin(c *call) {
	if r.opt.Pins != nil && c.decision.Check == sallyport.CheckPin && r.opt.Session.Refuses(r.opt.Upstream, c.target) {
		r.catalogueStale()
	}
}
