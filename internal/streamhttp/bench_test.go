package streamhttp

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// BenchmarkCall measures one tools/call of about 1 KB both ways over loopback: bare
// net/http, our client alone, our handler alone, and both.
func BenchmarkCall(b *testing.B) {
	for _, size := range []int{1 << 10, 1 << 20} {
		params := fmt.Sprintf(`"name":"t","arguments":{"x":%q}`, strings.Repeat("y", size))
		body, headers := modern(1, "tools/call", params)
		headers = append(headers, "Mcp-Name", "t")
		plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			got, _ := io.ReadAll(r.Body)
			w.Header().Set("Content-Type", typeJSON)
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":%s}`, got)
		}))
		defer plain.Close()
		r := newRig(b, nil)
		bare := func(b *testing.B, url string) {
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			for b.Loop() {
				req, _ := http.NewRequestWithContext(context.Background(), http.MethodPost, url, strings.NewReader(body))
				req.Header = http.Header{"Content-Type": {typeJSON}, "Accept": {acceptBoth}, "Authorization": {"Bearer ann"}}
				for i := 0; i < len(headers); i += 2 {
					req.Header.Set(headers[i], headers[i+1])
				}
				resp, err := client.Do(req)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != 200 {
					b.Fatal(resp.StatusCode, err)
				}
				resp.Body.Close()
			}
		}
		ours := func(b *testing.B, url string) {
			c, err := NewClient(ClientOptions{URL: url, Header: http.Header{"Authorization": {"Bearer ann"}}})
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close(context.Background())
			for b.Loop() {
				if _, err := c.Do(context.Background(), []byte(body), nil, nil); err != nil {
					b.Fatal(err)
				}
			}
		}
		name := fmt.Sprintf("%dKiB/", size>>10)
		b.Run(name+"net-http", func(b *testing.B) { b.ReportAllocs(); bare(b, plain.URL) })
		b.Run(name+"client", func(b *testing.B) { b.ReportAllocs(); ours(b, plain.URL) })
		b.Run(name+"handler", func(b *testing.B) { b.ReportAllocs(); bare(b, r.server.URL) })
		b.Run(name+"both", func(b *testing.B) { b.ReportAllocs(); ours(b, r.server.URL) })
	}
}

// BenchmarkEvents measures how fast a stream of 1 KB messages is read.
func BenchmarkEvents(b *testing.B) {
	one := appendEvent(nil, "1-1", mcp.NewNotification("a", []byte(`{"x":"`+strings.Repeat("y", 1000)+`"}`)))
	all := strings.Repeat(string(one), 1000)
	b.SetBytes(int64(len(all)))
	b.ReportAllocs()
	for b.Loop() {
		r := newEventReader(strings.NewReader(all), 1<<20)
		for {
			if _, err := r.next(); err != nil {
				break
			}
		}
	}
}
