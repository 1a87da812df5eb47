package gateway

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/internal/upstream"
)

// hello is a server's answer to a greeting: to initialize, or to server/discover.
type hello struct {
	m            mcp.Message // as the relay lets it through
	capabilities doc.Value
	has          [kindCount]bool
	changes      [kindCount]bool // it says when a list changes
	logging      bool
	instructions string
	ttl          int64
}

func readHello(m mcp.Message) (h hello, err error) {
	v, err := doc.Parse(m.Result, doc.Limits{})
	if err != nil {
		return h, err
	}
	h = hello{m: m, capabilities: v.Get("capabilities"), instructions: v.Get("instructions").String(), ttl: rawTTL([]byte(v.Get("ttlMs").Number()))}
	for k, info := range kinds {
		c := h.capabilities.Get(info.capability)
		h.has[k] = c.Kind() == doc.Object
		h.changes[k] = c.Get("listChanged").Bool()
	}
	h.logging = h.capabilities.Get("logging").Kind() == doc.Object
	return h, nil
}

// rawTTL reads a ttlMs; what is missing or no number of milliseconds is stale at once.
func rawTTL(raw []byte) int64 {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// versions are what this program speaks to clients, newest first.
var versions = []string{mcp.V20260728, mcp.V20251125, mcp.V20250618, mcp.V20250326, mcp.V20241105}

// negotiate chooses the version of a handshake: the client's if it is one, else the latest.
func negotiate(wish string) string {
	if wish != mcp.V20260728 && slices.Contains(versions, wish) {
		return wish
	}
	return mcp.V20251125
}

// initialize answers the request that began the session.
func (c *call) initialize() {
	s, u := c.s, c.s.setup()
	version := mcp.Edit{Path: []string{"result", "protocolVersion"}, Value: rawText(s.version)}
	if !u.naming.passes() {
		open := s.openAll(c.ctx, u, true)
		s.noteGreeted([kindCount]bool{true, true, true, false})
		c.result(u.mergedInitialize(open, s.version))
		return
	}
	l, err := s.link(c.ctx, u.places[0])
	if err != nil {
		c.fail(mcp.CodeInternal, err.Error())
		return
	}
	s.noteGreeted(l.hello.changes)
	edits := []mcp.Edit{version}
	if u.Instructions != "" {
		edits = append(edits, mcp.Edit{Path: []string{"result", "instructions"}, Value: rawText(joinInstructions(u.Instructions, l.hello.instructions))})
	}
	c.answer(l.hello.m, edits...)
}

func (s *session) noteGreeted(announces [kindCount]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.greeted, s.announces = true, announces
}

// discover answers server/discover.
func (c *call) discover() {
	s, u := c.s, c.s.setup()
	if !u.naming.passes() {
		c.result(u.mergedDiscover(s.openAll(c.ctx, u, true)))
		return
	}
	l, fresh, err := s.linkTo(c.ctx, u.places[0])
	switch {
	case err != nil:
		c.fail(mcp.CodeInternal, err.Error())
	case fresh:
		c.discovered(u, l.hello.m)
	default:
		c.forward(l, func(m mcp.Message) { c.discovered(u, m) })
	}
}

// discovered answers with what the server said, but for the versions: those are a matter
// between the client and this program.
func (c *call) discovered(u *setup, m mcp.Message) {
	if m.Result == nil {
		c.answer(m)
		return
	}
	edits := []mcp.Edit{{Path: []string{"result", "supportedVersions"}, Value: rawTexts(versions)}}
	if u.Instructions != "" {
		own := parsed(m.Result).Get("instructions").String()
		edits = append(edits, mcp.Edit{Path: []string{"result", "instructions"}, Value: rawText(joinInstructions(u.Instructions, own))})
	}
	c.answer(m, append(edits, c.privately(m)...)...)
}

// privately edits a result that any client may cache into one that belongs to its caller:
// another one's policy may not show it.
func (c *call) privately(m mcp.Message) []mcp.Edit {
	if c.s.era != upstream.Stateless {
		return nil
	}
	f, err := mcp.Fields(m.Result, "cacheScope")
	if err != nil || f[0] == nil || string(f[0]) == `"private"` {
		return nil
	}
	return []mcp.Edit{{Path: []string{"result", "cacheScope"}, Value: []byte(`"private"`)}}
}

// openAll opens the upstreams that can be, all at once, and returns them in order. It waits
// for those that are slow no longer than StartTimeout; what is late is announced when it
// comes. again says that those which were down a moment ago are tried.
func (s *session) openAll(ctx context.Context, u *setup, again bool) []*link {
	ctx, cancel := context.WithTimeout(ctx, u.StartTimeout)
	defer cancel()
	open := make([]*link, len(u.places))
	var wait sync.WaitGroup
	for i, p := range u.places {
		s.mu.Lock()
		absent := s.absent[p] && s.links[p.Name] == nil
		s.mu.Unlock()
		if absent && !again {
			continue
		}
		wait.Go(func() {
			l, err := s.link(ctx, p)
			if err == nil {
				open[i] = l
				return
			}
			s.mu.Lock()
			s.absent[p] = true // it may be late
			s.mu.Unlock()
		})
	}
	wait.Wait()
	return slices.DeleteFunc(open, func(l *link) bool { return l == nil })
}

const defaultInstructions = said + "Several MCP servers stand behind this gateway. It decides about each call by rules that the user has set. A result that begins with [sallyport blocked] says what a rule refused and why: do not try to get around it, tell the user."

const maxInstructions = 64 << 10 // bytes of all servers' instructions

func joinInstructions(own, server string) string {
	if server == "" {
		return own
	}
	return own + "\n\n" + server
}

// instructions are the gateway's and those of each server, under its name.
func (u *setup) instructions(open []*link) string {
	var b strings.Builder
	if u.Instructions != "" {
		b.WriteString(u.Instructions)
	} else {
		b.WriteString(defaultInstructions)
	}
	for _, l := range open {
		text := l.hello.instructions
		if text == "" || b.Len()+len(text) > maxInstructions {
			continue
		}
		b.WriteString("\n\n# " + quote.Text(l.place.Name, 64) + "\n\n" + text)
	}
	return b.String()
}

// mergedCapabilities are those of all servers. A list can change in any case: a server may
// come back, and Reload may change what is shown.
func (u *setup) mergedCapabilities(open []*link) []byte {
	all := map[string]any{}
	for _, l := range open {
		all, _ = union(all, l.hello.capabilities).(map[string]any)
	}
	for _, name := range []string{"tools", "prompts", "resources"} {
		if have, ok := all[name].(map[string]any); ok {
			have["listChanged"] = true
		} else if len(open) < len(u.places) || name == "tools" {
			all[name] = map[string]any{"listChanged": true}
		}
	}
	v, err := doc.FromGo(all)
	if err != nil {
		return []byte(`{"tools":{"listChanged":true}}`)
	}
	return v.AppendJSON(nil)
}

// union joins two capability objects: members of either, true where one says so, and
// otherwise what the first says.
func union(a any, b doc.Value) any {
	switch have := a.(type) {
	case map[string]any:
		for m := range b.Members() {
			if before, ok := have[m.Name]; ok {
				have[m.Name] = union(before, m.Value)
			} else {
				have[m.Name] = union(nil, m.Value)
			}
		}
		return have
	case bool:
		return have || b.Bool()
	case nil:
		switch b.Kind() {
		case doc.Object:
			return union(map[string]any{}, b)
		case doc.Bool:
			return b.Bool()
		}
		return b
	}
	return a
}

func (u *setup) serverInfo() []byte {
	b := append([]byte(`{"name":`), rawText(u.Name)...)
	return append(append(append(b, `,"version":`...), rawText(u.Version)...), '}')
}

func (u *setup) mergedInitialize(open []*link, version string) []byte {
	b := append([]byte(`{"protocolVersion":`), rawText(version)...)
	b = append(append(b, `,"capabilities":`...), u.mergedCapabilities(open)...)
	b = append(append(b, `,"serverInfo":`...), u.serverInfo()...)
	b = append(append(b, `,"instructions":`...), rawText(u.instructions(open))...)
	return append(b, '}')
}

func (u *setup) mergedDiscover(open []*link) []byte {
	ttl := time.Hour.Milliseconds()
	for _, l := range open {
		ttl = min(ttl, l.hello.ttl)
	}
	if len(open) < len(u.places) {
		ttl = 0
	}
	b := append([]byte{'{'}, u.cacheable(ttl)...)
	b = append(append(b, `"supportedVersions":`...), rawTexts(versions)...)
	b = append(append(b, `,"capabilities":`...), u.mergedCapabilities(open)...)
	b = append(append(b, `,"instructions":`...), rawText(u.instructions(open))...)
	return append(b, '}')
}

// cacheable are the members that a result of the gateway's own has in stateless versions,
// each with a comma behind it.
func (u *setup) cacheable(ttl int64) []byte {
	b := append([]byte(`"resultType":"complete","ttlMs":`), strconv.FormatInt(ttl, 10)...)
	b = append(b, `,"cacheScope":"private","_meta":{"`+metaPrefix+`serverInfo":`...)
	return append(append(b, u.serverInfo()...), "},"...)
}

func rawTexts(all []string) []byte {
	b := []byte{'['}
	for i, s := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, rawText(s)...)
	}
	return append(b, ']')
}
