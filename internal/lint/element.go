package lint

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/policy"
)

// oneElement looks for a constraint on one element of a list, where nothing looks at the
// others or says that there are none.
func (k *check) oneElement(r *ruleView, c *policy.Constraint) {
	steps := c.Steps()
	if c.Root() != "args" || onlyPresence(c) {
		return
	}
	for i, s := range steps {
		if s.Kind != doc.StepIndex || k.othersSeen(r, steps[:i]) {
			continue
		}
		which := "element " + strconv.Itoa(s.Index)
		switch s.Index {
		case 0:
			which = "the first element"
		case -1:
			which = "the last element"
		}
		k.add(c.Key, "SP210", "write [*], or max_length on the list",
			"only "+which+" is looked at by "+show(c.Selector)+": the rule "+show(r.Name)+" allows a list with any others beside it")
		return
	}
}

// othersSeen reports that a rule looks at every element of a list, or at as many as there
// may be.
func (k *check) othersSeen(r *ruleView, list []doc.Step) bool {
	var indexes []int
	most := -1
	for _, c := range r.when {
		steps := c.Steps()
		if c.Root() != "args" || len(steps) < len(list) || !slices.Equal(steps[:len(list)], list) {
			continue
		}
		if len(steps) == len(list) {
			for _, o := range c.Operations() {
				switch o.Operator {
				case policy.Eq, policy.In:
					return true
				case policy.MaxLength:
					if n, err := strconv.Atoi(o.Operands()[0].Number()); err == nil && !c.Optional {
						most = n
					}
				}
			}
			continue
		}
		switch next := steps[len(list)]; {
		case next.Kind == doc.StepAll && c.Quantifier == policy.All:
			return true
		case next.Kind == doc.StepIndex && !slices.Contains(indexes, next.Index):
			indexes = append(indexes, next.Index)
		}
	}
	return most >= 0 && most <= len(indexes)
}

var (
	// belowPath is a pattern for everything below one absolute directory.
	belowPath = regexp.MustCompile(`^\^?((?:/(?:[A-Za-z0-9_ @-]|\\?\.)+)+)/(?:\.[*+]|\(\.[*+]\))\$?$`)
	// ofServer are words in the names of arguments that hold paths of URLs.
	ofServer = regexp.MustCompile(`(?i)ur[il]|endpoint|route|api|href|link|resource`)
	// hostName is a host name, or a URL, with what may stand around it, below a domain that people use
	// and that is no common ending of a file's name.
	hostName = regexp.MustCompile(`(?i)^(https?://|@|\.)?((?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+(?:com|org|net|io|dev|edu|gov|ai|co|eu|de|uk|fr|nl|example|internal|corp|lan))(?::[0-9]+)?(/[^ ]*)?$`)
)

// wrongTool looks for text operators where there is one that reads paths or hosts.
func (k *check) wrongTool(r *ruleView, c *policy.Constraint, o policy.Operation) {
	if c.Root() != "args" || o.Node == nil {
		return
	}
	switch {
	case o.Operator == policy.Matches && !ofServer.MatchString(c.Selector):
		if m := belowPath.FindStringSubmatch(o.Pattern()); m != nil {
			dir := strings.ReplaceAll(m[1], `\`, "")
			problem := show(dir+"/../x") + " matches and leads out of " + show(dir)
			if r.Effect != policy.Allow {
				problem = show("/x/.."+dir+"/y") + " leads into " + show(dir) + " and does not match"
			}
			k.add(o.Node, "SP211", "write within: "+dir, "the pattern "+show(o.Pattern())+" reads a path as text: "+problem)
		}
	case o.Operator == policy.Contains && r.Effect == policy.Allow:
		v := o.Operands()[0]
		m := hostName.FindStringSubmatch(v.String())
		if v.Kind() != doc.String || m == nil {
			return
		}
		k.add(o.Node, "SP212", "write host: "+m[2]+", or domain for all names below it too",
			"contains "+show(v.String())+" looks at text, not at the host: "+show("https://evil.example/?"+v.String())+" passes")
	}
}
