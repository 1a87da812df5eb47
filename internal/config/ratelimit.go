package config

import (
	"time"

	"github.com/sallyport-dev/sallyport/internal/strictyaml"
	"github.com/sallyport-dev/sallyport/policy"
)

// RateLimit is one token bucket that rules name.
type RateLimit struct {
	Name   string
	Source string        // file:line:column
	Rate   int           // calls
	Per    time.Duration // in which they come back
	Burst  int           // most calls at once
	Global bool          // scope: global; else each caller has a bucket of its own
}

// PerSecond is how many calls come back each second.
func (r *RateLimit) PerSecond() float64 { return float64(r.Rate) / r.Per.Seconds() }

const (
	maxRate = 1_000_000
	minPer  = time.Second
	maxPer  = 31 * 24 * time.Hour
)

var rateLimitKeys = []string{"rate", "per", "burst", "scope"}

func (c *Config) readRateLimits(n *strictyaml.Node, p *strictyaml.Problems) {
	entries, _ := n.Entries(p)
	c.RateLimits = make(map[string]*RateLimit, len(entries))
	for _, e := range entries {
		if err := policy.CheckName(e.Name); err != nil {
			p.Add(e.Key, "a rate limit's name %v", err)
		}
		r := &RateLimit{Name: e.Name, Source: e.Key.Place()}
		r.read(e, p)
		c.RateLimits[e.Name] = r
	}
}

func (r *RateLimit) read(e strictyaml.Entry, p *strictyaml.Problems) {
	fields, ok := e.Value.Fields(p, rateLimitKeys, nil)
	if !ok {
		return
	}
	for _, key := range []string{"rate", "per"} {
		if fields[key] == nil {
			p.Add(e.Key, "the rate limit %s has no %s; write rate: 20 and per: 1m for twenty calls a minute", strictyaml.Quote(e.Name), key)
		}
	}
	if f := fields["rate"]; f != nil {
		r.Rate = readCount(f, p)
	}
	if f := fields["per"]; f != nil {
		r.Per = readDuration(f, p, minPer, maxPer)
	}
	r.Burst = r.Rate
	if f := fields["burst"]; f != nil {
		r.Burst = readCount(f, p)
	}
	if f := fields["scope"]; f != nil {
		s, _ := f.OneOf(p, "token", "global")
		r.Global = s == "global"
	}
}

func readCount(n *strictyaml.Node, p *strictyaml.Problems) int {
	v, ok := n.Int(p)
	if ok && (v < 1 || v > maxRate) {
		p.Add(n, "write a number of calls from 1 to %d", maxRate)
	}
	return int(min(max(v, 1), maxRate))
}
