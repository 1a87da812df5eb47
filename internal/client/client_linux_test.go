package client

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func me(t testing.TB) Identity {
	t.Helper()
	return identityOf(t, os.Getpid())
}

func identityOf(t testing.TB, pid int) Identity {
	t.Helper()
	boot, ns, err := where()
	if err != nil {
		t.Fatal(err)
	}
	p, err := readProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	return Identity{boot, ns, pid, p.start}
}

func as(launcher string) []string {
	return []string{"CLIENT_TEST_AS=launcher", "CLIENT_TEST_LAUNCHER=" + launcher}
}

func TestTrees(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		change func(*exec.Cmd)
		env    []string
	}{
		"direct":                     {},
		"shell that is replaced":     {script: `exec "$0"`},
		"shell that stays":           {script: `"$0"; true`},
		"shells within shells":       {script: `sh -c 'sh -c "\"$0\"; true" "$0"; true' "$0"; true`},
		"own session":                {script: `setsid -w "$0"; true`},
		"own session at once":        {change: func(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }},
		"own group":                  {change: func(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }},
		"timeout":                    {script: `timeout 60 "$0"; true`},
		"env":                        {script: `env A=b "$0"; true`},
		"shell with other children":  {script: `sleep 0 & "$0"; wait`},
		"launcher":                   {env: as("")},
		"launcher filters output":    {env: as("filters output")},
		"launcher filters input":     {env: as("filters input")},
		"launcher with an odd name":  {env: as("odd name")},
		"output goes elsewhere":      {script: `"$0" | cat`},
		"input comes from elsewhere": {script: `cat </dev/null | "$0"`},
	} {
		t.Run(name, func(t *testing.T) {
			if got, want := <-start(c.script, c.change, c.env...), me(t).String(); got != want {
				t.Errorf("it says %s, want %s", got, want)
			}
		})
	}
}

// A client that lets its own ends leak into a launcher is still the client.
func TestLeakedEnd(t *testing.T) {
	leak := func(c *exec.Cmd) {
		// The last of the parent's ends are those that StdinPipe and StdoutPipe made.
		in, out, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		c.Stdin = in
		c.ExtraFiles = []*os.File{out}
		t.Cleanup(func() { in.Close(); out.Close() })
	}
	if got, want := <-start(`"$0" 3>&-; true`, leak), me(t).String(); got != want {
		t.Errorf("it says %s, want %s", got, want)
	}
}

// Node.js and libuv give servers one end of a socket pair.
func TestSockets(t *testing.T) {
	for _, script := range []string{"", `"$0"; true`} {
		var ours, theirs [2]*os.File
		for i := range ours {
			pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			ours[i], theirs[i] = os.NewFile(uintptr(pair[0]), ""), os.NewFile(uintptr(pair[1]), "")
			defer ours[i].Close()
		}
		cmd := exec.Command("sh", "-c", script, self())
		if script == "" {
			cmd = exec.Command(self())
		}
		cmd.Env = append(os.Environ(), "CLIENT_TEST_AS=server")
		cmd.Stdin, cmd.Stdout = theirs[0], theirs[1]
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		theirs[0].Close()
		theirs[1].Close()
		got, err := io.ReadAll(ours[1])
		if err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if want := me(t).String() + "\n"; string(got) != want {
			t.Errorf("%q: it says %s, want %s", script, got, want)
		}
	}
}

// Two clients in one terminal, started by one program: each pair of servers is its own.
func TestTwoClients(t *testing.T) {
	as := "CLIENT_TEST_AS=client"
	a, b := strings.Fields(<-start("", nil, as)), strings.Fields(<-start(`"$0"; true`, nil, as))
	if len(a) != 2 || len(b) != 2 || a[0] != a[1] || b[0] != b[1] || a[0] == b[0] {
		t.Errorf("servers of two clients: %q, %q", a, b)
	}
	for _, s := range append(a, b...) {
		if id, err := Parse(s); err != nil || s == me(t).String() {
			t.Errorf("%v, %v", id, err)
		}
	}
}

