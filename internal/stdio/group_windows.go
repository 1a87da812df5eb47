package stdio

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

const (
	canTerminate = false
	batchFiles   = true
	separators   = `/\:`
)

// extensions returns what may be appended to name, from PATHEXT.
func extensions(name string, env []string) []string {
	list, ok := getenv(env, "PATHEXT")
	if !ok || list == "" {
		list = ".COM;.EXE;.BAT;.CMD"
	}
	all := strings.Split(list, ";")
	for _, ext := range all {
		if ext != "" && strings.EqualFold(filepath.Ext(name), ext) {
			return []string{""}
		}
	}
	return all
}

func runnable(info fs.FileInfo) bool { return info.Mode().IsRegular() }

func sameVariable(a, b string) bool { return strings.EqualFold(a, b) }

// group is the job of a child. The system ends the job's processes when its last handle
// is closed, which happens when this process is gone however it went; no guard is needed.
type group struct {
	job windows.Handle

	mu       sync.Mutex
	released bool
}

// guardError is a failure of the job, not of the command.
type guardError struct{ err error }

func (e *guardError) Error() string { return "its job: " + e.err.Error() }
func (e *guardError) Unwrap() error { return e.err }

// startInGroup starts cmd and puts it into a job of its own. What cmd starts in the
// moment before that stays outside.
func startInGroup(cmd *exec.Cmd, _ []string, _ time.Duration) (*group, error) {
	job, err := newJob()
	if err != nil {
		return nil, &guardError{err}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
	if err := cmd.Start(); err != nil {
		_ = windows.CloseHandle(job)
		return nil, err
	}
	if err := assign(job, cmd.Process.Pid); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = windows.CloseHandle(job)
		return nil, &guardError{err}
	}
	return &group{job: job}, nil
}

func newJob() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, err
	}
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err != nil {
		_ = windows.CloseHandle(job)
		return 0, err
	}
	return job, nil
}

func assign(job windows.Handle, pid int) error {
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(pid))
	if err != nil {
		return err
	}
	defer windows.CloseHandle(process)
	return windows.AssignProcessToJobObject(job, process)
}

// terminate does nothing: there is no signal that asks a process to end.
func (g *group) terminate() {}

// kill ends every process of the job.
func (g *group) kill() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.released {
		_ = windows.TerminateJobObject(g.job, 1)
	}
}

func (g *group) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.released = true
	_ = windows.CloseHandle(g.job)
}

// watch has nothing to watch here.
func (g *group) watch(func()) {}

// readNow is not needed: pipes have no deadline here.
func readNow(*os.File, []byte) int { return 0 }

// RunGuard has nothing to do on Windows: the job does it. It returns an exit code.
func RunGuard([]string) int { return 2 }
