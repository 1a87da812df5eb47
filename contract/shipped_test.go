package contract

import "testing"

func TestShipped(t *testing.T) {
	l := Shipped("send_email", PackChoice{})
	if len(l) != 1 || !l[0].Exfiltrating || l[0].Source != "pack gmail" {
		t.Errorf("%+v", l)
	}
	for name, l := range map[string][]*Contract{
		"none":    Shipped("send_email", PackChoice{None: true}),
		"other":   Shipped("send_email", PackChoice{Names: []string{"filesystem"}}),
		"unknown": Shipped("no_such_tool", PackChoice{}),
		"common":  Shipped("delete_file", PackChoice{}),
	} {
		if len(l) != 0 {
			t.Errorf("%s: %+v", name, l)
		}
	}
	if l := Shipped("create_pull_request", PackChoice{}); len(l) != 2 {
		t.Errorf("two packs have the tool: %+v", l)
	}
	if len(Shipped("write_file", PackChoice{Names: []string{"filesystem"}})) != 1 {
		t.Error("the named pack has the tool")
	}
}
