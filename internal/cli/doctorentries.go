package cli

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/clientconfig"
	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/internal/doctor"
	"github.com/sallyport-dev/sallyport/internal/lint"
	"github.com/sallyport-dev/sallyport/internal/pins"
	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/policy"
)

func (x *examination) ofFile(f *clientconfig.File) {
	name := f.Client.Name + " " + quote.Text(f.Path, 1000)
	if f.Err != nil {
		x.add(levelFail, "config", name, "it cannot be read: "+quote.Text(f.Err.Error(), 400), "")
		return
	}
	if len(f.Entries) == 0 {
		x.add(levelNote, "config", name, "it has no servers", "")
	}
	for i := range f.Entries {
		if e := &f.Entries[i]; x.meant(e) {
			x.ofEntry(name+" "+quote.Value(e.Server, 60), e)
		}
	}
}

// ofEntry says of one server whether it is protected. The first failure ends it.
func (x *examination) ofEntry(name string, e *clientconfig.Entry) {
	switch {
	case e.State == clientconfig.Plain:
		x.add(levelFail, "wrapped", name, "it is started without Sallyport", "sallyport init")
		return
	case e.State == clientconfig.Remote:
		x.add(levelWarn, "wrapped", name, "it is reached at a URL; whether Sallyport stands there cannot be told from here", frontURL(e))
		return
	case e.State == clientconfig.Disabled || e.Off:
		x.add(levelNote, "wrapped", name, "it is switched off in the client", "")
		return
	case e.State != clientconfig.Wrapped:
		x.add(levelFail, "wrapped", name, e.Reason, "")
		return
	}
	x.as(name, e, func() { x.ofWrapped(name, e) })
}

// deciding are the variables by which a wrapped entry finds its program, its configuration, its
// state and its log.
var deciding = []string{"PATH", "HOME", "USERPROFILE", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "APPDATA", "LOCALAPPDATA"}

// as runs do with the variables and in the directory that the client gives an entry: what this
// process would find by its own may be another configuration than that by which the entry runs.
func (x *examination) as(name string, e *clientconfig.Entry, do func()) {
	for k, v := range e.Env {
		if filled(v) {
			if slices.ContainsFunc(deciding, func(d string) bool { return strings.EqualFold(d, k) }) {
				x.add(levelWarn, "settings", name, "not looked at: the client would fill in "+quote.Value(k, 60)+", by which Sallyport finds its files, with what is not known here", "")
				return
			}
			continue // the server has to do without, which a refusal does not mind
		}
		was, had := os.LookupEnv(k)
		defer func() {
			if had {
				_ = os.Setenv(k, was)
			} else {
				_ = os.Unsetenv(k)
			}
		}()
		if err := os.Setenv(k, v); err != nil {
			x.add(levelFail, "settings", name, "its variable "+quote.Value(k, 60)+" cannot be set", "")
			return
		}
	}
	if e.Cwd != "" && !filled(e.Cwd) {
		was, err := os.Getwd()
		if err == nil {
			err = os.Chdir(e.Cwd)
		}
		if err != nil {
			x.add(levelFail, "settings", name, "it cannot start in its directory: "+quote.Text(err.Error(), 400), "")
			return
		}
		defer os.Chdir(was) //nolint:errcheck // it was there a moment ago
	}
	do()
}

// filled reports whether a client fills something into a text.
func filled(s string) bool { return strings.Contains(s, "${") || strings.Contains(s, "{env:") }

// ofWrapped is run as the entry would.
func (x *examination) ofWrapped(name string, e *clientconfig.Entry) {
	wrapper, err := doctor.Find(e.Wrapper)
	switch {
	case err != nil:
		x.add(levelFail, "wrapped", name, "the program that wraps it is not there: "+quote.Value(e.Wrapper, 400), "sallyport init --undo, then sallyport init")
		return
	case !sameFile(wrapper, x.program):
		x.add(levelFail, "wrapped", name, "it is wrapped by another program than this one: "+quote.Value(wrapper, 400), "run the doctor of that program, or sallyport init --undo, then sallyport init")
		return
	}
	log, ok := x.ofFlags(name, e)
	if !ok {
		return
	}
	x.ofStart(name, e, log)
	x.ofAsking(name, e)
}

