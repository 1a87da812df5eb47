package doc

import "unicode/utf8"

// StepKind says what a [Step] of a selector picks.
type StepKind uint8

// The kinds of a step.
const (
	StepName     StepKind = iota // the member of that name of an object
	StepIndex                    // the element at that index of a list, from the end if negative
	StepAll                      // every element or member
	StepPosition                 // the element or member at that position
)

// Step is one step of a [Selector], for who walks a value by its own rules.
type Step struct {
	Kind  StepKind
	Name  string // of StepName
	Index int    // of StepIndex and StepPosition
}

// Steps returns the steps in order; the slice is the caller's.
func (s Selector) Steps() []Step {
	steps := make([]Step, len(s.steps))
	for i, st := range s.steps {
		steps[i] = Step{Kind: StepKind(st.kind), Name: st.name, Index: st.index}
	}
	return steps
}

// AppendPlace appends to a place what leads from parent to its element or member at
// position i, in the form of [Match].Place.
func AppendPlace(place []byte, parent Value, i int) []byte {
	if parent.kind == List {
		return step{kind: stepIndex, index: i}.append(place)
	}
	name, _ := parent.Child(i)
	if len(name) > longName {
		return step{kind: stepPosition, index: i}.append(place)
	}
	return appendName(place, name)
}

// Child returns the element or member at position i, from 0, and a member's name. It is
// absent when there is none.
func (v Value) Child(i int) (name string, child Value) {
	if v.kids == nil || i < 0 {
		return "", Value{}
	}
	if i < len(v.kids.list) {
		return "", v.kids.list[i]
	}
	if i < len(v.kids.members) {
		return v.kids.members[i].Name, v.kids.members[i].Value
	}
	return "", Value{}
}

// Position returns where a member stands in an object, -1 if there is none of that name.
func (v Value) Position(name string) int {
	if v.kind == Object && v.kids != nil {
		for i := range v.kids.members {
			if v.kids.members[i].Name == name {
				return i
			}
		}
	}
	return -1
}

// Text returns s as a value. ok is false if s is not valid UTF-8. It does not allocate.
func Text(s string) (v Value, ok bool) {
	if !utf8.ValidString(s) {
		return Value{}, false
	}
	return Value{kind: String, str: s}, true
}
