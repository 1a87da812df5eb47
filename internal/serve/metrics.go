package serve

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// MetricsPath is where [ListenMetrics] serves.
const MetricsPath = "/metrics"

// Metric is one number. Its texts are the program's own: they are not escaped.
type Metric struct {
	Name, Help string
	Gauge      bool   // else it only grows
	Label      string // `name="value"`, "" for none
	Value      uint64
}

// ListenMetrics serves what read returns on 127.0.0.1, in the text format of Prometheus
// (version 0.0.4). Nobody has to show a token, so that it has counts and no names, and only
// programs of this machine reach it: a request with another host in it (a page in a browser
// that calls itself 127.0.0.1) is refused. Closing the listener ends it. read may be called by
// several goroutines at once.
func ListenMetrics(port int, read func() []Metric) (net.Listener, error) {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	s := &http.Server{
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 5 * time.Second, WriteTimeout: 10 * time.Second, IdleTimeout: time.Minute,
		MaxHeaderBytes: 16 << 10,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case !ofThisMachine(r.Host):
				plain(w, r, http.StatusForbidden, "forbidden")
			case r.URL.Path != MetricsPath:
				plain(w, r, http.StatusNotFound, "not found")
			case r.Method != http.MethodGet && r.Method != http.MethodHead:
				plain(w, r, http.StatusMethodNotAllowed, "method not allowed")
			default:
				w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
				w.Header().Set("Cache-Control", "no-store")
				w.Header().Set("X-Content-Type-Options", "nosniff")
				_, _ = w.Write([]byte(metricsText(read())))
			}
		}),
	}
	go func() { _ = s.Serve(l) }() // it ends with the listener
	return l, nil
}

func ofThisMachine(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	if strings.EqualFold(name, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(name)
	return err == nil && a.IsLoopback()
}

func metricsText(all []Metric) string {
	var b strings.Builder
	last := ""
	for _, m := range all {
		if m.Name != last {
			kind := "counter"
			if m.Gauge {
				kind = "gauge"
			}
			fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", m.Name, m.Help, m.Name, kind)
			last = m.Name
		}
		label := ""
		if m.Label != "" {
			label = "{" + m.Label + "}"
		}
		fmt.Fprintf(&b, "%s%s %d\n", m.Name, label, m.Value)
	}
	return b.String()
}
