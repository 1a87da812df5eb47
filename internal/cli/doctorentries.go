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

	"github.com/spf13/pflag"

	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/internal/clientconfig"
	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/internal/doctor"
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
	var f wrapFlags
	flags := pflag.NewFlagSet("wrap", pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	f.bind(flags)
	if err := flags.Parse(e.Flags); err != nil {
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
				return s, true
			}
			return os.LookupEnv(v)
		}
		cfg, _, err = loadFiles(opt, own.config, f.contracts)
	}
	if err == nil {
		pol, err = cfg.Policy(f.policy)
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
	if log != "" && !slices.Contains(x.logs, log) {
		x.logs = append(x.logs, log)
	}
	return log, true
}

// ofStart starts an entry as its client would, and looks for the refusal of the canary in
// the answer and in the log.
func (x *examination) ofStart(name string, e *clientconfig.Entry, log string) {
	if x.f.noStart {
		x.add(levelNote, "refuses", name, "not started (--no-start)", "")
		return
	}
	for _, v := range append(slices.Clone(e.Launch), e.Cwd) {
		if strings.Contains(v, "${") || strings.Contains(v, "{env:") {
			x.add(levelWarn, "refuses", name, "not started: the client would fill in variables that are not known here", "")
			return
		}
	}
	env := map[string]string{}
	for k, v := range e.Env {
		if !strings.Contains(v, "${") && !strings.Contains(v, "{env:") {
			env[k] = v // else the server has to do without, which a refusal does not mind
		}
	}
	before := sizeOf(log)
	ctx, stop := context.WithTimeout(context.Background(), x.f.timeout)
	defer stop()
	p, words, err := doctor.Try(ctx, doctor.Launch{Command: e.Launch, Env: env, Dir: e.Cwd})
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
