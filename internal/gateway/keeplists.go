package gateway

import "time"

// failedList is a list that could not be had, over a link.
type failedList struct {
	link *link
	at   time.Time
}

// failedFor is how long a list that could not be had is not asked for again but at the
// client's own request: each read of a resource would wait for it.
const failedFor = 30 * time.Second

func (s *session) noteFailed(k kind, l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.catalogue.failed[k] == nil {
		s.catalogue.failed[k] = make(map[*place]failedList)
	}
	s.catalogue.failed[k][l.place] = failedList{l, s.g.now()}
}

func (s *session) failedLately(k kind, l *link) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.catalogue.failed[k][l.place]
	return f.link == l && s.g.now().Sub(f.at) < failedFor
}

// maxListBytes bounds the lists that all sessions of a gateway keep, in bytes as servers sent
// them. What is made of them takes as much again.
const maxListBytes = 256 << 20

// hasRoom reports whether a list may be kept, in the place of the one that it follows.
func (s *session) hasRoom(k kind, found *listedBy) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := s.g.listBytes.Load()
	if before := s.catalogue.lists[k][found.link.place]; before != nil {
		kept -= before.size
	}
	return kept+found.size <= s.g.maxListBytes
}

// drop forgets a list. It is called with mu held.
func (s *session) drop(k kind, p *place) {
	if before := s.catalogue.lists[k][p]; before != nil {
		s.g.listBytes.Add(-before.size)
		delete(s.catalogue.lists[k], p)
	}
}

// dropAll forgets all lists. It is called with mu held.
func (s *session) dropAll() {
	for k := range kindCount {
		for p := range s.catalogue.lists[k] {
			s.drop(k, p)
		}
		clear(s.catalogue.failed[k])
		s.catalogue.merged[k] = nil
		s.catalogue.changes[k]++
	}
}
