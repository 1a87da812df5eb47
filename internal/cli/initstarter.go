package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/sallyport-dev/sallyport/contract"
	"github.com/sallyport-dev/sallyport/internal/clientconfig"
	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/internal/lint"
	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

// starter offers a configuration if the user has none. It never changes one that is there.
func (r *initRun) starter(files []*clientconfig.File) error {
	told := len(r.f.domains)+len(r.f.projects) > 0
	if r.f.undo || r.f.dryRun && !told || r.f.yes && !told || !r.f.yes && !r.f.dryRun && !r.asks {
		return nil
	}
	dir, err := os.UserConfigDir()
	if err != nil || !filepath.IsAbs(dir) {
		return nil
	}
	file := filepath.Join(dir, "sallyport", "sallyport.yaml")
	if _, err := os.Lstat(file); err == nil {
		if told {
			r.say("your configuration is there already and stays as it is: %s\n", quote.Text(file, 1000))
		}
		return nil
	}
	found := packsOf(files, r.meant)
	if len(found) == 0 {
		if told {
			r.say("no starter configuration: no shipped pack is for one of these servers\n")
		}
		return nil
	}
	domains, projects := r.f.domains, r.f.projects
	if !told {
		if domains, projects = r.questions(found); len(domains)+len(projects) == 0 {
			r.say("no starter configuration is written: tools write only in the directories that their server's own command names\n")
			return nil
		}
	}
	text, err := starterText(found, domains, projects)
	if err != nil {
		return failed(err)
	}
	if r.f.dryRun {
		r.say("\nwould be written: %s\n%s", quote.Text(file, 1000), text)
		return nil
	}
	if err := writeStarter(file, text); err != nil {
		r.bad = true
		r.say("%s: %s\n", quote.Text(file, 1000), quote.Text(err.Error(), 400))
		return nil
	}
	r.say("written: %s; wrap reads it. What it says: %s validate -c %s\n", quote.Text(file, 1000), typedName(), shellWord(file))
	return nil
}

// questions asks for what nothing on this machine tells. Empty answers leave it out.
func (r *initRun) questions(found []packServer) (domains, projects []string) {
	needsMail, needsDirs := false, false
	for _, s := range found {
		for _, t := range s.tools {
			needsMail, needsDirs = needsMail || t.mail, needsDirs || t.writes
		}
	}
	if needsMail {
		r.say("\nMail to your own organisation can pass without a question.\n")
		domains = r.answers("Your own mail domain, such as ourfirm.example (empty: none): ", checkDomain)
	}
	if needsDirs {
		r.say("\nTools that write files can be held to your project directories, whatever the server's own command allows.\n")
		projects = r.answers("Project directories, separated by commas (empty: those in the server's command): ", checkProject)
	}
	return domains, projects
}

func (r *initRun) answers(question string, check func(string) error) []string {
	for range 3 {
		line, ok := r.ask(question)
		if !ok {
			return nil
		}
		var all []string
		var bad error
		for a := range strings.SplitSeq(line, ",") {
			if a = strings.TrimSpace(a); a != "" {
				bad = errors.Join(bad, check(a))
				all = append(all, a)
			}
		}
		if bad == nil {
			return all
		}
		r.say("%s\n", quote.Text(bad.Error(), 400))
	}
	return nil
}

var mailDomain = regexp.MustCompile(`^([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z]([A-Za-z0-9-]{0,61}[A-Za-z0-9])$`)

func checkDomain(d string) error {
	if len(d) > 253 || !mailDomain.MatchString(d) {
		return fmt.Errorf("%s is no mail domain such as ourfirm.example", strictyaml.Quote(d))
	}
	if why := lint.WhyBroad(d, true); why != "" {
		return fmt.Errorf("%s: trusting it would let mail go to anybody", why)
	}
	return nil
}

func checkProject(dir string) error {
	path, err := projectPath(dir)
	if err != nil {
		return err
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return fmt.Errorf("%s is no directory", strictyaml.Quote(path))
	}
	home, _ := os.UserHomeDir() // without one, the others still count
	for _, p := range []string{path, resolved(path)} {
		if why := lint.WhyWide(p, home); why != "" {
			return fmt.Errorf("%s is too wide to hold anything in (it %s): name narrower directories", strictyaml.Quote(path), why)
		}
	}
	return nil
}

// resolved is where a directory really is, if that can be told.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

func projectPath(dir string) (string, error) {
	if rest, ok := strings.CutPrefix(dir, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(home, rest)
	}
	return filepath.Abs(dir)
}

// packServer is a server that a shipped pack is for.
type packServer struct {
	name, pack string
	tools      []packTool
}

// packTool is a tool of a pack whose contract an answer completes.
type packTool struct {
	name         string
	entry        *strictyaml.Node
	mail, writes bool
}

