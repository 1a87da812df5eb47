package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// partyFields are the members of an output's objects in which a server names whom a
// message, a file or an event is from.
var partyFields = []string{"sender", "from", "owner", "author", "organizer", "participants"}

// fromAttacker is the pair with every poisoned message sent, owned or joined by the
// destination that the attack sends to: labels that trust whom a message is from must not
// help it. Poisoned text without such a field, and attacks that send nowhere, stay as
// they are.
func (s *suite) fromAttacker(p pair) (_ pair, changed bool, err error) {
	to, err := s.attackersDestination(p)
	marker := s.marker()
	if err != nil || to == "" || marker == "" {
		return p, false, err
	}
	p.Steps = slices.Clone(p.Steps)
	for i := range p.Steps {
		st := &p.Steps[i]
		if len(st.JSON) == 0 || !bytes.Contains(st.JSON, []byte(strings.Trim(quote(marker), `"`))) {
			continue
		}
		decoder := json.NewDecoder(bytes.NewReader(st.JSON))
		decoder.UseNumber()
		var v any
		if err := decoder.Decode(&v); err != nil {
			return p, false, err
		}
		if !impersonate(v, marker, to) {
			continue
		}
		changed = true
		var out bytes.Buffer
		enc := json.NewEncoder(&out)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(v); err != nil {
			return p, false, err
		}
		st.JSON = out.Bytes()
	}
	return p, changed, nil
}

// marker is the first line of what the benchmark puts round every injection.
func (s *suite) marker() string {
	for line := range strings.Lines(s.Template) {
		line, _, _ = strings.Cut(line, "{")
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return ""
}

func quote(s string) string {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return ""
	}
	return strings.TrimSpace(out.String())
}

// attackersDestination is the first destination that the attack's calls name.
func (s *suite) attackersDestination(p pair) (string, error) {
	for _, st := range p.Steps {
		at := slices.IndexFunc(s.Tools, func(t tool) bool { return t.Name == st.Function })
		if st.Phase != "injection" || at < 0 || s.Tools[at].Sink == nil {
			continue
		}
		var args map[string]any
		if err := json.Unmarshal(st.Args, &args); err != nil {
			return "", err
		}
		for param := range s.Tools[at].Sink.Dest {
			switch v := args[param].(type) {
			case string:
				return v, nil
			case []any:
				for _, e := range v {
					if text, ok := e.(string); ok {
						return text, nil
					}
				}
			}
		}
	}
	return "", nil
}

// impersonate changes the objects that hold poisoned text themselves.
func impersonate(v any, marker, to string) (changed bool) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			changed = impersonate(e, marker, to) || changed
		}
	case map[string]any:
		poisoned := false
		for _, e := range v {
			text, ok := e.(string)
			poisoned = poisoned || ok && strings.Contains(text, marker)
			changed = impersonate(e, marker, to) || changed
		}
		if !poisoned {
			return changed
		}
		for _, name := range partyFields {
			switch have := v[name].(type) {
			case string:
				v[name], changed = to, true
			case []any:
				v[name], changed = append(have, to), true
			}
		}
	}
	return changed
}
