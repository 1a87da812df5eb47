package report

// contractWords puts a contract into words.
func contractWords(t *tool) line {
	c := t.contract
	if c == nil {
		return say("the tool is in no list that was given, so what holds for it is not known here")
	}
	var parts []line
	add := func(l ...line) { parts = append(parts, join(l...)) }
	switch {
	case c.Exfiltrating && len(c.SinkParams) == 0:
		add(say("sends to what stands in any argument"))
	case c.Exfiltrating:
		add(say("sends to what stands in "), vals(texts(c.SinkParams), 12))
	default:
		add(say("sends nothing anywhere, so the flow check does not apply"))
	}
	if n := len(c.TrustedDestinations); n > 0 {
		add(say("trusted: "), vals(texts(c.TrustedDestinations), 8))
	}
	if len(c.WriteParams) > 0 {
		where := say("the directories on the server's command line")
		if len(c.AllowedPathPrefixes) > 0 {
			where = vals(c.AllowedPathPrefixes, 8)
		}
		add(say("writes to the path in "), vals(texts(c.WriteParams), 6), say(", only within "), where)
	}
	for _, p := range c.ArgPatterns[:min(len(c.ArgPatterns), 6)] {
		add(val(p.Param.String()), say(" has to match "), val(p.Source))
	}
	if c.MaxCalls != nil {
		add(sayf("at most %d calls in a session", *c.MaxCalls))
	}
	if c.Destructive {
		add(say("destructive, so each call is asked about"))
	}
	if len(c.TypedParams) > 0 {
		add(say("only the user's own words in "), vals(texts(c.TypedParams), 6))
	}
	if n := len(c.Output); n > 0 {
		var loose []string
		for _, o := range c.Output {
			if o.Label.Loosens() {
				loose = append(loose, o.Path.String()+" "+o.Label.String())
			}
		}
		if len(loose) > 0 {
			add(say("its output is believed in "), vals(loose, 8))
		}
	}
	var l line
	for i, p := range parts {
		if i > 0 {
			l = append(l, say("; ")...)
		}
		l = append(l, p...)
	}
	return l
}

// texts are values as they are written.
func texts[T interface{ String() string }](list []T) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = v.String()
	}
	return out
}
