package peer

import (
	"bufio"
	"bytes"
	"context"
	json "encoding/json/v2"
	"io"
	"sync"
)

// ServeStdio answers over pipes until in ends, then cancels what is still open and waits
// for it.
func (s *Server) ServeStdio(in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(context.Background())
	var calls sync.WaitGroup
	defer calls.Wait()
	defer cancel()
	var mu sync.Mutex
	send := func(frame []byte) {
		mu.Lock()
		defer mu.Unlock()
		line := bytes.ReplaceAll(frame, []byte("\n"), []byte(" ")) // white space between values
		out.Write(append(line, '\n'))                              //nolint:errcheck // a client that is gone closes the input too
	}
	ses := newSession("stdio")
	if s.Era == Handshake {
		s.mu.Lock()
		s.sessions = map[string]*session{ses.id: ses}
		s.mu.Unlock()
		calls.Go(func() {
			for {
				select {
				case frame := <-ses.queue:
					send(frame)
				case <-ctx.Done():
					return
				}
			}
		})
	}
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			if err == io.EOF {
				return nil
			}
			return err
		}
		var f Frame
		if err := json.Unmarshal(line, &f); err != nil {
			return err
		}
		if f.ID == nil || f.Method == "" {
			s.receive(f, ses)
			continue
		}
		q := &Request{Frame: f, server: s, send: send, done: make(chan struct{})}
		if s.Era == Handshake {
			q.ses, q.Session = ses, ses.id
		}
		calls.Go(func() { s.dispatch(ctx, q) })
	}
}
