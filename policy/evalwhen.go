package policy

import (
	"github.com/sallyport-dev/sallyport/doc"
)

// evaluator judges constraints for one call. It lives on the stack of Evaluate.
type evaluator struct {
	target Target
	facts  *Facts
	values int    // left of MaxValues
	bytes  int    // left of MaxText
	why    why    // the first thing of the current constraint that could not be evaluated
	place  []byte // of the current value; only while placing
	note   *note  // nil: nobody wants to know
	// placing is set when somebody needs places.
	placing bool
}

// emptyObject stands for arguments that were left out.
var emptyObject = func() doc.Value {
	v, err := doc.FromGo(map[string]any{})
	if err != nil {
		panic(err) // constant input
	}
	return v
}()

// rule returns whether r matches the call by its constraints, and the constraint that
// decided: the first that failed, else the first that could not be evaluated.
func (e *evaluator) rule(r *Rule) (matched bool, decisive *Constraint) {
	var first why
	for i := range r.when {
		c := &r.when[i]
		switch e.constraint(c) {
		case Fail:
			return false, c
		case Cannot:
			if decisive == nil {
				decisive, first = c, e.why
			}
		}
	}
	e.why = first
	return decisive == nil || r.Effect != Allow, decisive
}

func (e *evaluator) constraint(c *Constraint) Outcome {
	e.values, e.bytes, e.why = MaxValues, MaxText, why{}
	e.placing = c.placing || e.note != nil
	if e.placing {
		e.place = append(e.place[:0], rootNames[c.root]...)
	}
	v, known := e.root(c.root)
	if !known {
		return e.cannot("it is not known")
	}
	return e.walk(c, 0, v)
}

// root returns what the first word of a selector stands for. known is false when the
// program that asks did not say.
func (e *evaluator) root(r root) (v doc.Value, known bool) {
	t := &e.target
	name, there := "", false
	switch r {
	case argsRoot:
		if t.Args.Kind() == doc.Absent {
			return emptyObject, true
		}
		return t.Args, true
	case toolRoot:
		name, there = t.Name, t.Subject == Tool
	case resourceRoot:
		name, there = t.Name, t.Subject == Resource
	case promptRoot:
		name, there = t.Name, t.Subject == Prompt
	case upstreamRoot:
		name, there = t.Upstream, true
	case callerRoot:
		if t.Caller == "" {
			return v, false
		}
		name, there = t.Caller, true
	}
	if !there {
		return v, true
	}
	return doc.Text(name)
}

// walk follows the steps of a selector from step i on.
func (e *evaluator) walk(c *Constraint, i int, v doc.Value) Outcome {
	for ; i < len(c.steps) && v.Kind() != doc.Absent; i++ {
		st := &c.steps[i]
		switch {
		case st.Kind == doc.StepAll:
			return e.every(c, i+1, v)
		case st.Kind == doc.StepName && v.Kind() != doc.Object:
			return e.wrongKind(v.Kind(), wantObject)
		case st.Kind == doc.StepIndex && v.Kind() != doc.List:
			return e.wrongKind(v.Kind(), wantList)
		}
		parent := v
		if st.Kind == doc.StepName {
			v = parent.Get(st.Name)
		} else {
			v = parent.At(st.Index)
		}
		if e.placing && v.Kind() != doc.Absent {
			e.place = doc.AppendPlace(e.place, parent, leadsTo(st, parent))
		}
	}
	if v.Kind() == doc.Absent {
		return e.missing(c)
	}
	return e.value(c, v)
}

// leadsTo is the position in v of what a step that finds something finds.
func leadsTo(st *doc.Step, v doc.Value) int {
	if st.Kind == doc.StepName {
		return v.Position(st.Name)
	}
	if st.Index < 0 {
		return st.Index + v.Len()
	}
	return st.Index
}

// every judges all that a wildcard finds in v.
func (e *evaluator) every(c *Constraint, i int, v doc.Value) Outcome {
	if v.Kind() != doc.List && v.Kind() != doc.Object {
		return e.wrongKind(v.Kind(), wantMany)
	}
	if v.Len() == 0 {
		return e.noted(Fail, nil, v, "the wildcard finds nothing")
	}
	end, out := Fail, Pass // what ends the search, and what holds without it
	if c.Quantifier == Any {
		end, out = Pass, Fail
	}
	at := len(e.place)
	for k := range v.Len() {
		_, child := v.Child(k)
		if e.placing {
			e.place = doc.AppendPlace(e.place[:at], v, k)
		}
		switch e.walk(c, i, child) {
		case end:
			return end
		case Cannot:
			out = Cannot
		}
		if e.values < 0 {
			break
		}
	}
	return out
}

func (e *evaluator) missing(c *Constraint) Outcome {
	switch {
	case c.ops[0].Operator == Absent:
		return e.noted(Pass, &c.ops[0], doc.Value{}, "")
	case c.Optional:
		return e.noted(Pass, nil, doc.Value{}, "")
	}
	return e.noted(Fail, &c.ops[0], doc.Value{}, "")
}

// value applies every operator to one value.
func (e *evaluator) value(c *Constraint, v doc.Value) Outcome {
	if c.wild {
		if e.values--; e.values < 0 {
			return e.cannot("there are more values than are looked at")
		}
		if e.bytes -= len(v.String()); e.bytes < 0 {
			e.values = -1
			return e.cannot("there is more text than is looked at")
		}
	}
	out := Pass
	for i := range c.ops {
		o := &c.ops[i]
		got := e.apply(o, v)
		if got == Pass {
			continue
		}
		e.noted(got, o, v, "")
		if out = got; got == Fail {
			return Fail
		}
	}
	if out == Pass {
		e.noted(Pass, &c.ops[0], v, "")
	}
	return out
}
