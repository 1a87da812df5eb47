package rig

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Figures are what a process holds, as /proc of Linux shows it.
type Figures struct {
	Files    int // open file descriptors
	Threads  int
	Children int // processes below it, at any depth
	RSS      int // resident memory, KiB
}

// String is one line.
func (f Figures) String() string {
	return fmt.Sprintf("%d files, %d threads, %d children, %.1f MiB", f.Files, f.Threads, f.Children, float64(f.RSS)/1024)
}

// Figures reads the process's figures.
func (p *Process) Figures() (Figures, error) {
	dir := filepath.Join("/proc", strconv.Itoa(p.PID()))
	var f Figures
	fds, err := os.ReadDir(filepath.Join(dir, "fd"))
	if err != nil {
		return f, err
	}
	f.Files = len(fds)
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return f, err
	}
	for line := range strings.Lines(string(status)) {
		key, value, _ := strings.Cut(line, ":")
		switch key {
		case "Threads":
			f.Threads, err = strconv.Atoi(strings.TrimSpace(value))
		case "VmRSS":
			f.RSS, err = strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB"))
		}
		if err != nil {
			return f, err
		}
	}
	f.Children, err = below(p.PID())
	return f, err
}

// below counts the processes whose ancestor is pid.
func below(pid int) (int, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	children := map[int][]int{}
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // it ended meanwhile
		}
		// The name stands in parentheses and may hold anything.
		fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
		id, err1 := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if len(fields) < 2 || err1 != nil {
			continue
		}
		if parent, err := strconv.Atoi(string(fields[1])); err == nil {
			children[parent] = append(children[parent], id)
		}
	}
	n := 0
	for queue := children[pid]; len(queue) > 0; queue = queue[1:] {
		n++
		queue = append(queue, children[queue[0]]...)
	}
	return n, nil
}
