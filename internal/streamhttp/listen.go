package streamhttp

import (
	"net/http"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// sessionOf finds the session of a GET or DELETE, marked as in use. If there is none, the
// refusal was written.
func (h *Handler) sessionOf(out *writer, r *http.Request, caller Caller) *Session {
	ids, versions := r.Header.Values(headerSession), r.Header.Values(headerVersion)
	switch {
	case len(versions) > 1 || len(versions) == 1 && !h.supported(versions[0]):
		out.refuse(http.StatusBadRequest, mcp.ID{}, mcp.CodeInvalidRequest, "this protocol version is not supported")
		return nil
	case len(versions) == 1 && stateless(versions[0]):
		out.notAllowed("POST")
		return nil
	case len(ids) != 1:
		out.refuse(http.StatusBadRequest, mcp.ID{}, mcp.CodeInvalidRequest, "one session id is needed")
		return nil
	}
	s := h.session(ids[0], caller)
	if s == nil {
		out.refuse(http.StatusNotFound, mcp.ID{}, mcp.CodeInvalidRequest, "no such session")
	}
	return s
}

// get serves a stream: the session's own, or another one from where a client lost it
// (2025-11-25, "Listening for Messages from the Server" and "Resumability and
// Redelivery"). A stream has one reader: a new one takes the place of one that may be
// dead.
func (h *Handler) get(out *writer, r *http.Request, caller Caller) {
	if !accepts(r.Header).stream {
		out.refuse(http.StatusNotAcceptable, mcp.ID{}, mcp.CodeInvalidRequest, "accept text/event-stream")
		return
	}
	s := h.sessionOf(out, r, caller)
	if s == nil {
		return
	}
	defer s.release()
	st, from := s.own, s.own.untaken()
	if last := r.Header.Values(headerLastEvent); len(last) > 0 {
		id, event, ok := readEventID(last[0])
		if ok {
			st, from = s.stream(id), event+1
		}
		if !ok || st == nil || len(last) > 1 {
			out.refuse(http.StatusBadRequest, mcp.ID{}, mcp.CodeInvalidRequest, "nothing can be resumed from this event")
			return
		}
	}
	conn := newConnection()
	st.attach(conn)
	if beginStream(out) != nil {
		st.detach(conn)
		return
	}
	if st.pump(r.Context(), conn, out, from, h.opt.KeepAlive) && st != s.own {
		h.log.Debug("a client has resumed a stream", "caller", caller.Name)
	}
}

// untaken is the number of the first event that no connection was given: each message goes
// to one of them (2025-11-25, "Multiple Connections").
func (s *stream) untaken() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.taken
}

// delete ends a session at its client's wish.
func (h *Handler) delete(out *writer, r *http.Request, caller Caller) {
	s := h.sessionOf(out, r, caller)
	if s == nil {
		return
	}
	s.End()
	s.release()
	out.w.WriteHeader(http.StatusNoContent)
}
