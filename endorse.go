package sallyport

import (
	"slices"
	"strings"

	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/flow"
	"github.com/sallyport-dev/sallyport/policy"
)

// endorses reports that a call fetches a page or a file that the user named in a prompt,
// or agreed to: at least one argument names one, and each that does, or names a directory
// or what the page is taken from (owner, repo, message_id), was typed or approved. What is
// searched for names no page.
func (s *Session) endorses(by *deciding, p *pending) bool {
	if !by.opt.Flow.Endorse || p.call.Subject != policy.Tool {
		return false
	}
	named := false
	every := true
	doc.Walk(p.call.Args, func(v Value, isName bool, place func() string) bool {
		if v.Kind() == doc.Number {
			chosen, _ := argumentWords(place())
			every = !chosen || s.ledger.IsTyped(v.Number())
			return every
		}
		if isName || v.Kind() != doc.String {
			return true
		}
		page := pageOrFile(v.String())
		chosen, searched := argumentWords(place())
		if !page && !directory(v.String()) && !chosen || !page && strings.TrimSpace(v.String()) == "" {
			return true
		}
		named = named || page && !searched
		every = s.ledger.IsTyped(v.String()) || p.approved(place(), v.String())
		return every
	})
	return named && every
}

// argumentWords says, by an argument's name, whether it chooses whose page or file it is,
// and whether it is searched for.
func argumentWords(place string) (chosen, searched bool) {
	name := strings.ToLower(place)
	for strings.HasSuffix(name, "]") {
		i := strings.LastIndexByte(name, '[')
		if i < 0 {
			break
		}
		name = name[:i]
	}
	name = name[strings.LastIndexByte(name, '.')+1:]
	for _, w := range []string{"owner", "repo", "user", "project", "workspace", "account", "bucket", "mailbox", "channel"} {
		chosen = chosen || strings.Contains(name, w)
	}
	for _, w := range []string{"query", "search", "filter", "pattern", "keyword"} {
		searched = searched || strings.Contains(name, w)
	}
	return chosen || strings.HasSuffix(name, "id") || strings.HasSuffix(name, "ids") || name == "ref", searched || name == "q"
}

func (p *pending) approved(place, s string) bool {
	v, ok := doc.Text(s)
	if !ok {
		return false
	}
	ds := flow.Flatten(place, v)
	return len(ds) == 1 && slices.ContainsFunc(p.agreed, func(a agreed) bool {
		return a.check == CheckFlow && a.destination != "" && a.destination == ds[0].Canonical && a.argument == place
	})
}

// directory reports a path that leads to a file which another argument names.
func directory(s string) bool {
	return s != "" && (strings.IndexByte("/.~", s[0]) >= 0 || s[len(s)-1] == '/' || strings.Contains(s, "../") || strings.IndexByte(s, '\\') >= 0)
}

// pageOrFile reports the address of a page, or a file's name: a path, or a name with an
// ending of at most five letters and digits.
func pageOrFile(s string) bool {
	v, ok := doc.Text(s)
	if !ok || len(s) > 1024 || strings.ContainsAny(s, "\r\n") {
		return false
	}
	if ds := flow.Flatten("", v); len(ds) == 1 && (ds[0].Kind == flow.URL || ds[0].Kind == flow.Host) {
		return true
	}
	if strings.Contains(s, "@") {
		return false
	}
	name := s[strings.LastIndexByte(s, '/')+1:]
	dot := strings.LastIndexByte(name, '.')
	if dot <= 0 || len(name)-dot < 2 || len(name)-dot > 6 {
		return false
	}
	letters := false
	for _, c := range []byte(name[dot+1:]) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		letters = letters || letter
		if !letter && (c < '0' || c > '9') {
			return false
		}
	}
	return letters
}
