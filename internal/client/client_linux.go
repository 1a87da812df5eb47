package client

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// maxDescriptors is how many descriptors of one process are looked at.
const maxDescriptors = 1 << 16

// An end is one end of a pipe or socket pair. Of a socket the inode tells which end it is,
// of a pipe the inode and the direction.
type end struct {
	socket      bool
	inode       uint64
	read, write bool
}

func findClient() (Identity, error) {
	boot, ns, err := where()
	if err != nil {
		return Identity{}, err
	}
	s, err := newSystem(os.Getpid())
	if err != nil {
		return Identity{}, err
	}
	p, err := s.client(os.Getpid())
	if err != nil {
		return Identity{}, err
	}
	return Identity{boot, ns, p.pid, p.start}, nil
}

// where returns the boot id and the namespace of process ids. /proc must be that of this
// namespace, or its process ids would be others.
func where() (boot string, ns uint64, err error) {
	self, err := os.Readlink("/proc/self")
	if err != nil || self != strconv.Itoa(os.Getpid()) {
		return "", 0, unknown("/proc does not show this process")
	}
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", 0, unknown("%v", err)
	}
	boot = strings.TrimSpace(string(b))
	link, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return "", 0, unknown("%v", err)
	}
	ns, ok := inode(link, "pid:[")
	if !ok || !isBootID(boot) {
		return "", 0, unknown("boot id %.70q, namespace %.70q", boot, link)
	}
	return boot, ns, nil
}

func newSystem(self int) (system, error) {
	in, inOK, err := endOf(self, 0)
	if err != nil {
		return system{}, unknown("standard input does not show: %v", err)
	}
	out, outOK, err := endOf(self, 1)
	if err != nil {
		return system{}, unknown("standard output does not show: %v", err)
	}
	if !inOK && !outOK {
		return system{}, unknown("neither standard input nor output is a pipe or socket")
	}
	return system{
		process: readProcess,
		shares: func(pid int) (bool, error) {
			theirIn, ok, err := endOf(pid, 0)
			if err != nil || ok && inOK && theirIn == in {
				return err == nil, err
			}
			theirOut, ok, err := endOf(pid, 1)
			return ok && outOK && theirOut == out, err
		},
		holds: func(pid int) (bool, error) {
			var wanted []end
			for fd, e := range map[int]end{0: in, 1: out} {
				switch {
				case e.socket:
					if c, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil && int(c.Pid) == pid {
						return true, nil
					}
				case e.inode != 0:
					wanted = append(wanted, end{inode: e.inode, read: e.write, write: e.read})
				}
			}
			return holdsOne(pid, wanted)
		},
	}, nil
}

// holdsOne reports whether a descriptor of pid can do with a pipe what one of the wanted
// ends can.
func holdsOne(pid int, wanted []end) (bool, error) {
	if len(wanted) == 0 {
		return false, nil
	}
	dir, err := os.Open(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return false, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(maxDescriptors)
	if err != nil {
		return false, err
	}
	for _, name := range names {
		fd, err := strconv.Atoi(name)
		if err != nil {
			return false, err
		}
		e, ok, err := endOf(pid, fd)
		if err != nil {
			return false, err
		}
		for _, w := range wanted {
			if ok && !e.socket && e.inode == w.inode && (e.read && w.read || e.write && w.write) {
				return true, nil
			}
		}
	}
	return false, nil
}

// endOf returns what a descriptor is an end of. ok is false if that is neither a pipe
// without a name nor a socket, or if there is no such descriptor.
func endOf(pid, fd int) (e end, ok bool, err error) {
	link, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, fd))
	if errors.Is(err, fs.ErrNotExist) {
		// That of a process that has ended is also not there: still finds out.
		return end{}, false, nil
	}
	if err != nil {
		return end{}, false, err
	}
	if e.inode, ok = inode(link, "socket:["); ok {
		e.socket = true
		return e, true, nil
	}
	if e.inode, ok = inode(link, "pipe:["); !ok {
		return end{}, false, nil
	}
	info, err := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%d", pid, fd))
	if errors.Is(err, fs.ErrNotExist) {
		return end{}, false, nil
	}
	if err != nil {
		return end{}, false, err
	}
	e.read, e.write, err = parseFlags(info)
	return e, err == nil, err
}

// inode reads the number in a link such as pipe:[123].
func inode(link, kind string) (uint64, bool) {
	digits, ok := strings.CutPrefix(link, kind)
	digits, end := strings.CutSuffix(digits, "]")
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, ok && end && err == nil && n != 0
}

// parseFlags reads the access mode in an fdinfo file, whose flags are octal.
func parseFlags(info []byte) (read, write bool, err error) {
	for line := range bytes.Lines(info) {
		value, ok := bytes.CutPrefix(line, []byte("flags:"))
		if !ok {
			continue
		}
		flags, err := strconv.ParseUint(string(bytes.TrimSpace(value)), 8, 64)
		if err != nil {
			return false, false, err
		}
		mode := flags & unix.O_ACCMODE
		return mode == unix.O_RDONLY || mode == unix.O_RDWR, mode == unix.O_WRONLY || mode == unix.O_RDWR, nil
	}
	return false, false, errors.New("no flags in fdinfo")
}

func readProcess(pid int) (process, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, err
	}
	return parseStat(pid, b)
}

// parseStat reads /proc/PID/stat. The program's name stands in parentheses and may hold
// anything, parentheses, spaces and line ends included: the last one closes it.
func parseStat(pid int, b []byte) (process, error) {
	bad := fmt.Errorf("/proc/%d/stat cannot be read", pid)
	begin, name, ok := bytes.Cut(b, []byte(" ("))
	at := bytes.LastIndexByte(name, ')')
	if !ok || at < 0 || string(begin) != strconv.Itoa(pid) {
		return process{}, bad
	}
	const state, parent, start = 0, 1, 19
	f := strings.Fields(string(name[at+1:]))
	if len(f) <= start || len(f[state]) != 1 {
		return process{}, bad
	}
	p := process{pid: pid, ended: strings.ContainsAny(f[state], "ZXx")}
	var err, startErr error
	p.parent, err = strconv.Atoi(f[parent])
	p.start, startErr = strconv.ParseUint(f[start], 10, 64)
	if errors.Join(err, startErr) != nil || p.parent < 0 {
		return process{}, bad
	}
	return p, nil
}

func isGone(id Identity) (bool, error) {
	boot, ns, err := where()
	switch {
	case err != nil:
		return false, err
	case boot != id.BootID:
		return true, nil
	case ns != id.Namespace:
		return false, unknown("process %d is in another namespace", id.PID)
	}
	p, err := readProcess(id.PID)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return seesOthers(id.PID)
	}
	if err != nil {
		return false, unknown("%v", err)
	}
	return p.ended || p.start != id.Start, nil
}

// seesOthers tells a process that has ended from one that /proc does not show: a signal
// that is never sent finds it.
func seesOthers(pid int) (gone bool, err error) {
	if err := unix.Kill(pid, 0); errors.Is(err, unix.ESRCH) {
		return true, nil
	}
	return false, unknown("/proc does not show process %d", pid)
}
