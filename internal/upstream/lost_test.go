package upstream

import (
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// A request that the server was working on when it lost the session is not said to be
// untaken, whoever finds the loss: making it again could do twice what it does.
func TestWhatWasTakenIsNeverSaidToBeUntaken(t *testing.T) {
	for _, c := range []struct {
		name string
		find func(t *testing.T, c Conn) // finds that the session is lost; nil: the request itself does
	}{
		{"its own stream cannot be resumed", nil},
		{"another request is answered with 404", func(t *testing.T, c Conn) {
			if _, err := c.Do(t.Context(), req(2, "test/lost", "{}"), nil); !errors.Is(err, ErrNotTaken) {
				t.Error(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, _ := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodPost {
					w.WriteHeader(http.StatusNotFound)
					return
				}
				body, _ := io.ReadAll(r.Body)
				m, _ := mcp.Parse(body)
				switch m.Method {
				case "initialize":
					w.Header().Set("Mcp-Session-Id", "s")
					w.Header().Set("Content-Type", "application/json")
					_, text := initialized(m)
					_, _ = io.WriteString(w, text)
				case "test/hold":
					w.Header().Set("Content-Type", "text/event-stream")
					_, _ = io.WriteString(w, "id: 1\nretry: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n\n")
					w.(http.Flusher).Flush()
					if c.find != nil {
						<-r.Context().Done()
					}
				default:
					w.WriteHeader(http.StatusNotFound)
				}
			}), nil)
			conn := open(t, s, onlyHandshake, nil)
			taken, ended := make(chan struct{}), make(chan error, 1)
			go func() {
				_, err := conn.Do(t.Context(), req(1, "test/hold", "{}"), func(mcp.Message) { close(taken) })
				ended <- err
			}()
			<-taken
			if c.find != nil {
				c.find(t, conn)
			}
			if err := <-ended; !errors.Is(err, ErrDied) || errors.Is(err, ErrNotTaken) {
				t.Error(err)
			}
		})
	}
}

// An HTTP+SSE server too: what it does not know the session of, it did not take; what it was
// working on may have been done.
func TestWhatAnOldServerDidNotTake(t *testing.T) {
	for _, taken := range []bool{false, true} {
		events, held := make(chan string, 10), make(chan struct{})
		s, _ := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, "event: endpoint\ndata: /post\n\n")
				w.(http.Flusher).Flush()
				for {
					select {
					case e := <-events:
						if e == "" {
							return
						}
						_, _ = io.WriteString(w, "event: message\ndata: "+e+"\n\n")
						w.(http.Flusher).Flush()
					case <-r.Context().Done():
						return
					}
				}
			}
			body, _ := io.ReadAll(r.Body)
			m, _ := mcp.Parse(body)
			switch {
			case r.URL.Path != "/post":
				w.WriteHeader(http.StatusMethodNotAllowed)
			case m.Method == "initialize":
				w.WriteHeader(http.StatusAccepted)
				_, text := initialized(m)
				events <- text
			case m.Method == "test/call" && !taken:
				w.WriteHeader(http.StatusNotFound)
			default:
				w.WriteHeader(http.StatusAccepted)
				if m.Method == "test/call" {
					close(held)
				}
			}
		}), nil)
		conn := open(t, s, onlyHandshake, nil)
		if taken {
			go func() {
				<-held
				events <- ""
			}()
		}
		if _, err := conn.Do(t.Context(), req(1, "test/call", "{}"), nil); err == nil || errors.Is(err, ErrNotTaken) == taken {
			t.Errorf("taken %v: %v", taken, err)
		}
		<-conn.Done()
		if _, err := conn.Do(t.Context(), req(2, "test/call", "{}"), nil); !errors.Is(err, ErrNotTaken) {
			t.Errorf("taken %v, one that was not sent: %v", taken, err)
		}
	}
}
