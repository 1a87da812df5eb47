package auditread

import (
	"slices"
	"time"
)

// How many buckets a [Summary] keeps: eleven years of days, over a year of hours. What lies
// in others is counted together.
const (
	MaxDays  = 4000
	MaxHours = 10_000
)

// Bucket is what happened in a day or hour (UTC) that begins at Start.
type Bucket struct {
	Start time.Time `json:"start"`
	Tally
}

// Series holds buckets in order of time. Those in which nothing was recorded are left out.
type Series struct {
	Buckets []Bucket `json:"buckets"`
	Others  Tally    `json:"others,omitzero"` // records that have no bucket any more
}

type series struct {
	step    time.Duration
	max     int
	buckets map[int64]*Tally
	others  Tally

	last  int64 // records mostly follow each other
	tally *Tally
}

func (s *series) add(r *Record) {
	at := r.Time.Unix() / int64(s.step/time.Second)
	if r.Time.Unix() < 0 {
		at = -1 // no log is older than 1970: one bucket is enough for what says so
	}
	if s.tally == nil || at != s.last {
		s.last, s.tally = at, s.bucket(at)
	}
	s.tally.add(r)
}

func (s *series) bucket(at int64) *Tally {
	if t, ok := s.buckets[at]; ok {
		return t
	}
	if len(s.buckets) >= s.max {
		return &s.others
	}
	if s.buckets == nil {
		s.buckets = make(map[int64]*Tally)
	}
	t := new(Tally)
	s.buckets[at] = t
	return t
}

func (s *series) sorted() Series {
	out := Series{Buckets: make([]Bucket, 0, len(s.buckets)), Others: s.others}
	for at, t := range s.buckets {
		out.Buckets = append(out.Buckets, Bucket{time.Unix(at*int64(s.step/time.Second), 0).UTC(), *t})
	}
	slices.SortFunc(out.Buckets, func(a, b Bucket) int { return a.Start.Compare(b.Start) })
	return out
}
