package serve

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestMetrics(t *testing.T) {
	l, err := ListenMetrics(0, func() []Metric {
		return []Metric{
			{Name: "a_failing", Help: "Fails.", Gauge: true, Value: 1},
			{Name: "b_total", Help: "Some.", Label: `verdict="allow"`, Value: 2},
			{Name: "b_total", Help: "Some.", Label: `verdict="deny"`, Value: 18446744073709551615},
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	base := "http://" + l.Addr().String()
	if !strings.HasPrefix(base, "http://127.0.0.1:") {
		t.Errorf("it listens on %s", base)
	}
	const all = "# HELP a_failing Fails.\n# TYPE a_failing gauge\na_failing 1\n" +
		"# HELP b_total Some.\n# TYPE b_total counter\nb_total{verdict=\"allow\"} 2\nb_total{verdict=\"deny\"} 18446744073709551615\n"
	for _, tt := range []struct {
		method, path, host string
		status             int
		body               string
	}{
		{"GET", MetricsPath, "", 200, all},
		{"GET", MetricsPath, "localhost:1", 200, all},
		{"GET", MetricsPath, "[::1]", 200, all},
		{"HEAD", MetricsPath, "", 200, ""},
		{"GET", MetricsPath, "evil.example", 403, "forbidden\n"},
		{"GET", MetricsPath, "127.0.0.1.evil.example:80", 403, "forbidden\n"},
		{"GET", "/", "", 404, "not found\n"},
		{"POST", MetricsPath, "", 405, "not offered\n"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), tt.method, base+tt.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = tt.host
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != tt.status || string(body) != tt.body {
			t.Errorf("%s %s of %q: %d %q (%v)", tt.method, tt.path, tt.host, res.StatusCode, body, err)
		}
	}
}
