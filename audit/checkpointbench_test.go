//go:build unix

package audit

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

// Records a second with and without checkpoints: the two take turns, so that what else the machine
// does counts for both.
func BenchmarkCheckpoints(b *testing.B) {
	for _, policy := range []struct {
		name string
		sync Sync
	}{{"none", SyncNone}, {"interval", SyncInterval}, {"always", SyncAlways}} {
		for _, every := range []int{100, 1000} {
			b.Run(fmt.Sprintf("%s/every%d", policy.name, every), func(b *testing.B) {
				r := benchRecord(b)
				opts := make([]Options, 2)
				paths := make([]string, 2)
				var logs [2]*Log
				var took [2]time.Duration
				for i := range opts {
					paths[i] = filepath.Join(b.TempDir(), "audit.jsonl")
					if i == 1 {
						opts[i], _ = pointsIn(b, paths[i], every)
					}
					opts[i].Sync = policy.sync
					logs[i] = openLog(b, paths[i], opts[i])
				}
				const turn = 2000
				for n := 0; n < b.N; n += turn {
					for i, l := range logs {
						began := time.Now()
						for range min(turn, b.N-n) {
							if _, err := l.Append(r); err != nil {
								b.Fatal(err)
							}
						}
						took[i] += time.Since(began)
					}
				}
				b.ReportMetric(float64(b.N)/took[0].Seconds(), "without/s")
				b.ReportMetric(float64(b.N)/took[1].Seconds(), "with/s")
				b.ReportMetric(float64(logs[1].Stats().Checkpoints)*1000/float64(b.N), "checkpoints/1000records")
			})
		}
	}
}

// The tree is made from the log when there is no state: how fast a log is read for that.
func BenchmarkTreeFromLog(b *testing.B) {
	var text bytes.Buffer
	l := Stream(&text, Options{})
	r := benchRecord(b)
	const n = 5000
	for range n {
		add(b, l, r)
	}
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		p := treePlace{hash: noPrev, file: 1}
		if err := p.follow(bytes.NewReader(text.Bytes()), l.seq, l.prev); err != nil || p.n != n {
			b.Fatal(p.n, err)
		}
	}
}
