package peer

import (
	"crypto/rand"
	"encoding/json/jsontext"
	json "encoding/json/v2"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// ServeHTTP is Streamable HTTP of the server's era. An answer is a stream if something
// was sent before it or the request's id is odd in its last byte, else JSON.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodPost:
		s.post(w, r)
	case s.Era == Handshake && r.Method == http.MethodGet:
		s.stream(w, r)
	case s.Era == Handshake && r.Method == http.MethodDelete:
		s.end(w, r)
	default:
		http.Error(w, "not here", http.StatusMethodNotAllowed)
	}
}

func (s *Server) post(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var f Frame
	if err == nil {
		err = json.Unmarshal(body, &f)
	}
	if err != nil {
		http.Error(w, "no frame: "+err.Error(), http.StatusBadRequest)
		return
	}
	var ses *session
	if s.Era == Stateless {
		if why := statelessProblem(r.Header, f); why != "" {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			id := f.ID
			if id == nil {
				id = jsontext.Value("null")
			}
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":%s}`, id, why)
			return
		}
	} else if f.Method == "initialize" {
		ses = newSession(rand.Text())
	} else if ses = s.session(r); ses == nil {
		http.Error(w, "no such session", http.StatusNotFound)
		return
	}
	if f.ID == nil || f.Method == "" {
		s.receive(f, ses)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	s.answerPost(w, r, f, ses)
}

func (s *Server) answerPost(w http.ResponseWriter, r *http.Request, f Frame, ses *session) {
	var mu sync.Mutex
	streaming := f.ID[len(f.ID)-1]%2 == 1
	begun, over := false, false
	q := &Request{Frame: f, server: s, ses: ses, done: make(chan struct{})}
	if ses != nil {
		q.Session = ses.id
	}
	q.send = func(frame []byte) {
		mu.Lock()
		defer mu.Unlock()
		if over || r.Context().Err() != nil {
			return
		}
		var head struct {
			Method string `json:"method"`
		}
		last := json.Unmarshal(frame, &head) == nil && head.Method == ""
		if !begun {
			begun = true
			if f.Method == "initialize" {
				s.mu.Lock()
				if s.sessions == nil {
					s.sessions = map[string]*session{}
				}
				s.sessions[ses.id] = ses
				s.mu.Unlock()
				w.Header().Set("Mcp-Session-Id", ses.id)
			}
			streaming = streaming || !last
			w.Header().Set("Content-Type", map[bool]string{true: "text/event-stream", false: "application/json"}[streaming])
		}
		if streaming {
			writeEvent(w, frame)
			return
		}
		w.Write(frame) //nolint:errcheck // a client that is gone
	}
	s.dispatch(r.Context(), q)
	select {
	case <-q.done:
	case <-r.Context().Done():
	}
	mu.Lock() // nobody writes after the handler has returned
	over = true
	mu.Unlock()
}

// statelessProblem is the error for a request whose headers are not those of its body.
func statelessProblem(h http.Header, f Frame) string {
	var p struct {
		Meta map[string]jsontext.Value `json:"_meta"`
	}
	if f.Params != nil {
		if err := json.Unmarshal(f.Params, &p); err != nil {
			return `{"code":-32602,"message":"the params are not readable"}`
		}
	}
	if got := h.Get("Mcp-Protocol-Version"); got != StatelessVersion {
		return fmt.Sprintf(`{"code":-32022,"message":"unsupported version","data":{"supported":[%q],"requested":%q}}`, StatelessVersion, got)
	}
	if string(p.Meta[metaVersion]) != `"`+StatelessVersion+`"` || p.Meta[metaCapabilities] == nil {
		return `{"code":-32602,"message":"_meta lacks the version or the capabilities"}`
	}
	if got := h.Get("Mcp-Method"); got != f.Method {
		return fmt.Sprintf(`{"code":-32020,"message":"Mcp-Method is %q"}`, got)
	}
	if want, ok := target(f.Method, f.Params); ok {
		if got := headerDecoded(h.Get("Mcp-Name")); got != want {
			return fmt.Sprintf(`{"code":-32020,"message":"Mcp-Name is %.100q, want %.100q"}`, got, want)
		}
	}
	return ""
}

func (s *Server) session(r *http.Request) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[r.Header.Get("Mcp-Session-Id")]
}

func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	ses := s.session(r)
	if ses == nil {
		http.Error(w, "no such session", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	http.NewResponseController(w).Flush() //nolint:errcheck // a client that is gone
	for {
		select {
		case frame, ok := <-ses.queue:
			if !ok {
				return
			}
			writeEvent(w, frame)
		case <-r.Context().Done():
			return
		}
	}
}

func (s *Server) end(w http.ResponseWriter, r *http.Request) {
	ses := s.session(r)
	if ses == nil {
		http.Error(w, "no such session", http.StatusNotFound)
		return
	}
	s.mu.Lock()
	if s.sessions[ses.id] == ses {
		delete(s.sessions, ses.id)
		close(ses.queue)
	}
	s.mu.Unlock()
}