// ofFlags checks what an entry's flags lead to, and says where its log is; "" for none.
func (x *examination) ofFlags(name string, e *clientconfig.Entry) (log string, ok bool) {
	f, token, err := readFlags(e)
	if err != nil {
		x.add(levelFail, "settings", name, "its flags are wrong: "+quote.Text(err.Error(), 400), "")
		return "", false
	}
	own, err := ownFiles(f.config, f.contracts, f.audit)
	var cfg *config.Config
	var pol *policy.Policy
	if err == nil {
		opt := loadOptions()
		opt.Contracts = own.contracts()
		opt.Lookup = func(v string) (string, bool) {
			if s, ok := e.Env[v]; ok {
				return s, true // as it stands, if the client fills it in
			}
			return os.LookupEnv(v)
		}
		cfg, _, err = loadFiles(opt, own.config, f.contracts)
	}
	if err == nil {
		pol, err = policyFor(cfg, f.policy, token)
	}
	if err == nil {
		log, err = auditPath(f, cfg, own)
	}
	switch {
	case err != nil:
		x.add(levelFail, "settings", name, "it cannot start: "+quote.Text(err.Error(), 400), "sallyport validate -c FILE says all that is wrong")
		return "", false
	case f.dryRun || dryByFile(cfg, pol):
		x.add(levelFail, "settings", name, "DRY-RUN: nothing is enforced", "take dry-run out of its flags and its configuration")
		return "", false
	case pol.Mode() == policy.DryRun:
		x.add(levelWarn, "settings", name, "DRY-RUN of its policy: rules and rate limits are not enforced", "")
	}
	x.ofRules(name, cfg)
	for _, file := range []string{own.config, f.contracts} {
		x.ofOwnFile(name, file)
	}
	if l := (examinedLog{log, cfg.Audit.Checkpoints}); log != "" && !slices.ContainsFunc(x.logs, l.same) {
		x.logs = append(x.logs, l)
	}
	return log, true
}

// readFlags reads those of an entry, of wrap or of run; token is one that run takes its policy of.
func readFlags(e *clientconfig.Entry) (f wrapFlags, token string, err error) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	if e.Launch[1] != "run" {
		f.bind(flags)
		return f, "", flags.Parse(e.Flags)
	}
	var r runFlags
	r.bind(flags)
	err = flags.Parse(e.Flags)
	return wrapFlags{config: r.config, policy: r.policy, audit: r.audit, dryRun: r.dryRun}, r.token, err
}

// ofRules says whether the rules that are enforced are probably meant.
func (x *examination) ofRules(name string, cfg *config.Config) {
	n, first := 0, ""
	for _, f := range lint.Check(cfg, lint.Options{Now: time.Now()}).Findings {
		if f.Severity >= lint.Warning && f.Code != "SP111" { // one server has no prefix
			if n++; n == 1 {
				first = f.Code + " " + f.Text
			}
		}
	}
	if n > 0 {
		x.add(levelWarn, "settings", name, count(n, "setting")+" may let more through than is meant: "+quote.Text(first, 300), "sallyport validate -c "+quote.Text(cfg.File, 1000))
	}
}

// ofOwnFile says whether somebody else, or the agent, can change a file that an entry's flags name.
func (x *examination) ofOwnFile(name, file string) {
	abs, err := filepath.Abs(file)
	if file == "" || err != nil {
		return
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		abs = real
	}
	shown := quote.Text(abs, 1000)
	for _, p := range []string{abs, filepath.Dir(abs)} {
		if othersMayWrite(p) {
			x.add(levelFail, "state", name, "others of this machine can change "+shown, "chmod go-w "+quote.Text(p, 1000))
			return
		}
	}
	project, err := filepath.EvalSymlinks(x.places.Project)
	if home, _ := filepath.EvalSymlinks(x.places.Home); err == nil && project != home && within(project, abs) {
		x.add(levelWarn, "state", name, shown+" lies in the working directory: an agent that may write here could change it", "put it into your configuration directory")
	}
}

