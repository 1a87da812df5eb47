package relay

import (
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/lograte"
	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// A server that prints what is no message does not fill the log.
func TestBadLinesOfAServerDoNotFillTheLog(t *testing.T) {
	e := newEnds(t, mailConfig, nil)
	const line = "Listening on port 8080"
	_, bad := mcp.Parse([]byte(line))
	for range 100 {
		e.relay.BadFromServer(bad, []byte(line))
		e.fromServer(`{"jsonrpc":"2.0","method":"made/up"}`, mcp.ID{})
	}
	for _, text := range []string{"no protocol message", "not known"} {
		if n := strings.Count(e.log.String(), text); n != lograte.PerMinute {
			t.Errorf("%d lines with %s", n, text)
		}
	}
}
