package gateway

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/internal/upstream"
)

// catalogue is what a session knows of its upstreams' lists. Guarded by session.mu.
type catalogue struct {
	lists   [kindCount]map[*place]*listedBy
	failed  [kindCount]map[*place]failedList
	merged  [kindCount]*mergedFor // of lists as they are; nil if they changed
	changes [kindCount]int        // how often one was said to change
	links   map[string]*place     // by URI seen in results; nil for one that several have shown
	said    map[string]bool       // lines for the log that were written
}

// listedBy is one upstream's list and the link that it came over: another may see another.
type listedBy struct {
	link *link
	listed
	ttl  int64
	size int64 // bytes of it, all pages
}

// mergedFor is a merged list, and the configuration that it was made for.
type mergedFor struct {
	*merged
	setup *setup
	ttl   int64
}

// maxSaid bounds the lines about lists that one session writes.
const maxSaid = 1_000

// stale makes the next who needs a list ask for it again.
func (s *session) stale(p *place, k kind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(k, p)
	delete(s.catalogue.failed[k], p)
	s.catalogue.merged[k] = nil
	s.catalogue.changes[k]++
}

// list returns a merged list. fresh asks the upstreams again; otherwise what is known
// counts until a server says that it changed. request is what is sent to each, the client's
// own or one of the gateway's.
func (s *session) list(ctx context.Context, k kind, fresh bool, request mcp.Message) *mergedFor {
	u := s.setup()
	s.mu.Lock()
	if m := s.catalogue.merged[k]; m != nil && m.setup == u && !fresh {
		s.mu.Unlock()
		return m
	}
	s.mu.Unlock()

	links := s.openAll(ctx, u, false)
	s.mu.Lock()
	changes := s.catalogue.changes[k]
	s.mu.Unlock()
	lists := make([]*listedBy, len(links))
	var wait sync.WaitGroup
	complete := len(links) == len(u.places)
	for i, l := range links {
		if !l.hello.has[k] {
			continue
		}
		s.mu.Lock()
		known := s.catalogue.lists[k][l.place]
		s.mu.Unlock()
		if known != nil && known.link == l && !fresh {
			lists[i] = known
			continue
		}
		if !fresh && s.failedLately(k, l) {
			continue
		}
		wait.Go(func() { lists[i] = s.fetch(ctx, k, l, request) })
	}
	wait.Wait()
	m := &mergedFor{setup: u, ttl: -1}
	var all []listed
	for i, l := range lists {
		switch {
		case l != nil:
			all = append(all, l.listed)
			if m.ttl < 0 || l.ttl < m.ttl {
				m.ttl = l.ttl
			}
		case links[i].hello.has[k]:
			complete = false
		}
	}
	joined, left := merge(u.naming, k, all)
	m.merged = &joined
	m.ttl = max(m.ttl, 0)
	if !complete {
		m.ttl = 0
	}
	s.keep(k, m, lists, complete, changes)
	s.say(left)
	return m
}

// keep remembers lists that did not change meanwhile. What failed is not kept for an empty
// list.
func (s *session) keep(k kind, m *mergedFor, lists []*listedBy, complete bool, changes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &s.catalogue
	if c.changes[k] != changes {
		return
	}
	if c.lists[k] == nil {
		c.lists[k] = make(map[*place]*listedBy)
	}
	for _, l := range lists {
		if l != nil && s.links[l.link.place.Name] == l.link && !s.ended {
			s.drop(k, l.link.place)
			if s.g.listBytes.Add(l.size) > s.g.maxListBytes { // others came meanwhile
				s.g.listBytes.Add(-l.size)
				complete = false
				continue
			}
			c.lists[k][l.link.place] = l
		}
	}
	if complete {
		c.merged[k] = m
	}
}

// say writes lines about lists to the log, each once.
func (s *session) say(lines []string) {
	s.mu.Lock()
	if s.catalogue.said == nil {
		s.catalogue.said = make(map[string]bool)
	}
	var fresh []string
	for _, line := range lines {
		if !s.catalogue.said[line] && len(s.catalogue.said) < maxSaid {
			s.catalogue.said[line] = true
			fresh = append(fresh, line)
		}
	}
	s.mu.Unlock()
	for _, line := range fresh {
		s.log.Warn(line)
	}
}

// elements are what one upstream lists, as far as that is known, asked for if it is not.
func (s *session) elements(ctx context.Context, k kind, p *place) [][]byte {
	l, err := s.link(ctx, p)
	if err != nil || !l.hello.has[k] {
		return nil
	}
	s.mu.Lock()
	known, changes := s.catalogue.lists[k][l.place], s.catalogue.changes[k]
	s.mu.Unlock()
	if known == nil || known.link != l {
		if s.failedLately(k, l) {
			return nil
		}
		if known = s.fetch(ctx, k, l, s.listRequest(k)); known == nil {
			return nil
		}
		s.keep(k, nil, []*listedBy{known}, false, changes)
	}
	return known.elements
}

