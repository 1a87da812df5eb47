package contract

import (
	"regexp"
	"slices"
)

// execution is what a tool runs. Code says by itself where it sends something, so the
// parameters that hold it are destinations.
type execution struct {
	code  []*param
	whole bool // it runs something that no parameter of it names: all arguments are read
}

// Words of tools that run something.
var (
	// executing says so alone.
	executing = set("execute exec invoke shell bash zsh powershell cmd repl interpreter")
	// typing are words of tools that hand a line to something that runs it.
	typing = set("terminal console tty pty process stdin")
	lines  = set("input text line key stdin data command")
	// running says so with a word of runnable, or with code.
	running  = set("run rerun retry use inject delegate dispatch trigger start launch spawn call build evaluate eval interact interpret submit schedule")
	runnable = set("command cmd code script program process shell job workflow pipeline dag function lambda macro notebook cell " +
		"playbook container pod sandbox instance binary executable automation agent actor task query sql statement test migration " +
		"contract tool action deployment snippet")
	// objects are, for those of running that also mean other things (call_service,
	// start_container), the words with which they run something.
	objects = map[string]map[string]bool{
		"call":     set("function lambda contract tool action script command rpc api method endpoint"),
		"start":    set("process job workflow pipeline program shell script command automation agent actor execution"),
		"build":    set("job image pipeline workflow"),
		"schedule": set("command job script workflow pipeline"),
		"submit":   set("job"),
		"rerun":    set("job workflow pipeline task build command script"),
		"retry":    set("job workflow pipeline build"),
		"use":      set("tool function agent"),
		"delegate": set("task agent job"),
		"dispatch": set("workflow job task agent"),
		"inject":   set("script code js javascript css command"),
		"run":      set("command cmd code script program process shell job workflow pipeline dag function lambda macro notebook cell playbook container pod sandbox instance binary executable automation agent actor task test migration tool action aggregation application app terminal console project suite model"),
		"evaluate": {}, "eval": {}, "interact": {},
	}
	installing = set("install upgrade apply")
	applied    = set("plan stack infrastructure migration manifest playbook")

	// codeNames are names of parameters that hold what is run.
	codeNames = set("command cmd commandline script sql manifest cypher shell bash powershell applescript dockerfile userdata jxa javascript js python lua tsql typescript arg argv cmdline")
	// codeLike are such names where the tool runs something.
	codeLike = set("code snippet source query statement expression function program input pipeline yaml stage image chart " +
		"package argv arg argument cell module resource playbook expr executable entrypoint")
	// manifests are names of parameters that hold what is set up, when it comes as YAML.
	manifests = set("resource manifest spec definition yaml content config configuration compose stack")
	// wrapping words say in what form code comes: script_content. named ones are run by
	// their name, and queried are what a database is asked.
	wrapping = set("content line text data body")
	named    = set("package chart")
	queried  = set("query statement q")
	// notCode are words before code that make it a number or a token.
	notCode = set("country postal post zip currency language lang status error promo coupon discount auth authorization verification " +
		"access reset area dial qr color swift bank sort tax product item stock airport exit response iso state region invite join pin " +
		"otp factor mfa security bar voucher gift referral confirmation station location")
	// studying are verbs of tools that look at code and do not run it.
	studying = set("format review explain lint analyze analyse check validate translate convert generate parse describe get list read search " +
		"find show suggest summarize compare estimate inspect view count diff document preview test dry")
)

var (
	sqlCue  = regexp.MustCompile(`(?i)\bsql\b|\bcypher\b`)
	codeCue = regexp.MustCompile(`(?i)\b(python|javascript|typescript|js|code snippet|source code|shell|bash|powershell|script|code) (code |snippet |commands? |scripts? |source )?(to|that|for|which|as|in)\b|\bcommands? to (run|execute)|\b(code|scripts?|query|queries|expression|function|snippet|statements?|program) (string )?to (be )?(execute|run|evaluate)d?\b`)
	// executeCue is a description that says at its start that something is run.
	executeCue  = regexp.MustCompile(`(?i)^\W*(\w+\W+){0,4}?(runs?|executes?|evaluates?|invokes?|interprets?|launch(es)?|triggers?)\b[^.]{0,60}\b(commands?|code|scripts?|sql|programs?|javascript|python|expressions?|statements?|shell|snippets?|notebooks?|workflows?|functions?|jobs?|playbooks?|macros?|pipelines?|binar(y|ies)|executables?)\b`)
	languageCue = regexp.MustCompile(`(?i)\b(python|javascript|typescript|lua|ruby|bash|shell)\b`)
	yamlCue     = regexp.MustCompile(`(?i)\byaml\b`)
	runCue      = regexp.MustCompile(`(?i)^(this tool )?(runs?|executes?|evaluates?|invokes?|installs?|performs? any)\b`)
)

// execution finds what the tool runs.
func (d definition) execution() execution {
	at := slices.IndexFunc(d.words, func(w string) bool {
		return executing[w] || running[w] || installing[w] || w == "command"
	})
	// get_run, list_executions, cancel_job: what stands first decides, and an end such
	// as help over everything.
	led := slices.IndexFunc(d.words, func(w string) bool { return studying[w] || deleteVerbs[w] })
	closed := closing[d.last()] && d.does == verbRead
	studies := led >= 0 && (at < 0 || led < at) || closed
	says := !studies && at >= 0
	described := !studies && d.does != verbRead && executeCue.MatchString(d.about)
	runs := says || described || !studies && d.does != verbRead && runCue.MatchString(d.about)
	var run execution
	for _, p := range d.schema.params {
		if (p.hasText || p.untyped) && p.open && len(p.words) > 0 && len(p.parents) < 2 && !studies && d.isCode(p, runs) {
			run.code = append(run.code, p)
		}
	}
	run.whole = len(run.code) == 0 && (says && d.acting() || described)
	return run
}

// acting reports that the tool's name leaves no doubt that it runs something.
func (d definition) acting() bool {
	for i, w := range d.words {
		switch {
		case executing[w], w == "command" && i == len(d.words)-1:
			return true
		case objects[w] != nil:
			if d.has(objects[w]) || w == "run" && i == len(d.words)-1 && i > 0 {
				return true
			}
		case running[w]:
			if d.has(runnable) {
				return true
			}
		case w == "upgrade":
		case installing[w]:
			if w == "install" || d.has(applied) || i == len(d.words)-1 && i > 0 {
				return true
			}
		}
	}
	return false
}

// isCode reports a parameter that holds what is run. runs says that the tool's words
// say it runs something.
func (d definition) isCode(p *param, runs bool) bool {
	text := clip(p.description)
	last, head, before := p.words[len(p.words)-1], "", ""
	if len(p.words) > 1 {
		before = p.words[len(p.words)-2]
	}
	head = last
	if before != "" && last != "code" && (transparent[last] || wrapping[last]) {
		head = before
	}
	switch {
	case last == "id", last == "path", last == "name" && !named[head], last == "code" && notCode[before]:
		return false
	case last == "data" && before == "user", d.has(typing) && lines[last] && d.does != verbDelete:
		return true // user data is a script that a machine runs when it starts
	case codeNames[head], codeNames[last]:
		return true
	case last == "code" && !runs:
		return codeCue.MatchString(text) || d.says(languageCue)
	case codeLike[head] && runs:
		return true
	case queried[last] && (d.says(sqlCue) || sqlCue.MatchString(text)):
		return true
	case manifests[head] && d.does != verbRead && yamlCue.MatchString(text):
		return true
	}
	return runs && codeCue.MatchString(text)
}
