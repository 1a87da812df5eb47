package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/sallyport-dev/sallyport/internal/quote"
	"github.com/sallyport-dev/sallyport/internal/strictyaml"
)

// namedFile is a file of the command line of a process that reads it again whenever an
// agent asks. It stays what the person named: the directory is the one that it was at the
// start, and a symbolic link that takes the file's place later leads nowhere outside it.
type namedFile struct {
	name string // as the person wrote it
	dir  *os.Root
	base string
}

func openNamed(name string) (*namedFile, error) {
	abs, err := filepath.Abs(name)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: there is no such file, or it cannot be read", quote.Text(name, 1000))
	}
	dir, err := os.OpenRoot(filepath.Dir(abs))
	if err != nil {
		return nil, fmt.Errorf("%s: its directory cannot be read", quote.Text(name, 1000))
	}
	f := &namedFile{name, dir, filepath.Base(abs)}
	_, err = f.read()
	return f, err
}

// read reads the file as it is now, at most [strictyaml.MaxSize] bytes.
func (f *namedFile) read() ([]byte, error) {
	data, err := f.data()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", quote.Text(f.name, 1000), err)
	}
	return data, nil
}

func (f *namedFile) data() ([]byte, error) {
	// Looking first keeps a pipe from blocking the open.
	if info, err := f.dir.Stat(f.base); err != nil || !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file, or not there")
	}
	in, err := f.dir.Open(f.base)
	if err != nil {
		return nil, errors.New("it cannot be read")
	}
	defer in.Close()
	if info, err := in.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	data, err := io.ReadAll(io.LimitReader(in, strictyaml.MaxSize+1))
	if err != nil {
		return nil, errors.New("it cannot be read")
	}
	if len(data) > strictyaml.MaxSize {
		return nil, fmt.Errorf("more than %d bytes", strictyaml.MaxSize)
	}
	return data, nil
}

// source is the file's text; that of nil is none.
func (f *namedFile) source() source {
	if f == nil {
		return source{}
	}
	data, err := f.read()
	return source{f.name, data, err}
}
