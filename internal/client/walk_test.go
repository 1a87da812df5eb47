//go:build linux || darwin

package client

import (
	"errors"
	"strings"
	"testing"
)

// A drawn process of a drawn tree; the key is its id.
type drawn struct {
	parent int
	start  uint64
	has    string // "shares", "holds", "both", "hidden", "ended" or nothing
}

func draw(tree map[int]drawn) system {
	has := func(pid int, what string) (bool, error) {
		if tree[pid].has == "hidden" {
			return false, errors.New("permission denied")
		}
		return tree[pid].has == what || tree[pid].has == "both", nil
	}
	return system{
		process: func(pid int) (process, error) {
			d, ok := tree[pid]
			if !ok {
				return process{}, errors.New("no such process")
			}
			return process{pid, d.parent, d.start, d.has == "ended"}, nil
		},
		shares: func(pid int) (bool, error) { return has(pid, "shares") },
		holds:  func(pid int) (bool, error) { return has(pid, "holds") },
	}
}

func TestWalk(t *testing.T) {
	for _, c := range []struct {
		name string
		tree map[int]drawn
		want int // 0: unknown
		why  string
	}{
		{"direct", map[int]drawn{9: {8, 50, ""}, 8: {1, 40, "holds"}, 1: {0, 1, ""}}, 8, ""},
		{"launchers", map[int]drawn{9: {8, 50, ""}, 8: {7, 50, "shares"}, 7: {6, 49, "shares"}, 6: {1, 3, "holds"}, 1: {0, 1, ""}}, 6, ""},
		{"launcher with a leaked end", map[int]drawn{9: {8, 50, ""}, 8: {6, 50, "both"}, 6: {1, 3, "holds"}}, 6, ""},
		{"nearest of two", map[int]drawn{9: {8, 50, ""}, 8: {6, 50, "holds"}, 6: {1, 3, "holds"}}, 8, ""},
		{"fork helper", map[int]drawn{9: {8, 50, ""}, 8: {6, 50, ""}, 6: {1, 3, "holds"}}, 6, ""},
		{"hidden launcher", map[int]drawn{9: {8, 50, ""}, 8: {6, 50, "hidden"}, 6: {1, 3, "holds"}}, 6, ""},
		{"client is the first process", map[int]drawn{9: {1, 50, ""}, 1: {0, 1, "holds"}}, 1, ""},
		{"orphan", map[int]drawn{9: {1, 50, ""}, 1: {0, 1, ""}}, 0, "no ancestor"},
		{"hidden client", map[int]drawn{9: {8, 50, ""}, 8: {1, 9, "hidden"}, 1: {0, 1, ""}}, 0, "process 8 does not show what it holds: permission denied"},
		{"first in its namespace", map[int]drawn{9: {0, 50, ""}}, 0, "no ancestor"},
		{"ancestor that does not show", map[int]drawn{9: {8, 50, ""}}, 0, "process 8"},
		{"parent's id used again", map[int]drawn{9: {8, 50, ""}, 8: {1, 51, "holds"}}, 0, "ended"},
		{"parent that has ended", map[int]drawn{9: {8, 50, ""}, 8: {1, 3, "ended"}}, 0, "ended"},
		{"itself", map[int]drawn{}, 0, "process 9"},
		{"circle", map[int]drawn{9: {8, 50, ""}, 8: {9, 50, ""}}, 0, "more than 64"},
	} {
		p, err := draw(c.tree).client(9)
		if p.pid != c.want || (err == nil) != (c.want != 0) {
			t.Errorf("%s: %d, %v", c.name, p.pid, err)
		}
		if err != nil && (!errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), c.why)) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// What ends or is replaced while it is looked at is no client.
func TestWalkWhileItChanges(t *testing.T) {
	for name, after := range map[string]map[int]drawn{
		"client's id used again": {9: {8, 50, ""}, 8: {1, 45, "holds"}},
		"client ended":           {9: {8, 50, ""}, 8: {1, 40, "ended"}},
		"client gone":            {9: {8, 50, ""}},
		"child has a new parent": {9: {1, 50, ""}, 8: {1, 40, "holds"}},
	} {
		s := draw(map[int]drawn{9: {8, 50, ""}, 8: {1, 40, "holds"}})
		holds := s.holds
		s.holds = func(pid int) (bool, error) {
			s.process = draw(after).process
			return holds(pid)
		}
		// client has a copy of s: its process must be the one that changes.
		now := s
		now.process = func(pid int) (process, error) { return s.process(pid) }
		if p, err := now.client(9); !errors.Is(err, ErrUnknown) {
			t.Errorf("%s: %v, %v", name, p, err)
		}
	}
}