// listTime bounds how long one upstream may take for all pages of a list: the others wait.
// The relay waits as long for the list by which it judges.
const listTime = 30 * time.Second

// fetch follows one upstream's list over all its pages. nil: it cannot be had.
func (s *session) fetch(ctx context.Context, k kind, l *link, request mcp.Message) *listedBy {
	limited, cancel := context.WithTimeoutCause(ctx, s.g.listTime, errSlow)
	defer cancel()
	found := &listedBy{link: l, listed: listed{upstream: l.place.Name}, ttl: -1}
	err := s.pages(limited, kinds[k], found, request)
	if err == nil && !s.hasRoom(k, found) {
		err = errNoRoom
	}
	if err != nil {
		if ctx.Err() == nil {
			s.noteFailed(k, l)
		}
		s.log.Warn("an upstream's entries are absent", "upstream", l.place.Name, "list", kinds[k].method, "reason", err)
		return nil
	}
	return found
}

var (
	errEndless = errors.New("its list does not end")
	errSlow    = errors.New("its list takes too long")
	errLarge   = errors.New("its list is too large")
	errNoList  = errors.New("its list cannot be read")
	errNoRoom  = errors.New("the lists of all sessions are as large as they may be together")
)

// pages collects the elements of all pages.
func (s *session) pages(ctx context.Context, info kindInfo, found *listedBy, request mcp.Message) error {
	seen, size, cursor := make(map[string]bool), 0, ""
	for range maxPages {
		edit := mcp.Edit{Path: []string{"params", "cursor"}}
		if cursor != "" {
			edit.Value = rawText(cursor)
		}
		m, err := s.ask(ctx, found.link, request, edit)
		if err != nil {
			return err
		}
		if m.Error != nil {
			return fmt.Errorf("it refused: %s", errorText(m.Error))
		}
		if size += len(m.Result); size > s.setup().MaxMessage {
			return errLarge
		}
		found.size = int64(size)
		if err := found.add(m, info); err != nil {
			return err
		}
		f, err := mcp.Fields(m.Result, "nextCursor", "ttlMs")
		if err != nil {
			return errNoList
		}
		if ttl := rawTTL(f[1]); found.ttl < 0 || ttl < found.ttl {
			found.ttl = ttl
		}
		next, ok := mcp.Str(f[0])
		switch {
		case !ok || next == "":
			return nil
		case seen[next] || len(found.elements) > maxEntries:
			return errEndless
		}
		seen[next], cursor = true, next
	}
	return errEndless
}

// add takes the elements of one page.
func (l *listedBy) add(m mcp.Message, info kindInfo) error {
	f, err := mcp.Fields(m.Result, info.list)
	if err != nil || len(f[0]) == 0 || f[0][0] != '[' {
		return errNoList
	}
	_, err = mcp.EditList(m, info.list, func(element []byte) ([]mcp.Edit, bool) {
		l.elements = append(l.elements, element)
		return nil, false
	})
	return err
}

// listRequest is a request of the gateway's own for a list. In stateless versions it says
// of the client what the client's requests do.
func (s *session) listRequest(k kind) mcp.Message {
	var params []byte
	if s.era == upstream.Stateless {
		params = s.greeting
	}
	m, _ := mcp.Parse(mcp.NewRequest(mcp.IntID(0), kinds[k].method, params))
	return m
}

// known is a list as far as it is known, asked for if it is not.
func (s *session) known(ctx context.Context, k kind) *mergedFor {
	return s.list(ctx, k, false, s.listRequest(k))
}

// list answers a request for a merged list.
func (c *call) list(k kind) {
	f, err := mcp.Fields(c.m.Params, "cursor")
	cursor, ok := "", true
	if err == nil && f[0] != nil {
		cursor, ok = mcp.Str(f[0])
	}
	if err != nil || !ok {
		c.fail(mcp.CodeInvalidParams, "params.cursor has to be a string")
		return
	}
	m := c.s.list(c.ctx, k, cursor == "", c.m)
	var extra []byte
	if c.s.era == upstream.Stateless {
		extra = m.setup.cacheable(m.ttl)
	}
	result, err := m.page(k, cursor, extra)
	if err != nil {
		c.fail(mcp.CodeInvalidParams, err.Error())
		return
	}
	c.result(result)
}

// listPassed answers with one page of the only server's list. Its bytes stay but for names
// that do not show, which never enter the catalogue, and the cache's scope.
func (c *call) listPassed(k kind, m mcp.Message) {
	info := kinds[k]
	if m.Result == nil {
		c.answer(m)
		return
	}
	if info.renamed {
		var left []string
		m = mcp.FilterList(m, info.list, func(element []byte) bool {
			f, err := mcp.Fields(element, info.name)
			if err != nil {
				return false
			}
			name, ok := mcp.Str(f[0])
			if ok && name != "" && !visible(name) {
				left = append(left, "an entry of "+info.method+" is left out: its name "+quote.Value(name, 100)+" has characters that do not show")
				return true
			}
			return false
		})
		c.s.say(left)
	}
	c.answer(m, c.privately(m)...)
}
