package strictyaml

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport-dev/sallyport/internal/quote"
)

const (
	maxProblems  = 10_000 // kept; more are only counted
	maxShown     = 100    // listed by the error
	maxText      = 1_000  // characters of one problem's text
	maxQuoted    = 80     // characters of a value that Quote shows
	maxFileShown = 1_000  // characters of a file name
)

// Problem is one thing wrong in a file.
type Problem struct {
	File      string
	Line, Col int    // from 1; 0 when the whole file is meant
	Text      string // what, what was meant, what to do; may hold hostile text
}

// String is file:line:column: text, bounded and escaped for a terminal.
func (p Problem) String() string {
	return p.place() + ": " + quote.Text(p.Text, maxText)
}

func (p Problem) place() string {
	file := quote.Text(p.File, maxFileShown)
	if p.Line == 0 {
		return file
	}
	return file + ":" + strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Col)
}

// Problems collects what is wrong. The zero value is ready to use. It is not safe
// for concurrent use.
type Problems struct {
	list []Problem
	more int // counted, not kept
}

// Add notes a problem at n's place. A nil n means no place at all.
func (p *Problems) Add(n *Node, format string, args ...any) {
	if n == nil {
		p.add(Problem{Text: fmt.Sprintf(format, args...)})
		return
	}
	p.add(Problem{File: n.file, Line: n.line, Col: n.col, Text: fmt.Sprintf(format, args...)})
}

// AddFile notes a problem of a whole file.
func (p *Problems) AddFile(file, format string, args ...any) {
	p.add(Problem{File: file, Text: fmt.Sprintf(format, args...)})
}

func (p *Problems) add(q Problem) {
	if len(p.list) >= maxProblems {
		p.more++
		return
	}
	p.list = append(p.list, q)
}

// Empty reports whether nothing is wrong.
func (p *Problems) Empty() bool { return len(p.list) == 0 }

// List returns the problems in order of place. What one place says twice, as
// aliases make it, is listed once.
func (p *Problems) List() []Problem {
	l := slices.Clone(p.list)
	slices.SortStableFunc(l, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Col, b.Col), cmp.Compare(a.Text, b.Text))
	})
	return slices.Compact(l)
}

// Err returns nil when nothing is wrong, else a [*LoadError].
func (p *Problems) Err() error {
	if p.Empty() {
		return nil
	}
	return &LoadError{Problems: p.List(), More: p.more}
}

// LoadError is everything that is wrong with what was read.
type LoadError struct {
	Problems []Problem // in order of place
	More     int       // found but not kept
}

// Error lists one problem a line, at most 100, and then how many more there are. It
// is escaped for a terminal.
func (e *LoadError) Error() string {
	var b strings.Builder
	for i, p := range e.Problems {
		if i == maxShown {
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(p.String())
	}
	if more := len(e.Problems) - maxShown + e.More; len(e.Problems) > maxShown {
		fmt.Fprintf(&b, "\nand %d more problems", more)
	}
	return b.String()
}

// Quote shows a value from a file inside a problem's text: quoted, escaped and cut.
func Quote(s string) string { return quote.Value(s, maxQuoted) }
