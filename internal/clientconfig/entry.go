package clientconfig

import (
	"slices"
	"strings"

	"github.com/sallyport-dev/sallyport/internal/quote"
)

// State says what init does with an entry.
type State uint8

// The states of an entry.
const (
	Plain    State = iota + 1 // starts a server over stdio: init wraps it
	Wrapped                   // starts Sallyport already
	Remote                    // is reached at a URL: there is no command to wrap
	Disabled                  // is switched off in the client
	Unclear                   // is not understood, or is wrapped at a loss; Reason says why
)

func (s State) String() string {
	return [...]string{"", "plain", "wrapped", "remote", "disabled", "unclear"}[s]
}

// Entry is one server of one file.
type Entry struct {
	Client *Client
	File   string // as it was found
	Line   int    // from 1
	Server string // its key
	Scope  string // the project that it is for, where one file has several; else ""
	State  State
	Reason string // why it is left as it is; "" for Plain
	Off    bool   // switched off in the client, also if Wrapped

	// Launch is what the client starts, its arguments included: the command line as the
	// file has it. Variables of the client's are not replaced.
	Launch []string
	// Command is what starts the server, its arguments included: of a wrapped entry what
	// stands behind the "--".
	Command []string
	Env     map[string]string
	Cwd     string
	URL     string

	// Of a wrapped entry: the program that it starts, the flags between its first argument
	// and the "--", and whether init wrote it. What init did not write, undo leaves.
	Wrapper string
	Flags   []string
	ByInit  bool

	form form
}

// form is where the parts of an entry are that an edit touches.
type form struct {
	shape   string
	toml    bool
	holder  *node   // the object that command and args are members of
	command *member // of a text; of a list in shapeList
	args    *member // nil if the entry has none
	upAt    int     // in the list: where the server's own command is
}

// Shapes of an entry, as the flag --entry of wrap has them: what it was decides how it is
// restored.
const (
	shapeArgs = "args"    // a command and a list of arguments
	shapeBare = "command" // a command alone
	shapeList = "list"    // one list of both
)

// Shapes are the values of wrap's flag --entry.
var Shapes = []string{shapeArgs, shapeBare, shapeList}

// readEntry judges one entry. program is this program's own path, "" if not known.
func readEntry(c *Client, name string, val *node, toml bool, program string) Entry {
	e := Entry{Client: c, Server: name, State: Unclear}
	e.form.toml = toml
	if val.kind != object {
		e.Reason = "it is no object with members"
		return e
	}
	e.readRest(val)
	holder, cmd := val, val.get("command")
	if cmd != nil && cmd.val.kind == object { // as Zed wrote it at first
		holder = cmd.val
		cmd = holder.get("path")
		e.readEnv(holder)
	}
	if cmd == nil {
		e.withoutCommand(val)
		return e
	}
	if !e.readCommand(holder, cmd) {
		return e
	}
	e.Launch = e.Command
	if e.wrapped(program) {
		return e
	}
	e.judge(val)
	return e
}

// readRest reads what stands beside the command.
func (e *Entry) readRest(val *node) {
	e.readEnv(val)
	if m := val.get("cwd"); m != nil && m.val.kind == text {
		e.Cwd = m.val.text
	}
	for _, key := range []string{"url", "serverUrl", "httpUrl"} {
		if m := val.get(key); m != nil && m.val.kind == text && m.val.text != "" {
			e.URL = m.val.text
		}
	}
	if m := val.get("disabled"); m != nil && m.val.kind == boolean && m.val.yes {
		e.Off = true
	}
	if m := val.get("enabled"); m != nil && m.val.kind == boolean && !m.val.yes {
		e.Off = true
	}
}

func (e *Entry) readEnv(val *node) {
	for _, key := range []string{"env", "environment"} {
		m := val.get(key)
		if m == nil || m.val.kind != object {
			continue
		}
		for _, v := range m.val.members {
			if v.val.kind != text {
				continue
			}
			if e.Env == nil {
				e.Env = map[string]string{}
			}
			e.Env[v.key] = v.val.text
		}
	}
}

func (e *Entry) withoutCommand(val *node) {
	switch source := val.get("source"); {
	case e.URL != "":
		e.State, e.Reason = Remote, "it is reached at a URL: there is no command to put Sallyport in front of"
	case source != nil && source.val.text == "extension" || e.Client != nil && e.Client.ID == "zed":
		e.Reason = "an extension starts it, with a command that does not stand here"
	default:
		e.Reason = "it has no command"
	}
}

