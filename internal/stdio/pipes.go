package stdio

import (
	"errors"
	"io"
	"os"
)

// pipes are the three pipes of a child.
type pipes struct {
	in                          *os.File // written by this process
	out, err                    *os.File // read by this process
	childIn, childOut, childErr *os.File
}

func newPipes() (*pipes, error) {
	p := new(pipes)
	var errs [3]error
	p.childIn, p.in, errs[0] = os.Pipe()
	p.out, p.childOut, errs[1] = os.Pipe()
	p.err, p.childErr, errs[2] = os.Pipe()
	if err := errors.Join(errs[:]...); err != nil {
		p.closeChildEnds()
		p.closeOwnEnds()
		return nil, err
	}
	return p, nil
}

// Close of a nil file is an error and nothing else.

func (p *pipes) closeChildEnds() {
	p.childIn.Close()
	p.childOut.Close()
	p.childErr.Close()
}

func (p *pipes) closeOwnEnds() {
	p.in.Close()
	p.out.Close()
	p.err.Close()
}

// output is the end of a child's stdout or stderr that this process reads. It ends with
// io.EOF whatever ended it, and then lets go of the pipe.
type output struct{ f *os.File }

func (o *output) Read(p []byte) (int, error) {
	n, err := o.f.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		n = readNow(o.f, p)
	}
	if n > 0 || err == nil {
		return n, nil
	}
	o.f.Close()
	return 0, io.EOF
}
