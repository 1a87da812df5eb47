package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sallyport-dev/sallyport/internal/clientconfig"
	"github.com/sallyport-dev/sallyport/internal/quote"
)

// list shows what was found and what becomes of it.
func (r *initRun) list(files []*clientconfig.File, places clientconfig.Places) {
	for i, f := range files {
		if i > 0 {
			r.say("\n")
		}
		r.say("%s  %s\n", f.Client.Name, quote.Text(f.Path, 1000))
		if f.Linked {
			r.say("  (a symbolic link: the file that changes is %s)\n", quote.Text(f.Target, 1000))
		}
		if f.Err != nil {
			r.bad = true
			r.say("  not touched: %s\n", quote.Text(f.Err.Error(), 400))
			continue
		}
		if len(f.Entries) == 0 {
			r.say("  no servers\n")
		}
		for j := range f.Entries {
			r.listEntry(&f.Entries[j])
		}
	}
	if r.f.config != "" || len(r.f.clients) > 0 {
		return
	}
	for _, l := range places.Foreign() {
		r.say("\n%s  %s\n  left: %s\n", l.Name, quote.Text(l.Path, 1000), l.Why)
	}
}

func (r *initRun) listEntry(e *clientconfig.Entry) {
	name := quote.Text(e.Server, 60)
	if e.Scope != "" {
		name += " (" + quote.Text(e.Scope, 200) + ")"
	}
	switch {
	case !r.meant(e):
		r.say("  %-20s left: not named with --server\n", name)
	case r.f.undo && e.State == clientconfig.Wrapped && e.ByInit:
		r.say("  %-20s unwrap: %s\n", name, clientconfig.RedactedCommand(e.Command, 200))
	case r.f.undo && e.State != clientconfig.Wrapped:
		r.say("  %-20s left: init did not wrap it\n", name)
	case e.State == clientconfig.Plain:
		r.say("  %-20s wrap: %s\n", name, clientconfig.RedactedCommand(e.Command, 200))
		if b := unpinnedBridge(e.Command); b != "" {
			r.say("  %-20s it runs whatever version of %s is newest: name one, or reach the server with sallyport wrap --url\n", "", b)
		}
	default:
		r.say("  %-20s left: %s\n", name, e.Reason)
		r.listGone(e)
		if e.State == clientconfig.Remote {
			r.say("  %-20s to front it, make its command %s\n", "", frontURL(e))
		}
	}
}

// listGone says of a wrapped server that its client cannot start it, because the program is
// gone. Where a client looks for a name without a path is not known.
func (r *initRun) listGone(e *clientconfig.Entry) {
	if e.State != clientconfig.Wrapped || e.Off || r.f.undo || !filepath.IsAbs(e.Wrapper) {
		return
	}
	if _, err := os.Stat(e.Wrapper); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	r.bad = true
	do := "Correct its command by hand"
	if e.ByInit {
		do = fmt.Sprintf("Run %[1]s init --undo, then %[1]s init", typedName())
	}
	r.say("  %-20s FAIL: %s is not there: the client cannot start this server. %s\n", "", quote.Value(e.Wrapper, 400), do)
}

// bridges are packages that make a server at a URL one over stdio.
var bridges = []string{"mcp-remote", "mcp-proxy", "supergateway", "mcp-stdio-to-streamable-http-adapter"}

// unpinnedBridge finds a bridge without a version in a command: it holds a user's tokens,
// and tomorrow's is another program.
func unpinnedBridge(command []string) string {
	for _, word := range command[1:] {
		base := strings.TrimSuffix(word[strings.LastIndexByte(word, '/')+1:], "@latest")
		if slices.Contains(bridges, base) {
			return base
		}
	}
	return ""
}

// frontURL is the command that fronts a remote server. Of its URL the host is shown: paths
// and queries hold keys.
func frontURL(e *clientconfig.Entry) string {
	shown := "URL"
	if u, err := url.Parse(e.URL); err == nil && u.Host != "" {
		shown = u.Scheme + "://" + u.Host + "/…"
	}
	return "sallyport wrap --url " + quote.Text(shown, 300) + " (or name it under upstreams in a configuration of sallyport run)"
}

// notes are what a user has to know before the answer.
func (r *initRun) notes(changes []*clientconfig.Change, warnings []string) {
	r.say("\n")
	desktop, project, mark := false, false, false
	said := map[string]bool{}
	for _, c := range changes {
		client := c.File.Client
		desktop, project, mark = desktop || client.Desktop, project || c.File.Project, mark || c.Mark
		if client.Note != "" && !c.File.Project && !said[client.ID] {
			said[client.ID] = true
			r.say("note: %s: %s\n", client.Name, client.Note)
		}
	}
	if r.f.undo {
		return
	}
	why := "so that no other program of that name is started"
	if desktop {
		why = "because a client that is started from the desktop does not see your shell's PATH"
	}
	r.say("note: the clients will start %s, an absolute path, %s. Keep the program there.\n", quote.Text(r.program, 1000), why)
	if project {
		r.say("note: a project's file is often shared: on other people's machines this path may not exist\n")
	}
	if mark {
		r.say("note: the byte order mark at the start goes: some clients cannot read a file with one\n")
	}
	for _, w := range warnings {
		r.say("note: %s\n", w)
	}
}

// yes asks a question. No answer is no, an empty one is the default.
func (r *initRun) yes(question string, byDefault bool) bool {
	choice := "[y/N]"
	if byDefault {
		choice = "[Y/n]"
	}
	line, ok := r.ask(question + " " + choice + " ")
	switch strings.ToLower(line) {
	case "y", "yes":
		return ok
	case "":
		return ok && byDefault
	}
	return false
}

// ask reads one line, without the blanks around it.
func (r *initRun) ask(question string) (string, bool) {
	r.say("%s", question)
	return readAnswer(r.in)
}

func readAnswer(in *bufio.Reader) (string, bool) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return "", false
	}
	return strings.TrimSpace(string(line)), true
}

func countFiles(changes []*clientconfig.Change) string {
	entries := 0
	for _, c := range changes {
		entries += len(c.Entries)
	}
	return fmt.Sprintf("%s in %s", count(entries, "server"), count(len(changes), "file"))
}
