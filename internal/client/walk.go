//go:build linux || darwin

package client

import (
	"errors"
	"fmt"
)

// maxDepth is how many ancestors are looked at.
const maxDepth = 64

// A process is what the walk needs to know of one.
type process struct {
	pid, parent int
	start       uint64
	ended       bool // a process that nobody waited for yet
}

// A system is what the walk asks. Its functions are fields so that a test can draw a tree.
type system struct {
	process func(pid int) (process, error)

	// shares reports whether the process has this process's end of standard input or
	// output as its own.
	shares func(pid int) (bool, error)

	// holds reports whether the process holds the other end of either.
	holds func(pid int) (bool, error)
}

// client walks up from the process self.
func (s system) client(self int) (process, error) {
	child, err := s.process(self)
	if err != nil {
		return process{}, unknown("process %d does not show: %v", self, err)
	}
	hidden := "" // the first ancestor that does not show what it holds
	for range maxDepth {
		if child.parent <= 0 {
			return process{}, unknown("no ancestor is seen to hold the other end of standard input or output%s", hidden)
		}
		p, err := s.process(child.parent)
		if err != nil {
			return process{}, unknown("process %d, an ancestor, does not show: %v", child.parent, err)
		}
		// A process cannot be younger than its child: this is another with its id.
		if p.start > child.start || p.ended {
			return process{}, unknown("process %d, an ancestor, has ended", p.pid)
		}
		found, err := s.isClient(p.pid)
		switch {
		case err != nil && hidden == "":
			hidden = fmt.Sprintf("; process %d does not show what it holds: %v", p.pid, err)
		case found:
			return p, s.still(child, p)
		}
		child = p
	}
	return process{}, unknown("it has more than %d ancestors", maxDepth)
}

func (s system) isClient(pid int) (bool, error) {
	shares, err := s.shares(pid)
	if err != nil || shares {
		return false, err
	}
	return s.holds(pid)
}

// still makes sure that what was looked at belonged to p throughout.
func (s system) still(child, p process) error {
	c, err := s.process(child.pid)
	again, againErr := s.process(p.pid)
	if errors.Join(err, againErr) != nil || c.parent != p.pid || again.start != p.start || again.ended {
		return unknown("process %d ended while it was looked at", p.pid)
	}
	return nil
}
