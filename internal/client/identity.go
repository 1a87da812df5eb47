package client

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrUnknown: the system does not show who the client is, or whether it is still there.
// It is wrapped with the reason.
var ErrUnknown = errors.New("the client process is unknown")

// Notice says what an unknown client means to the user; the reason goes before it.
const Notice = "this process shares nothing with others of the same client: what was read through another server is not known here"

// Identity names one process of one boot of one machine. It is comparable.
type Identity struct {
	BootID    string // letters, digits and hyphens, 1 to 64
	Namespace uint64 // of process ids; 0 where the system has none
	PID       int    // > 0
	Start     uint64 // clock ticks since boot (Linux), microseconds since 1970 (macOS)
}

// String returns the identity as visible ASCII without spaces, at most 130 characters:
// boot id, namespace, process id and start, with slashes between. [Parse] reads it.
func (id Identity) String() string {
	return fmt.Sprintf("%s/%d/%d/%d", id.BootID, id.Namespace, id.PID, id.Start)
}

// Parse reads what [Identity.String] returns, and nothing else.
func Parse(s string) (Identity, error) {
	bad := fmt.Errorf("client: %.150q is no identity of a process", s)
	part := strings.Split(s, "/")
	if len(part) != 4 || !isBootID(part[0]) {
		return Identity{}, bad
	}
	ns, nsErr := strconv.ParseUint(part[1], 10, 64)
	pid, pidErr := strconv.ParseInt(part[2], 10, 32)
	start, startErr := strconv.ParseUint(part[3], 10, 64)
	id := Identity{part[0], ns, int(pid), start}
	if errors.Join(nsErr, pidErr, startErr) != nil || pid <= 0 || id.String() != s {
		return Identity{}, bad
	}
	return id, nil
}

func isBootID(s string) bool {
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-' {
			return false
		}
	}
	return len(s) >= 1 && len(s) <= 64
}

// Find returns the identity of the client process that this process belongs to. It looks
// at standard input and output, so it must be called before they are replaced or closed;
// where the client ends later does not matter.
func Find() (Identity, error) { return findClient() }

// Gone reports whether the process has ended. It is true only if that is certain:
// otherwise it is false, or ErrUnknown.
func (id Identity) Gone() (bool, error) { return isGone(id) }

func unknown(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUnknown, fmt.Sprintf(format, args...))
}
