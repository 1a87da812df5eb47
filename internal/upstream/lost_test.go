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
