package client

import (
	"encoding/binary"
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// From <sys/proc_info.h> of XNU: proc_info(2) with PROC_INFO_CALL_PIDINFO and
// PROC_INFO_CALL_PIDFDINFO, which libproc wraps. A struct pipe_fdinfo has 24 bytes of
// proc_fileinfo, 136 of vinfo_stat, then the handles of this end and of its peer; a struct
// socket_fdinfo has the socket's handle at the same place.
const (
	callPIDInfo   = 2
	callPIDFDInfo = 3
	listFDs       = 1
	socketInfo    = 3
	pipeInfo      = 6
	typePipe      = 6
	pipeInfoSize  = 184
	handleAt      = 160
	peerAt        = 168
	maxFDBytes    = 8 << 16 // 8 for each descriptor

	solLocal     = 0
	localPeerPID = 2
	zombie       = 5 // SZOMB
)

// An end is one end of a pipe or a socket, by the handle that the kernel shows of it.
type end struct {
	socket       bool
	handle, peer uint64
}

func findClient() (Identity, error) {
	boot, err := bootID()
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
	return Identity{BootID: boot, PID: p.pid, Start: p.start}, nil
}

func bootID() (string, error) {
	boot, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil || !isBootID(boot) {
		return "", unknown("boot id %.70q, %v", boot, err)
	}
	return boot, nil
}

func newSystem(self int) (system, error) {
	in, inErr := endOf(self, 0)
	out, outErr := endOf(self, 1)
	if inErr != nil && outErr != nil {
		return system{}, unknown("neither standard input nor output is a pipe or socket: %v", inErr)
	}
	// The two are never one, unless what was read is not what it should be.
	if inErr == nil && outErr == nil && !in.socket && in.handle == out.handle {
		return system{}, unknown("standard input and output are one pipe")
	}
	return system{
		process: readProcess,
		shares: func(pid int) (bool, error) {
			// What cannot be shown is no end, or that of another user's process: then
			// holds finds nothing either.
			if e, err := endOf(pid, 0); err == nil && inErr == nil && e.socket == in.socket && e.handle == in.handle {
				return true, nil
			}
			e, err := endOf(pid, 1)
			return err == nil && outErr == nil && e.socket == out.socket && e.handle == out.handle, nil
		},
		holds: func(pid int) (bool, error) {
			peers := make(map[uint64]bool)
			for fd, e := range map[int]end{0: in, 1: out} {
				switch {
				case e.socket:
					if peer, err := unix.GetsockoptInt(fd, solLocal, localPeerPID); err == nil && peer == pid {
						return true, nil
					}
				case e.peer != 0:
					peers[e.peer] = true
				}
			}
			return holdsOne(pid, peers)
		},
	}, nil
}

func holdsOne(pid int, handles map[uint64]bool) (bool, error) {
	if len(handles) == 0 {
		return false, nil
	}
	b := make([]byte, maxFDBytes)
	n, err := procInfo(callPIDInfo, pid, listFDs, 0, b)
	if err != nil {
		return false, err
	}
	for b = b[:n]; len(b) >= 8; b = b[8:] {
		if binary.NativeEndian.Uint32(b[4:]) != typePipe {
			continue
		}
		e, err := endOf(pid, int(int32(binary.NativeEndian.Uint32(b))))
		if err == nil && !e.socket && handles[e.handle] {
			return true, nil
		}
	}
	return false, nil
}

var errNoEnd = errors.New("no pipe or socket")

func endOf(pid, fd int) (end, error) {
	b := make([]byte, 4096)
	n, err := procInfo(callPIDFDInfo, pid, pipeInfo, fd, b)
	if err == nil && n == pipeInfoSize {
		e := end{handle: binary.NativeEndian.Uint64(b[handleAt:]), peer: binary.NativeEndian.Uint64(b[peerAt:])}
		if e.handle != 0 && e.handle != e.peer {
			return e, nil
		}
		return end{}, errNoEnd
	}
	n, err = procInfo(callPIDFDInfo, pid, socketInfo, fd, b)
	if err == nil && n > handleAt+8 {
		if h := binary.NativeEndian.Uint64(b[handleAt:]); h != 0 {
			return end{socket: true, handle: h}, nil
		}
	}
	return end{}, errors.Join(errNoEnd, err)
}

func procInfo(call, pid, flavour, arg int, b []byte) (int, error) {
	n, _, errno := unix.Syscall6(unix.SYS_PROC_INFO, uintptr(call), uintptr(pid), uintptr(flavour), uintptr(arg),
		uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
	if errno != 0 {
		return 0, errno
	}
	if n > uintptr(len(b)) {
		return 0, errNoEnd
	}
	return int(n), nil
}

func readProcess(pid int) (process, error) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return process{}, err
	}
	if int(k.Proc.P_pid) != pid {
		return process{}, unix.ESRCH
	}
	t := k.Proc.P_starttime
	return process{
		pid: pid, parent: int(k.Eproc.Ppid), start: uint64(t.Sec)*1e6 + uint64(t.Usec), ended: k.Proc.P_stat == zombie,
	}, nil
}

func isGone(id Identity) (bool, error) {
	boot, err := bootID()
	if err != nil {
		return false, err
	}
	if boot != id.BootID {
		return true, nil
	}
	if err := unix.Kill(id.PID, 0); errors.Is(err, unix.ESRCH) {
		return true, nil
	}
	p, err := readProcess(id.PID)
	if err != nil {
		return false, unknown("process %d: %v", id.PID, err)
	}
	return p.ended || p.start != id.Start, nil
}