func TestUnknown(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		env    []string
		why    string
	}{
		"files":            {script: `f=$(mktemp) && "$0" </dev/null >"$f"; cat "$f"; rm "$f"`, why: "neither"},
		"pipeline":         {script: `cat </dev/null | "$0" | cat`, why: "no ancestor"},
		"launcher is gone": {env: as("ends"), why: "no ancestor"},
	} {
		t.Run(name, func(t *testing.T) {
			got := <-start(c.script, nil, c.env...)
			if !strings.HasPrefix(got, "error: "+ErrUnknown.Error()) || !strings.Contains(got, c.why) {
				t.Errorf("it says %s", got)
			}
		})
	}
}

// The documented limit: who makes both pipes is who speaks.
func TestLauncherThatFiltersBoth(t *testing.T) {
	got := <-start("", nil, as("filters both")...)
	if id, err := Parse(got); err != nil || id.PID == os.Getpid() {
		t.Errorf("it says %s", got)
	}
}

func TestGone(t *testing.T) {
	cmd := exec.Command(self())
	cmd.Env = append(os.Environ(), "CLIENT_TEST_AS=wait")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	id := identityOf(t, cmd.Process.Pid)
	reused, rebooted, elsewhere := id, id, id
	reused.Start--
	rebooted.BootID = "another"
	elsewhere.Namespace++
	want := func(what string, id Identity, gone bool) {
		t.Helper()
		if got, err := id.Gone(); got != gone || err != nil {
			t.Errorf("%s: gone %v, %v", what, got, err)
		}
	}
	want("alive", id, false)
	want("itself", me(t), false)
	want("its id is another's", reused, true)
	want("before the boot", rebooted, true)
	if gone, err := elsewhere.Gone(); gone || !errors.Is(err, ErrUnknown) {
		t.Errorf("in another namespace: gone %v, %v", gone, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, out); err != nil { // until it has ended
		t.Fatal(err)
	}
	for gone := false; !gone; { // its files close a moment before it is a zombie
		if gone, err = id.Gone(); err != nil {
			t.Fatal(err)
		}
	}
	_ = cmd.Wait()
	want("ended", id, true)
}

func TestParseStat(t *testing.T) {
	rest := " S 7 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 9 9\n"
	for _, name := range []string{"sh", "a b", "a) S 9 (b", ")", "(", "", "x\ny", "Z) Z 1"} {
		p, err := parseStat(42, []byte("42 ("+name+")"+rest))
		if want := (process{42, 7, 4711, false}); p != want || err != nil {
			t.Errorf("%q: %v, %v", name, p, err)
		}
	}
	for _, bad := range []string{
		"", "42", "42 (sh", "42 (sh)", "43 (sh)" + rest, "42 (sh) S 7 1", "42 (sh)" + strings.Replace(rest, "4711", "-1", 1),
		"42 (sh)" + strings.Replace(rest, "7", "x", 1), "42 (sh)" + strings.Replace(rest, "S", "SS", 1), "42 (sh)" + strings.Replace(rest, "7", "-7", 1),
	} {
		if p, err := parseStat(42, []byte(bad)); err == nil {
			t.Errorf("%q is read as %v", bad, p)
		}
	}
	if p, err := parseStat(42, []byte("42 (sh)"+strings.Replace(rest, "S", "Z", 1))); !p.ended || err != nil {
		t.Errorf("zombie: %v, %v", p, err)
	}
}

func FuzzStat(f *testing.F) {
	f.Add([]byte("42 (a) S 9 (b) R 7 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 9 9\n"))
	f.Add([]byte("42 (sh) Z 7"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := parseStat(42, b)
		if err == nil && (p.parent < 0 || p.pid != 42 || !bytes.Contains(b, []byte(strconv.FormatUint(p.start, 10)))) {
			t.Fatalf("%q is read as %v", b, p)
		}
	})
}

func FuzzFlags(f *testing.F) {
	f.Add([]byte("pos:\t0\nflags:\t02000001\nmnt_id:\t15\n"))
	f.Add([]byte("flags:\t00"))
	f.Add([]byte("flags: 8\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if read, write, err := parseFlags(b); err != nil && (read || write) {
			t.Fatalf("%q: %v %v with %v", b, read, write, err)
		}
	})
}
