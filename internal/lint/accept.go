package lint

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/internal/quote"
)

// acceptance is one comment that accepts findings.
type acceptance struct {
	file      string
	line, col int // of the comment
	target    int // the line whose findings it accepts
	codes     []string
	reason    string
	spelling  bool // it is not spelled as it has to be, so it accepts nothing
}

const acceptWord = "sallyport:accept"

var (
	acceptComment = regexp.MustCompile(`(?:^|[ \t])#[ \t]*sallyport:accept(?:[ \t:]|$)`)
	// misspelled is one that a person takes for an accept comment, and that is none.
	misspelled = regexp.MustCompile(`(?i)(?:^|[ \t])#[ \t]*sallyport[ \t]*:[ \t]*accept(?:[ \t:]|$)`)
	acceptCode = regexp.MustCompile(`^SP[0-9]{3}$`)
)

// accept moves what the files accept in place from the findings to the accepted.
func (k *check) accept(found []Finding) Report {
	var r Report
	var wrong []Finding
	for _, src := range k.config.Sources {
		for _, a := range acceptances(src) {
			if why := a.unusable(); why != "" {
				wrong = append(wrong, a.finding("SP901", a.spelled(), why))
				continue
			}
			for _, code := range a.codes {
				before := len(r.Accepted)
				found = slices.DeleteFunc(found, func(f Finding) bool {
					if f.Code != code || f.File != a.file || f.Line != a.target {
						return false
					}
					r.Accepted = append(r.Accepted, Accepted{Finding: f, Reason: quote.Text(a.reason, maxReason)})
					return true
				})
				if len(r.Accepted) == before && !k.mayBeHidden(code) {
					wrong = append(wrong, a.finding("SP902", "remove it", "there is no finding "+code+" to accept in line "+itoa(a.target)))
				}
			}
		}
	}
	r.Findings = sorted(append(k.visible(found), wrong...))
	return r
}

// moreWithTools are codes that are also found without tool lists, but fewer.
var moreWithTools = map[string]bool{"SP111": true, "SP301": true, "SP303": true, "SP305": true}

// mayBeHidden reports codes whose findings depend on what this run was given: that they
// are not there proves nothing.
func (k *check) mayBeHidden(code string) bool {
	return len(k.opt.Tools) == 0 && (byID[code].Needs == "tools" || moreWithTools[code])
}

// unusable says why a comment accepts nothing, "" if it may.
func (a acceptance) unusable() string {
	switch {
	case a.spelling:
		return "this comment is not spelled as an accept comment, so it accepts nothing"
	case len(a.codes) == 0:
		return "this comment names no code, so it accepts nothing"
	case a.reason == "":
		return "this comment gives no reason, so it accepts nothing"
	}
	for _, c := range a.codes {
		if _, ok := byID[c]; !ok {
			return "there is no code " + c
		}
		if c == NotLoaded || strings.HasPrefix(c, "SP9") {
			return c + " cannot be accepted"
		}
	}
	return ""
}

// spelled is how such a comment is written.
func (a acceptance) spelled() string {
	codes := "SP101"
	if a.spelling && len(a.codes) > 0 {
		codes = strings.Join(a.codes, ",")
	}
	return quote.Text("write: # "+acceptWord+" "+codes+" because …", maxText)
}

func (a acceptance) finding(code, hint, text string) Finding {
	return Finding{Code: code, Severity: usual(code), File: a.file, Line: a.line, Col: a.col, Text: quote.Text(text, maxText), Hint: hint}
}

// acceptances finds the comments of a file. One beside a value is for its own line; one
// that has its line to itself is for the next line that holds more than a comment.
func acceptances(src config.Source) []acceptance {
	if !bytes.Contains(src.Data, []byte(acceptWord)) && !misspelled.Match(src.Data) {
		return nil
	}
	data := bytes.TrimPrefix(src.Data, []byte("\xef\xbb\xbf"))
	lines := strings.Split(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n")
	var l []acceptance
	for i, line := range lines {
		loc, spelling := acceptComment.FindStringIndex(line), false
		if loc == nil {
			if loc = misspelled.FindStringIndex(line); loc == nil {
				continue
			}
			spelling = true
		}
		at := loc[0] + strings.IndexByte(line[loc[0]:], '#')
		a := acceptance{file: src.File, line: i + 1, col: utf8.RuneCountInString(line[:at]) + 1, target: i + 1, spelling: spelling}
		if strings.TrimSpace(line[:at]) == "" {
			for a.target < len(lines) && isComment(lines[a.target]) {
				a.target++
			}
			a.target++
		}
		a.codes, a.reason = codesAndReason(line[loc[1]:])
		l = append(l, a)
	}
	return l
}

func isComment(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), "#") }

// codesAndReason splits " SP101, SP102 because of this".
func codesAndReason(s string) (codes []string, reason string) {
	rest := strings.TrimLeft(s, " \t:")
	for {
		word := rest
		if i := strings.IndexAny(rest, " \t,"); i >= 0 {
			word = rest[:i]
		}
		if !acceptCode.MatchString(strings.TrimSuffix(word, ":")) {
			break
		}
		codes = append(codes, strings.TrimSuffix(word, ":"))
		rest = strings.TrimLeft(rest[len(word):], " \t,")
	}
	reason = strings.Trim(rest, " \t:–—-")
	if strings.EqualFold(reason, "because") {
		reason = ""
	}
	return codes, reason
}
