package policytest

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// Result is what became of one file.
type Result struct {
	File     string
	Outcomes []Outcome
}

// Failed is how many tests failed.
func (r *Result) Failed() int {
	n := 0
	for i := range r.Outcomes {
		if len(r.Outcomes[i].Failures) > 0 {
			n++
		}
	}
	return n
}

// WriteText writes results as go test does. verbose lists every test and step.
func WriteText(w io.Writer, results []Result, verbose bool) error {
	var b strings.Builder
	failed := 0
	for i := range results {
		r := &results[i]
		for j := range r.Outcomes {
			r.Outcomes[j].writeText(&b, verbose)
		}
		n := r.Failed()
		failed += n
		if n > 0 {
			fmt.Fprintf(&b, "FAIL\t%s\t%s, %d failed\n", show(r.File), plural(len(r.Outcomes), "test"), n)
		} else {
			fmt.Fprintf(&b, "ok  \t%s\t%s\n", show(r.File), plural(len(r.Outcomes), "test"))
		}
	}
	if failed > 0 {
		b.WriteString("FAIL\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (o *Outcome) writeText(b *strings.Builder, verbose bool) {
	if verbose {
		fmt.Fprintf(b, "=== RUN   %s\n", o.Name)
		for _, l := range o.Log {
			fmt.Fprintf(b, "    %s\n", l)
		}
	}
	switch {
	case len(o.Failures) > 0:
		fmt.Fprintf(b, "--- FAIL: %s (%s:%d)\n", o.Name, o.File, o.Line)
		b.WriteString(o.failures())
	case verbose:
		fmt.Fprintf(b, "--- PASS: %s (%s:%d)\n", o.Name, o.File, o.Line)
	}
}

func (o *Outcome) failures() string {
	var b strings.Builder
	for _, f := range o.Failures {
		fmt.Fprintf(&b, "    %s:%d: %s\n", o.File, f.Line, f.Text)
		for _, d := range f.Details {
			fmt.Fprintf(&b, "        %s\n", d)
		}
	}
	return b.String()
}

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name      string        `xml:"name,attr"`
	ClassName string        `xml:"classname,attr"`
	File      string        `xml:"file,attr"`
	Line      int           `xml:"line,attr"`
	Failure   *junitFailure `xml:"failure"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes results as JUnit's XML, which CI systems read.
func WriteJUnit(w io.Writer, results []Result) error {
	var all junitSuites
	for i := range results {
		r := &results[i]
		s := junitSuite{Name: show(r.File), Tests: len(r.Outcomes), Failures: r.Failed()}
		for j := range r.Outcomes {
			o := &r.Outcomes[j]
			c := junitCase{Name: o.Name, ClassName: show(r.File), File: o.File, Line: o.Line}
			if len(o.Failures) > 0 {
				c.Failure = &junitFailure{Message: o.Failures[0].Text, Text: o.failures()}
			}
			s.Cases = append(s.Cases, c)
		}
		all.Tests, all.Failures = all.Tests+s.Tests, all.Failures+s.Failures
		all.Suites = append(all.Suites, s)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