// readCommand fills Command and form; false if the entry is not understood.
func (e *Entry) readCommand(holder *node, cmd *member) bool {
	args := holder.get("args")
	e.form.holder, e.form.command, e.form.args, e.form.shape = holder, cmd, args, shapeArgs
	switch {
	case cmd.val.kind == array:
		list, ok := texts(cmd.val)
		if !ok || len(list) == 0 || args != nil {
			e.Reason = "its command is no list of texts"
			return false
		}
		e.Command, e.form.shape = list, shapeList
	case cmd.val.kind != text:
		e.Reason = "its command is no text"
		return false
	case args == nil:
		e.Command, e.form.shape = []string{cmd.val.text}, shapeBare
	default:
		list, ok := texts(args.val)
		if !ok {
			e.Reason = "its args are no list of texts"
			return false
		}
		e.Command = append([]string{cmd.val.text}, list...)
	}
	return true
}

func texts(n *node) ([]string, bool) {
	if n.kind != array {
		return nil, false
	}
	list := make([]string, 0, len(n.elems))
	for _, v := range n.elems {
		if v.kind != text {
			return nil, false
		}
		list = append(list, v.text)
	}
	return list, true
}

// wrapped says whether the entry starts Sallyport, and reads how.
func (e *Entry) wrapped(program string) bool {
	if !IsSallyport(e.Command[0], program) || len(e.Command) < 2 {
		return false
	}
	e.Wrapper = e.Command[0]
	rest := e.Command[2:]
	switch e.Command[1] {
	case "run":
		e.State, e.Reason, e.Flags, e.Command = Wrapped, "it starts a gateway: sallyport run", rest, nil
		return true
	case "wrap":
	default:
		return false
	}
	e.State = Wrapped
	dash := slices.Index(rest, "--")
	if dash < 0 || dash == len(rest)-1 {
		e.Flags, e.Command, e.Reason = rest, nil, "it starts sallyport wrap, which init did not write"
		return true
	}
	e.Flags, e.Command = rest[:dash], rest[dash+1:]
	e.form.upAt = dash + 2 // in args, where wrap itself is first
	if e.form.shape == shapeList {
		e.form.upAt++
	}
	was, ok := flagValue(e.Flags, "--entry")
	if list := was == shapeList; ok && slices.Contains(Shapes, was) && list == (e.form.shape == shapeList) {
		e.form.shape, e.ByInit = was, true
		e.Reason = "it is wrapped already"
	} else {
		e.Reason = "it is wrapped already, by hand"
	}
	if program != "" && e.Wrapper != program {
		e.Reason += ", by " + quote.Value(e.Wrapper, 200) + ", which is not this program's path"
	}
	return true
}

// IsSallyport reports whether a command's name is Sallyport's, or program's own path.
func IsSallyport(command, program string) bool {
	base := command[strings.LastIndexAny(command, `/\`)+1:]
	base = strings.TrimSuffix(strings.ToLower(base), ".exe")
	return base == "sallyport" || program != "" && command == program
}

// flagValue finds --name VALUE or --name=VALUE.
func flagValue(flags []string, name string) (string, bool) {
	for i, f := range flags {
		if v, ok := strings.CutPrefix(f, name+"="); ok {
			return v, true
		}
		if f == name && i+1 < len(flags) {
			return flags[i+1], true
		}
	}
	return "", false
}

// judge decides about an entry with a command that is not wrapped.
func (e *Entry) judge(val *node) {
	command := e.Command[0]
	kind := ""
	if m := val.get("type"); m != nil && m.val.kind == text {
		kind = strings.ToLower(m.val.text)
	}
	switch {
	case e.Off:
		e.State, e.Reason = Disabled, "it is switched off in the client: once it is on, run init again"
	case kind != "" && kind != "stdio" && kind != "local":
		e.Reason = "it has a command and the type " + quote.Value(kind, 40)
	case e.URL != "":
		e.Reason = "it has a command and a URL, and clients differ in which they take"
	case strings.TrimSpace(command) == "" || strings.ContainsAny(command, "\x00\r\n"):
		e.Reason = "its command is not the name of a program"
	case e.form.shape == shapeBare && strings.ContainsAny(command, " \t") && !strings.ContainsAny(command, `/\`):
		e.Reason = "its command looks like a line for a shell: split it into command and args"
	case isTrue(val.get("sandboxEnabled")):
		e.Reason = "the client starts it in a sandbox, in which Sallyport could not write its log"
	case val.get("dev").value().get("debug") != nil:
		e.Reason = "the client debugs it (dev.debug), which needs its own command"
	case isText(val.get("experimental_environment"), "remote"):
		e.Reason = "it is started on another machine, where this program may not be"
	default:
		e.State = Plain
	}
}

func (m *member) value() *node {
	if m == nil {
		return nil
	}
	return m.val
}

func isTrue(m *member) bool { return m != nil && m.val.kind == boolean && m.val.yes }
func isText(m *member, s string) bool {
	return m != nil && m.val.kind == text && m.val.text == s
}
