package lint

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

const maxFile = 1000 // characters of a file's name

// Place is file:line:column, safe to print.
func (f Finding) Place() string {
	file := quote.Text(f.File, maxFile)
	if f.Line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d:%d", file, f.Line, f.Col)
}

// String is place: severity code: text; hint. It is safe to print.
func (f Finding) String() string {
	s := fmt.Sprintf("%s: %s %s: %s", f.Place(), f.Severity, f.Code, f.Text)
	if f.Hint != "" {
		s += "; " + f.Hint
	}
	return s
}

// WriteText writes one finding a line.
func (r Report) WriteText(w io.Writer) error {
	var b strings.Builder
	for _, f := range r.Findings {
		b.WriteString(f.String() + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// NotLoadedReport is the report on a file that does not load.
func NotLoadedReport(problems []strictyaml.Problem) Report {
	var r Report
	for _, p := range problems {
		r.Findings = append(r.Findings, Finding{
			Code: NotLoaded, Severity: Error, File: p.File, Line: p.Line, Col: p.Col, Text: quote.Text(p.Text, 1000),
		})
	}
	return r
}

type jsonFinding struct {
	Code     string `json:"code"`
	Name     string `json:"name"`
	Severity string `json:"severity"`
	File     string `json:"file"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Text     string `json:"text"`
	Hint     string `json:"hint,omitempty"`
	Reason   string `json:"accepted_because,omitempty"`
}

func (f Finding) json(reason string) jsonFinding {
	return jsonFinding{
		Code: f.Code, Name: byID[f.Code].Name, Severity: f.Severity.String(), File: quote.Text(f.File, maxFile),
		Line: f.Line, Column: f.Col, Text: f.Text, Hint: f.Hint, Reason: reason,
	}
}

// WriteJSON writes one object: findings, accepted, and how many there are of each
// severity. Lists are never null.
func (r Report) WriteJSON(w io.Writer) error {
	out := struct {
		Version  int            `json:"version"`
		Findings []jsonFinding  `json:"findings"`
		Accepted []jsonFinding  `json:"accepted"`
		Count    map[string]int `json:"count"`
	}{1, []jsonFinding{}, []jsonFinding{}, map[string]int{}}
	for _, s := range []Severity{Error, Warning, Note} {
		out.Count[s.String()] = r.Count(s)
	}
	for _, f := range r.Findings {
		out.Findings = append(out.Findings, f.json(""))
	}
	for _, a := range r.Accepted {
		out.Accepted = append(out.Accepted, a.json(a.Reason))
	}
	return writeIndented(w, out)
}

func writeIndented(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// The parts of SARIF 2.1.0 (OASIS) that are written.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID      string       `json:"id"`
		Name    string       `json:"name"`
		Short   sarifMessage `json:"shortDescription"`
		Default sarifLevel   `json:"defaultConfiguration"`
	}
	sarifLevel struct {
		Level string `json:"level"`
	}
	sarifMessage struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID       string             `json:"ruleId"`
		RuleIndex    int                `json:"ruleIndex"`
		Level        string             `json:"level"`
		Message      sarifMessage       `json:"message"`
		Locations    []sarifLocation    `json:"locations"`
		Suppressions []sarifSuppression `json:"suppressions,omitempty"`
	}
	sarifSuppression struct {
		Kind          string `json:"kind"`
		Justification string `json:"justification"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn"`
	}
)

// WriteSARIF writes a SARIF 2.1.0 log with one run. version is the program's.
func (r Report) WriteSARIF(w io.Writer, version string) error {
	run := sarifRun{
		Tool:       sarifTool{sarifDriver{Name: "sallyport", Version: version}},
		ColumnKind: "unicodeCodePoints", Results: []sarifResult{},
	}
	index := map[string]int{}
	for i, c := range Codes {
		index[c.ID] = i
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{c.ID, c.Name, sarifMessage{c.Text}, sarifLevel{c.Severity.String()}})
	}
	result := func(f Finding) sarifResult {
		text := f.Text
		if f.Hint != "" {
			text += "; " + f.Hint
		}
		at := sarifPhysical{Artifact: sarifArtifact{fileURI(f.File)}}
		if f.Line > 0 {
			at.Region = &sarifRegion{f.Line, f.Col}
		}
		return sarifResult{f.Code, index[f.Code], f.Severity.String(), sarifMessage{text}, []sarifLocation{{at}}, nil}
	}
	for _, f := range r.Findings {
		run.Results = append(run.Results, result(f))
	}
	for _, a := range r.Accepted {
		s := result(a.Finding)
		s.Suppressions = []sarifSuppression{{"inSource", a.Reason}}
		run.Results = append(run.Results, s)
	}
	return writeIndented(w, sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}})
}

// fileURI is a file's name as a URI reference: absolute names become file: URIs.
func fileURI(name string) string {
	abs := filepath.IsAbs(name)
	name = filepath.ToSlash(name)
	var b strings.Builder
	if abs {
		b.WriteString("file://")
		if !strings.HasPrefix(name, "/") {
			b.WriteByte('/') // a drive
		}
	}
	for i := range len(name) {
		c := name[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~/", c) >= 0 || abs && c == ':' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
