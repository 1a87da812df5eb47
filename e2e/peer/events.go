package peer

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// readEvents calls each for the data of every event of a stream until that ends.
func readEvents(r io.Reader, each func(data []byte) error) error {
	in := bufio.NewReaderSize(r, 64<<10)
	var data []byte
	some := false
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			if err == io.EOF && len(line) == 0 && !some {
				return nil
			}
			return fmt.Errorf("the stream ended within an event: %w", err)
		}
		line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		if len(line) == 0 {
			if some && len(data) > 0 {
				if err := each(data); err != nil {
					return err
				}
			}
			data, some = nil, false
			continue
		}
		if rest, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			if some {
				data = append(data, '\n')
			}
			data, some = append(data, bytes.TrimPrefix(rest, []byte(" "))...), true
		}
	}
}

// writeEvent sends one frame, which may hold line feeds but no carriage returns.
func writeEvent(w http.ResponseWriter, frame []byte) {
	var b bytes.Buffer
	b.Grow(len(frame) + 32)
	b.WriteString("event: message\n")
	for line := range bytes.SplitSeq(frame, []byte("\n")) {
		b.WriteString("data: ")
		b.Write(line)
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	w.Write(b.Bytes())                    //nolint:errcheck // a client that is gone
	http.NewResponseController(w).Flush() //nolint:errcheck // see above
}

func isStream(h http.Header) bool {
	return strings.HasPrefix(h.Get("Content-Type"), "text/event-stream")
}