var plainServer = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$`)

// packsOf finds the packs for the servers that are, or were now, wrapped.
func packsOf(files []*clientconfig.File, meant func(*clientconfig.Entry) bool) []packServer {
	var found []packServer
	for _, f := range files {
		for i := range f.Entries {
			e := &f.Entries[i]
			if e.State != clientconfig.Plain && e.State != clientconfig.Wrapped || !meant(e) || !plainServer.MatchString(e.Server) {
				continue
			}
			if slices.ContainsFunc(found, func(s packServer) bool { return s.name == e.Server }) {
				continue
			}
			for _, pack := range contract.Packs() {
				if s, ok := packServerOf(e, pack); ok {
					found = append(found, s)
					break
				}
			}
		}
	}
	return found
}

// packServerOf reads a pack's tools if the command of e starts its server: a word of it is
// the package that the pack names.
func packServerOf(e *clientconfig.Entry, pack string) (packServer, bool) {
	var problems strictyaml.Problems
	root := strictyaml.Parse(pack, contract.PackText(pack), nil, &problems)
	packages := strings.Fields(root.Get("server").Text())
	starts := slices.ContainsFunc(e.Command, func(word string) bool {
		word = strings.TrimSuffix(word, ".exe")
		if at := strings.LastIndexAny(word, "@:"); at > 0 {
			word = word[:at] // a version, or a tag of an image
		}
		return slices.ContainsFunc(packages, func(p string) bool {
			return strings.Contains(p, "-") && (word == p || !strings.HasPrefix(p, "@") && strings.HasSuffix(strings.ReplaceAll(word, `\`, "/"), "/"+p))
		})
	})
	s := packServer{name: e.Server, pack: pack}
	for _, t := range root.Get("tools").Pairs() {
		tool := packTool{name: t.Name, entry: t.Value, writes: len(t.Value.Get("write_params").Items()) > 0}
		for _, p := range t.Value.Get("sink_params").Items() {
			tool.mail = tool.mail || mailParam(p.Text())
		}
		if tool.mail || tool.writes {
			s.tools = append(s.tools, tool)
		}
	}
	return s, starts && len(s.tools) > 0
}

// mailParam says whether a sink is one for mail addresses, by its name.
func mailParam(selector string) bool {
	name := strings.ToLower(selector[strings.LastIndexByte(selector, '.')+1:])
	switch strings.TrimSuffix(name, "[*]") {
	case "to", "cc", "bcc", "forward", "recipient", "recipients":
		return true
	}
	return strings.Contains(name, "email")
}

// starterMark is what a starter configuration begins with.
const starterMark = "# Written by sallyport init."

// starterText writes the configuration. Each entry is the pack's own with what the user
// said: an entry of one's own holds instead of the pack's.
func starterText(found []packServer, domains, projects []string) (string, error) {
	var b strings.Builder
	b.WriteString(starterMark + " It is yours: change it as you like, and check it with\n" +
		"# sallyport validate. Each tool here is what the shipped pack says of it, with your\n" +
		"# directories and destinations; tools that are not here keep their pack.\nversion: 1\ntools:\n")
	trusted, dirs := []string{}, []string{}
	for _, d := range domains {
		trusted = append(trusted, "*@"+strings.ToLower(d))
	}
	for _, p := range projects {
		path, err := projectPath(p)
		if err != nil {
			return "", err
		}
		dirs = append(dirs, strings.ReplaceAll(path, "${", "$${"))
	}
	empty := true
	for _, s := range found {
		for _, t := range s.tools {
			if (t.mail && len(trusted) > 0) || (t.writes && len(dirs) > 0) {
				empty = false
				t.write(&b, s, trusted, dirs)
			}
		}
	}
	if empty {
		return "", errors.New("no tool of these servers takes a mail address or writes files: there is nothing to write down")
	}
	return b.String(), checkStarter(b.String())
}

// checkStarter holds the text to what wrap will: what does not load is not written.
func checkStarter(text string) error {
	cfg, err := config.Load("sallyport.yaml", []byte(text), loadOptions())
	if err == nil {
		_, err = contract.NewSet(cfg.Contracts, loadOptions().Contracts)
	}
	if err != nil {
		return fmt.Errorf("the starter configuration would not load: %w; it is not written", err)
	}
	return nil
}

func (t packTool) write(b *strings.Builder, s packServer, trusted, dirs []string) {
	fmt.Fprintf(b, "  %s: # pack %s\n", yamlQuoted(s.name+"/"+t.name), s.pack)
	if t.entry.Get("exfiltrating") == nil {
		b.WriteString("    exfiltrating: false\n")
	}
	var problems strictyaml.Problems
	for _, f := range t.entry.Pairs() {
		if f.Name == "params" {
			continue
		}
		v, _ := f.Value.Value(&problems)
		text, err := json.Marshal(v)
		if err != nil {
			panic(err) // what YAML holds
		}
		fmt.Fprintf(b, "    %s: %s\n", f.Name, text)
	}
	if t.mail && len(trusted) > 0 {
		fmt.Fprintf(b, "    trusted_destinations: %s\n", yamlList(trusted))
	}
	if t.writes && len(dirs) > 0 {
		fmt.Fprintf(b, "    allowed_path_prefixes: %s\n", yamlList(dirs))
	}
}

func yamlList(items []string) string {
	quoted := make([]string, len(items))
	for i, s := range items {
		quoted[i] = yamlQuoted(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// writeStarter writes a file that is not there yet.
func writeStarter(file, text string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	w, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = w.WriteString(text)
	if err = errors.Join(err, w.Sync(), w.Close()); err != nil {
		_ = os.Remove(file)
	}
	return err
}
