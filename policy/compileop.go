package policy

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport-dev/sallyport/confine"
	"github.com/sallyport-dev/sallyport/doc"
	"github.com/sallyport-dev/sallyport/flow"
	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

// elementError is a mistake in one element of a list.
type elementError struct {
	index int
	err   error
}

func (e *elementError) Error() string { return fmt.Sprintf("element %d: %v", e.index+1, e.err) }

// newOperation compiles an operator and its operand. An error in an element of a list is
// an *elementError.
func newOperation(op Operator, operand doc.Value, effect Effect) (Operation, error) {
	o := Operation{Operator: op}
	var err error
	switch op {
	case Eq, Ne:
		o.operands = []doc.Value{operand}
	case In, NotIn:
		o.operands, err = elements(operand)
	case Contains:
		o.operands = []doc.Value{operand}
		if operand.Kind() == doc.String && operand.String() == "" {
			err = errors.New("every text contains the empty text; write what it must contain")
		}
	case Matches, NotMatches:
		err = o.pattern(operand)
	case Gt, Gte, Lt, Lte:
		o.operands = []doc.Value{operand}
		if operand.Kind() != doc.Number {
			err = fmt.Errorf("compares numbers, not %s", an(operand.Kind()))
		}
	case MaxLength:
		err = o.maxLength(operand)
	case Present, Absent:
		err = o.presence(operand)
	case Within:
		err = o.directories(operand)
	case Host, Domain:
		err = o.hostList(operand, effect)
	case Origin:
		err = o.originList(operand)
	default:
		err = errors.New("not an operator")
	}
	if err != nil {
		return Operation{}, err
	}
	switch op {
	case Eq, Ne, In, NotIn, Contains:
		o.kinds = kindsOf(o.operands)
		o.indexTexts()
	}
	o.text = showOperand(o.Operator, operand, o.operands)
	return o, nil
}

// manyTexts is how many texts a list has before they are looked up instead of compared.
const manyTexts = 8

func (o *Operation) indexTexts() {
	if len(o.operands) <= manyTexts {
		return
	}
	o.texts = make(map[string]struct{}, len(o.operands))
	for _, v := range o.operands {
		if v.Kind() == doc.String {
			o.texts[v.String()] = struct{}{}
		}
	}
}

// elements reads a list that must not be empty.
func elements(v doc.Value) ([]doc.Value, error) {
	if v.Kind() != doc.List {
		return nil, fmt.Errorf("takes a list: [%s]", showValue(v))
	}
	if v.Len() == 0 {
		return nil, errors.New("an empty list would be the same for every value; write what is meant")
	}
	list := make([]doc.Value, 0, v.Len())
	for _, e := range v.Elements() {
		list = append(list, e)
	}
	return list, nil
}

// texts reads one text or a list of them.
func texts(v doc.Value) ([]doc.Value, error) {
	if v.Kind() == doc.String {
		return []doc.Value{v}, nil
	}
	if v.Kind() != doc.List {
		return nil, fmt.Errorf("takes text or a list of it, not %s", an(v.Kind()))
	}
	list, err := elements(v)
	if err != nil {
		return nil, err
	}
	for i, e := range list {
		if e.Kind() != doc.String {
			return nil, &elementError{i, fmt.Errorf("write text here, not %s", an(e.Kind()))}
		}
	}
	return list, nil
}

func (o *Operation) maxLength(v doc.Value) error {
	n, err := strconv.Atoi(v.Number())
	if v.Kind() != doc.Number || err != nil || n < 0 {
		return errors.New("takes a whole number of characters or elements, from 0 on")
	}
	o.operands, o.length = []doc.Value{v}, n
	return nil
}

// presence turns "present: false" into Absent and the other way round.
func (o *Operation) presence(v doc.Value) error {
	if v.Kind() != doc.Bool {
		return fmt.Errorf("takes true or false, not %s", an(v.Kind()))
	}
	if !v.Bool() {
		o.Operator = Present + Absent - o.Operator
	}
	o.operands = []doc.Value{v}
	return nil
}

// originNames are the origins that a rule can name.
var originNames = func() (names []string) {
	for o := flow.Trusted; o > flow.Malformed; o-- {
		names = append(names, o.String())
	}
	return names
}()

func (o *Operation) originList(v doc.Value) error {
	list, err := texts(v)
	if err != nil {
		return err
	}
	for i, e := range list {
		at := slices.Index(originNames, e.String())
		if at < 0 {
			return inList(v, i, fmt.Errorf("%s is no origin%s", quote.Value(e.String(), maxShown), strictyaml.Hint(e.String(), originNames)))
		}
		o.origins |= 1 << (flow.Trusted - flow.Origin(at))
	}
	o.operands = list
	return nil
}

// inList gives an error the place of its element, if v is a list.
func inList(v doc.Value, i int, err error) error {
	if v.Kind() == doc.List {
		return &elementError{i, err}
	}
	return err
}

// directories are the compiled operands of within for one style of paths.
type directories struct {
	inside *confine.Root
	// outside holds every path but those that are in one of the directories, may be, or
	// have one of them inside. A deny rule must not be escaped by a path of which only one
	// reading lies inside.
	outside *confine.Root
}

func (o *Operation) directories(v doc.Value) error {
	list, err := texts(v)
	if err != nil {
		return err
	}
	prefixes := make([]string, len(list))
	for i, e := range list {
		prefixes[i] = e.String()
		if err := someStyle(prefixes[i]); err != nil {
			return inList(v, i, err)
		}
	}
	known := false
	for s := range o.dirs {
		style := confine.Style(s)
		inside, err := confine.NewRoot(style, prefixes, "", nil)
		if err != nil {
			continue
		}
		outside, err := confine.NewRoot(style, everywhere(style), "", prefixes)
		if err != nil {
			continue
		}
		o.dirs[s], known = &directories{inside, outside}, true
	}
	if !known {
		return errors.New("these paths are spelled for different systems")
	}
	o.operands = list
	return nil
}

// someStyle reports why no system can read a path.
func someStyle(path string) error {
	var first error
	for s := range styles {
		_, err := confine.NewRoot(confine.Style(s), []string{path}, "", nil)
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	if strings.HasPrefix(path, "~") {
		return errors.New("~ is not expanded here; write the directory out, or ${HOME}")
	}
	return first
}

// everywhere is every absolute path.
func everywhere(s confine.Style) []string {
	if s != confine.Windows {
		return []string{"/"}
	}
	var drives []string
	for d := 'A'; d <= 'Z'; d++ {
		drives = append(drives, string(d)+`:\`)
	}
	return drives
}
