package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

// Blocks alternate between the two relays, so that a machine that is slow for a while
// is slow for both.
const (
	relayBlock = 20 // calls before the other relay has its turn
	relayPad   = 1000
)

// BenchmarkRelay compares a call with 1 KB of argument and result through sallyport
// wrap, with its log, to the same call through a process that only copies lines. One
// call is in flight at a time. It reports the medians and their ratio; the ratio has no
// limit here, because a shared machine would decide.
func BenchmarkRelay(b *testing.B) {
	needWrap(b)
	server := binary(b, "echoserver")
	wrap := newPingPong(b, through(b, []string{"--contracts", echoContracts(b)}, server))
	relay := newPingPong(b, direct(b, binary(b, "copyrelay"), server))
	bare := newPingPong(b, direct(b, server))
	for _, p := range []*pingPong{wrap, relay, bare} {
		p.block(b, relayBlock) // warm up
		p.times = p.times[:0]
	}
	for b.Loop() {
		wrap.block(b, relayBlock)
		relay.block(b, relayBlock)
		bare.block(b, relayBlock)
	}
	w, r, p := wrap.median(), relay.median(), bare.median()
	ratio := float64(w) / float64(r)
	b.ReportMetric(0, "ns/op") // one operation is a block of each; it says nothing
	b.ReportMetric(us(w), "wrap-µs")
	b.ReportMetric(us(r), "copy-µs")
	b.ReportMetric(us(p), "bare-µs")
	b.ReportMetric(ratio, "ratio")
	b.Logf("1 KB call, median of %d: wrap %.1f µs, copying relay %.1f µs, no relay %.1f µs; wrap/copy %.2f",
		len(wrap.times), us(w), us(r), us(p), ratio)
}

func us(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

// echoContracts says of the benchmark's only tool that it sends nothing anywhere.
func echoContracts(b *testing.B) string {
	file := realDir(b) + "/contracts.yaml"
	write(b, file, "echo:\n  max_calls: 1000000000\n")
	return file
}

// pingPong has one call in flight over raw pipes.
type pingPong struct {
	in    io.Writer
	out   *bufio.Reader
	next  int
	pad   string
	frame []byte
	times []time.Duration
}

func newPingPong(b *testing.B, s *target) *pingPong {
	b.Helper()
	cmd := s.cmd()
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			b.Errorf("%s: %v", s.argv[0], err)
		}
	})
	p := &pingPong{in: in, out: bufio.NewReaderSize(out, 64<<10), pad: strings.Repeat("lorem ipsum ", relayPad/12)}
	p.roundTrip(b, `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`+"\n", `"id":"init"`)
	if _, err := io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		b.Fatal(err)
	}
	return p
}

// block makes n calls and keeps how long each took.
func (p *pingPong) block(b *testing.B, n int) {
	for range n {
		p.next++
		p.frame = fmt.Appendf(p.frame[:0], `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"text":"%d %s"}}}`+"\n", p.next, p.next, p.pad)
		id := fmt.Sprintf(`"id":%d,"result":{"content"`, p.next)
		start := time.Now()
		p.roundTrip(b, string(p.frame), id)
		p.times = append(p.times, time.Since(start))
	}
}

func (p *pingPong) roundTrip(b *testing.B, frame, want string) {
	if _, err := io.WriteString(p.in, frame); err != nil {
		b.Fatal(err)
	}
	for {
		line, err := p.out.ReadSlice('\n')
		if err != nil {
			b.Fatal(err)
		}
		if bytes.Contains(line, []byte(want)) {
			return
		}
		if bytes.Contains(line, []byte(`"id"`)) {
			b.Fatalf("another answer came: %.300s", line)
		}
	}
}

func (p *pingPong) median() time.Duration {
	slices.Sort(p.times)
	return p.times[len(p.times)/2]
}
