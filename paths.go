package sallyport

import (
	"errors"
	"strings"

	"github.com/sallyport-dev/sallyport/confine"
	"github.com/sallyport-dev/sallyport/doc"
)

// maxValues bounds how many values one selector of a contract may find in a call.
const maxValues = 10_000

// path confines every value of the contract's write parameters.
func (e *evaluation) path() bool {
	c := e.p.contract
	if c == nil || len(c.WriteParams) == 0 {
		return true
	}
	root := c.Confine
	roots, resolve := e.by.place(e.p.call.Upstream)
	if root == nil {
		root = roots
	}
	if root == nil {
		return e.deny(CheckPath, "%s writes files, and nothing says where it may: set allowed_path_prefixes in its contract", quoted(e.p.call.shown()))
	}
	for _, param := range c.WriteParams {
		found, more := param.Select(e.p.call.Args, maxValues)
		if more {
			return e.deny(CheckPath, "argument %s holds more than %d paths", param, maxValues)
		}
		if len(found) == 0 {
			return e.deny(CheckPath, "argument %s is missing, so where %s writes is not known", param, quoted(e.p.call.shown()))
		}
		if at, partly := e.gap(param); partly {
			return e.deny(CheckPath, "argument %s has no value for %s, so where %s writes is not known", at, param, quoted(e.p.call.shown()))
		}
		for _, m := range found {
			if m.Value.Kind() != doc.String {
				return e.deny(CheckPath, "argument %s is a %s, not a path", shown(m.Place), m.Value.Kind())
			}
			if _, err := root.Check(m.Value.String(), resolve); err != nil {
				return e.deny(CheckPath, "argument %s: %s%s", shown(m.Place), strings.TrimPrefix(err.Error(), "path "), allowed(root, err))
			}
		}
	}
	return true
}

// gap returns the first place where a parameter that is found elsewhere in the call, such
// as files[*].path, is missing: one element with a good path says nothing of the next.
func (e *evaluation) gap(param doc.Selector) (place string, found bool) {
	gaps, _ := param.Gaps(e.p.call.Args, 1)
	if len(gaps) == 0 {
		return "", false
	}
	return shown(gaps[0].Place), true
}

// allowed says, to an agent whose path lies outside, where it may write.
func allowed(root *confine.Root, err error) string {
	if !errors.Is(err, confine.ErrOutside) {
		return ""
	}
	prefixes := root.Prefixes()
	const most = 3
	more := ""
	if len(prefixes) > most {
		prefixes, more = prefixes[:most], " and others"
	}
	for i, p := range prefixes {
		prefixes[i] = quoted(p)
	}
	return "; this tool may write in " + strings.Join(prefixes, ", ") + more
}

// patterns matches the contract's arg_patterns in full.
func (e *evaluation) patterns() bool {
	c := e.p.contract
	if c == nil {
		return true
	}
	for _, p := range c.ArgPatterns {
		found, more := p.Param.Select(e.p.call.Args, maxValues)
		switch {
		case more:
			return e.deny(CheckPattern, "argument %s holds more than %d values", p.Param, maxValues)
		case len(found) == 0:
			return e.deny(CheckPattern, "argument %s is missing, and the contract wants it to match %s", p.Param, quoted(p.Source))
		}
		if at, partly := e.gap(p.Param); partly {
			return e.deny(CheckPattern, "argument %s has no value for %s, and the contract wants it to match %s", at, p.Param, quoted(p.Source))
		}
		for _, m := range found {
			if m.Value.Kind() != doc.String {
				return e.deny(CheckPattern, "argument %s is a %s, and the contract wants text that matches %s", shown(m.Place), m.Value.Kind(), quoted(p.Source))
			}
			if s := m.Value.String(); len(s) > maxPatternText {
				return e.deny(CheckPattern, "argument %s is longer than %d bytes, and the contract wants it to match %s", shown(m.Place), maxPatternText, quoted(p.Source))
			} else if !p.Pattern.MatchString(s) {
				return e.deny(CheckPattern, "argument %s=%s does not match %s in full", shown(m.Place), quoted(s), quoted(p.Source))
			}
		}
	}
	return true
}

// maxPatternText bounds what reaches a regular expression, in bytes.
const maxPatternText = 64 << 10
