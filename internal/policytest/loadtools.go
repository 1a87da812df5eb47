package policytest

import (
	"fmt"
	"strings"

	"github.com/sallyport-dev/sallyport"
	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
	"github.com/sallyport-dev/sallyport/policy"
)

// list reads what an upstream lists: names, or definitions as in tools/list, or the name
// of a file with that list.
func (l *loader) list(n *strictyaml.Node, upstream string) list {
	if n.IsText() && l.opt.Tools != nil {
		all, err := l.opt.Tools(n.Text(), upstream)
		if err != nil {
			l.p.Add(n, "%v", err)
		}
		return list{upstream, all, err != nil}
	}
	items, ok := n.List(l.p)
	read := list{upstream, make([]contract.Tool, 0, len(items)), !ok}
	for _, item := range items {
		var definition any
		var ok bool
		if item.IsMapping() {
			definition, ok = item.Value(l.p)
		} else if s, isText := item.Str(l.p); isText {
			definition, ok = map[string]any{"name": s}, true
		}
		if !ok {
			read.partly = true
			continue
		}
		v, err := doc.FromGo(definition)
		if err != nil {
			l.p.Add(item, "this is no definition of a tool: %v", err)
			read.partly = true
			continue
		}
		name := v.Get("name")
		if name.Kind() != doc.String || name.String() == "" {
			l.p.Add(item, "the tool has no name")
			read.partly = true
			continue
		}
		read.tools = append(read.tools, contract.Tool{Upstream: upstream, Name: name.String(), Definition: v})
	}
	return read
}

// meant is the upstream of a file that names none, and of which the configuration names
// none either: the only one that its tools name.
func (l *loader) meant(lists []list) string {
	const most = 4
	var quoted, plain []string
	for _, t := range lists {
		if len(lists) == 1 && t.upstream != "" {
			return t.upstream
		}
		if t.upstream == l.opt.Upstream {
			return t.upstream
		}
		if len(quoted) < most {
			quoted = append(quoted, strictyaml.Quote(t.upstream))
			plain = append(plain, "upstream: "+quote.Text(t.upstream, 80))
		}
	}
	if len(lists) == 0 {
		return l.opt.Upstream
	}
	l.several = fmt.Sprintf("the calls go to %s, but tools names %s; write %s, here or for the test or the file",
		strictyaml.Quote(l.opt.Upstream), strings.Join(quoted, " and "), strings.Join(plain, " or "))
	return ""
}

// shown reads the tools of listed and hidden.
func (l *loader) shown(at *strictyaml.Node, fields map[string]*strictyaml.Node) *shownStep {
	s := &shownStep{upstream: l.upstreamOf(at, fields["upstream"])}
	for _, key := range []string{"listed", "hidden"} {
		n := fields[key]
		if n == nil {
			continue
		}
		items, ok := n.List(l.p)
		if ok && len(items) == 0 {
			l.p.Add(n, "write the names of tools here: without one, nothing is tested")
		}
		for _, item := range items {
			name, isText := item.Str(l.p)
			if isText && name == "" {
				l.p.Add(item, "the tool must not be empty")
			}
			s.names = append(s.names, shownName{item, name, key == "hidden"})
		}
	}
	return s
}

// checkNames finds tools that are not in the list which their upstream told before. Such
// a call is refused whatever the policy says, so a misspelt name would make a test that
// cannot fail.
func (l *loader) checkNames(t *Test) {
	told := t.told()
	now := make(map[string]*list)
	for i := range t.lists {
		now[t.lists[i].upstream] = &t.lists[i]
	}
	for _, st := range t.steps {
		switch {
		case st.list != nil:
			now[st.list.upstream] = st.list
		case st.call != nil:
			c := st.call
			if c.call.Subject == policy.Tool && c.want.check != sallyport.CheckPin && told[c.call.Upstream] {
				l.checkName(c.named, c.call.Upstream, c.call.Name, now, " If it is meant to be missing, write check: pin")
			}
		case st.shown != nil && told[st.shown.upstream]:
			for _, n := range st.shown.names {
				l.checkName(n.at, st.shown.upstream, n.tool, now, "")
			}
		}
	}
}

func (l *loader) checkName(at *strictyaml.Node, upstream, name string, now map[string]*list, otherwise string) {
	if at == nil || name == "" {
		return // a problem that is told already
	}
	text := strictyaml.Quote(upstream) + " lists its tools only later in this test"
	if told := now[upstream]; told != nil {
		if told.partly {
			return
		}
		names := make([]string, len(told.tools))
		for i, t := range told.tools {
			if t.Name == name {
				return
			}
			names[i] = t.Name
		}
		text = fmt.Sprintf("%s lists no tool %s%s", strictyaml.Quote(upstream), strictyaml.Quote(name), strictyaml.Hint(name, names))
	}
	if otherwise != "" && !strings.HasSuffix(text, "?") {
		text += "."
	}
	l.p.Add(at, "%s%s", text, otherwise)
}