// ofStart starts an entry as its client would, and looks for the refusal of the canary in
// the answer and in the log.
func (x *examination) ofStart(name string, e *clientconfig.Entry, log string) {
	if x.f.noStart {
		x.add(levelNote, "refuses", name, "not started (--no-start)", "")
		return
	}
	for _, v := range append(slices.Clone(e.Launch), e.Cwd) {
		if filled(v) {
			x.add(levelWarn, "refuses", name, "not started: the client would fill in variables that are not known here", "")
			return
		}
	}
	before := sizeOf(log)
	ctx, stop := context.WithTimeout(context.Background(), x.f.timeout)
	defer stop()
	p, words, err := doctor.Try(ctx, e.Launch)
	switch {
	case err != nil:
		x.add(levelFail, "refuses", name, quote.Text(err.Error(), 400), lastLine(words))
	case !p.Refused:
		x.add(levelFail, "refuses", name, "a call that must be refused was not refused by Sallyport: "+quote.Value(p.Answer, 200), "")
	case log == "":
		x.add(levelWarn, "refuses", name, "a call that must be refused is refused; no log is kept that would show by whom", "")
	case !recorded(log, before, p.Canary):
		x.add(levelFail, "refuses", name, "a call is refused, but "+quote.Text(log, 1000)+" has no record of it", "")
	default:
		server := ""
		if p.Server != "" {
			server = ", " + quote.Value(strings.TrimSpace(p.Server+" "+p.Version), 80)
		}
		x.add(levelOK, "refuses", name, fmt.Sprintf("a call that must be refused is refused, and the log shows it (%s%s)", count(p.Tools, "tool"), server), "")
	}
}

func lastLine(words string) string {
	lines := strings.Split(strings.TrimSpace(words), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return "it said: " + quote.Text(last, 400)
	}
	return ""
}

func sizeOf(path string) int64 {
	if info, err := os.Stat(path); path != "" && err == nil {
		return info.Size()
	}
	return 0
}

const maxScanned = 64 << 20 // bytes of a log that are looked through for one record

// recorded looks for the refusal of the canary in what a log got since it had size bytes.
func recorded(log string, size int64, canary string) bool {
	f, err := os.Open(log)
	if err != nil {
		return false
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return false
	} else if info.Size() >= size { // else it was rotated, and begins again
		if _, err := f.Seek(size, io.SeekStart); err != nil {
			return false
		}
	}
	lines := bufio.NewReaderSize(io.LimitReader(f, maxScanned), 64<<10)
	for {
		line, err := lines.ReadSlice('\n')
		if bytes.Contains(line, []byte(canary)) && bytes.Contains(line, []byte(`"verdict":"deny"`)) {
			return true
		}
		if err != nil && err != bufio.ErrBufferFull {
			return false
		}
	}
}

const notUsedYet = "no client has used it yet: whether it can show questions is not known; where it cannot, a refusal has a code for sallyport approve"

// doctorSets are the ids under which what a server listed to doctor itself is pinned.
func doctorSets() []string {
	var ids []string
	for _, text := range doctor.Capabilities() {
		if v, err := doc.Parse([]byte(text), doc.Limits{}); err == nil {
			ids = append(ids, pins.CapabilitiesOf(v).ID())
		}
	}
	return ids
}

// ofAsking says by what clients of this server have declared so far how a question
// reaches a person.
func (x *examination) ofAsking(name string, e *clientconfig.Entry) {
	own, err := ownFiles("", "", "")
	if err != nil || own.noState != nil || len(e.Command) == 0 {
		return
	}
	dir := filepath.Join(filepath.Dir(own.stateLog), "pins")
	if _, err := os.Stat(dir); err != nil {
		x.add(levelNote, "asks", name, notUsedYet, "")
		return
	}
	store, err := pins.Open(dir)
	var all []*pins.File
	if err == nil {
		all, err = store.All()
	}
	if err != nil {
		return // ofState says it
	}
	id, used, probe := pins.Command(e.Command).ID(), false, doctorSets()
	for _, f := range all {
		if f.ID != id {
			continue
		}
		for _, s := range f.Sets {
			used = used || !slices.Contains(probe, s.ID)
			if slices.ContainsFunc(s.Capabilities, func(c string) bool { return strings.HasPrefix(c, "elicitation") }) {
				x.add(levelOK, "asks", name, "a client that can show questions has used it", "")
				return
			}
		}
	}
	if !used {
		x.add(levelNote, "asks", name, notUsedYet, "")
		return
	}
	x.add(levelNote, "asks", name, "no client that has used it so far can show questions: a refusal has a code for sallyport approve", "")
}
