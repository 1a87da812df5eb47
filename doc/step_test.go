package doc

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSteps(t *testing.T) {
	sel, err := ParseSelector(`a["b c"][0][-1][*][#2]`)
	if err != nil {
		t.Fatal(err)
	}
	want := []Step{{StepName, "a", 0}, {StepName, "b c", 0}, {StepIndex, "", 0}, {StepIndex, "", -1}, {StepAll, "", 0}, {StepPosition, "", 2}}
	if diff := cmp.Diff(want, sel.Steps()); diff != "" {
		t.Error(diff)
	}
	sel.Steps()[0].Name = "z"
	if sel.Steps()[0].Name != "a" {
		t.Error("a caller can change a selector")
	}
}

func TestChildAndPlace(t *testing.T) {
	long := strings.Repeat("k", longName+1)
	v, err := Parse([]byte(`{"a":[10,{"odd key":1}],"`+long+`":2}`), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	_, list := v.Child(0)
	_, inner := list.Child(1)
	place := AppendPlace(AppendPlace(AppendPlace([]byte("args"), v, 0), list, 1), inner, 0)
	if string(place) != `args.a[1]["odd key"]` {
		t.Errorf("place %s", place)
	}
	if got := string(AppendPlace(nil, v, 1)); got != "[#1]" {
		t.Errorf("the place of a long name is %s", got)
	}
	for _, i := range []int{-1, 2, 99} {
		if _, c := v.Child(i); c.Kind() != Absent {
			t.Errorf("child %d is %v", i, c.Kind())
		}
	}
	if _, c := (Value{}).Child(0); c.Kind() != Absent {
		t.Error("an absent value has a child")
	}
	if v.Position("a") != 0 || v.Position(long) != 1 || v.Position("x") != -1 || list.Position("a") != -1 {
		t.Error("wrong positions")
	}
}

func TestText(t *testing.T) {
	if v, ok := Text("é"); !ok || v.Kind() != String || v.String() != "é" {
		t.Error(v, ok)
	}
	if v, ok := Text("\xff"); ok || v.Kind() != Absent {
		t.Error("invalid UTF-8 became a value")
	}
	if n := testing.AllocsPerRun(100, func() { Text("some text") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
