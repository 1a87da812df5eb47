package contract

import (
	"regexp"
	"slices"

	"github.com/sallyport-dev/sallyport/doc"
)

// WriteGuess guesses which parameters of a tool name a local file or folder that it
// writes or deletes, in the order of the schema. It is for notices and measurements
// only: a guess confines nothing. It takes any definition and is safe for concurrent use.
func WriteGuess(t Tool) []doc.Selector {
	d := readTool(t)
	var out []doc.Selector
	for _, p := range d.schema.params {
		if !p.hasText || !p.open || len(p.words) == 0 || !d.writesTo(p) {
			continue
		}
		if sel, err := doc.ParseSelector(p.path); err == nil {
			out = append(out, sel)
		}
	}
	return out
}

var (
	// paths end the names of parameters that hold a local path.
	paths = set("path filepath filename file dir directory folder destination location outfile outdir")
	// outward words stand in the names of those that are written, inward in those of others.
	outward = set("output out save saved dest destination target download export write")
	inward  = set("source src input from load upload import remote working project repo root base cwd template config media image attachment")
	// filing are verbs that change a file whose path they are given.
	filing = set("write edit create save append move copy rename delete remove make put modify patch replace truncate touch mkdir")
	filed  = set("file directory folder dir note document doc workbook spreadsheet presentation pdf symlink archive zip")
	// keeping are those of filing that mean nothing else.
	keeping = set("save write mkdir")
	// fetching are verbs of tools that bring something here.
	fetching = set("download get fetch pull")

	saveCue = regexp.MustCompile(`(?i)\b(sav(e|es|ed|ing)|writ(e|es|ten|ing)|stor(e|es|ed)|downloaded|exported)\b`)
	loadCue = regexp.MustCompile(`(?i)\b(upload(ed)?|attach(ed)?|imported?|to (read|load|open|send)|for (reading|loading)|saved (state|session|file) )\b`)
	fileCue = regexp.MustCompile(`(?i)\b(path|file|folder|directory|disk)\b`)
)

func (d definition) writesTo(p *param) bool {
	last := p.words[len(p.words)-1]
	text := clip(p.description)
	has := func(words map[string]bool) bool {
		return slices.ContainsFunc(p.words, func(w string) bool { return words[w] })
	}
	named := last == "name" && slices.Contains(p.words, "file")
	switch {
	case last == "to" && len(p.words) == 2 && outward[p.words[0]]:
		return true
	case !paths[last] && !named, has(inward) && !has(outward), d.forge && last != "destination", loadCue.MatchString(text):
		return false
	case last == "destination" && len(p.words) == 1:
		return d.movesTo(p, text)
	case saveCue.MatchString(text):
		return true
	case last == "location" || last == "folder":
		return false // more often a place on a map, or in a mailbox
	case has(outward):
		return true
	case d.does == verbSend || d.runs.whole || len(d.runs.code) > 0:
		return false
	case d.has(fetching) && d.words[0] != "get":
		return last != "path" || slices.Contains(p.words, "local")
	}
	return d.has(filing) && d.does != verbRead && (d.has(filed) || d.has(keeping) || slices.Contains(p.words, "file") || last == "filepath" || last == "filename")
}

// movesTo tells the end of a move on disk from the end of a journey.
func (d definition) movesTo(p *param, text string) bool {
	if fileCue.MatchString(text) {
		return true
	}
	return p.beside(origins)
}

// origins are words of names beside which destination is the end of a move.
var origins = set("source src url uri link repo repository")
